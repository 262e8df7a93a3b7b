-- Scripts of a Redis server, which runs Lua 5.1.
std = "lua51"
read_globals = { "redis", "struct", "bit", "cjson", "KEYS", "ARGV" }
max_line_length = 130

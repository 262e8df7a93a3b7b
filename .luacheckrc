-- Scripts of a Redis server, which runs Lua 5.1.
std = "lua51"
read_globals = { "redis", "struct", "bit", "KEYS", "ARGV" }
max_line_length = 130

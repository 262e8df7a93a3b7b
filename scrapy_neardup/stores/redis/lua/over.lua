-- Return entries of a home that are over: their lease has lapsed, or no page has met them for the retention.
-- Atomic: nothing is changed; withdraw.lua checks again before it removes one.
--
-- ARGV: the constants of the home (JSON), times in milliseconds; maximum number of each kind
-- Reply: the length 4; then for each entry length of its record 4, page id 8, record
local call, time, C, found = redis.call, redis.call('TIME'), cjson.decode(ARGV[1]), {}
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for name, before in pairs({ pending = now, seen = now - C.retention }) do
  local ids = (name == 'pending' or C.retention > 0)
    and call('ZRANGEBYSCORE', C.prefix .. name, '-inf', '(' .. before, 'LIMIT', 0, ARGV[2]) or {}
  for _, id in ipairs(ids) do
    local record = call('GET', C.prefix .. 'p:' .. id) or ''
    found[#found + 1] = struct.pack('>I4', #record) .. id .. record
  end
end
local reply = table.concat(found)
return struct.pack('>I4', #reply) .. reply

-- The longest buckets of one hash, a byte string each; what was split or is a counter is short.
--
-- KEYS: the hash   ARGV: how many
-- Reply: [length, field] of each, longest first

local found = {}
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.byte(name) <= 48 then
    found[#found + 1] = { redis.call('HSTRLEN', KEYS[1], name), name }
  end
end
table.sort(found, function(a, b) return a[1] > b[1] end)
local reply = {}
for i = 1, math.min(#found, tonumber(ARGV[1])) do
  reply[2 * i - 1], reply[2 * i] = found[i][1], found[i][2]
end
return reply

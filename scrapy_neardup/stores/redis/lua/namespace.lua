-- Scripts on a namespace: its record, its notice board, its weight.

-- ==== open ======================================================================================

-- Agree on the parameters of a namespace: the first to come writes them.
--
-- KEYS: the schema   ARGV: field, value, ...
-- Reply: what is recorded: field, value, ...

if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], unpack(ARGV))
end
return redis.call('HGETALL', KEYS[1])

-- ==== exchange ==================================================================================

-- A notice board: post a value, read what all members have posted.
--
-- KEYS: the topic   ARGV: member, value, seconds that a topic is kept, maximum members
-- Reply: all values

local key, member = KEYS[1], ARGV[1]
redis.call('HSET', key, member, ARGV[2])
redis.call('EXPIRE', key, ARGV[3])
local more = redis.call('HLEN', key) - tonumber(ARGV[4])
for _, other in ipairs(more > 0 and redis.call('HKEYS', key) or {}) do
  if more > 0 and other ~= member then more = more - redis.call('HDEL', key, other) end
end
return redis.call('HVALS', key)

-- ==== weigh =====================================================================================

-- Bytes of some fields of a table's hash by purpose, and the longest buckets among them.
--
-- In a cluster, the hashes of table 1 also hold bodies and counters of their entries, under the
-- names of cluster.lua.
--
-- KEYS: the hash
-- ARGV: cursor, fields to look at, buckets to name, bytes of a page's features, of its evidence
-- Reply: {next cursor, bytes of entries, of features and evidence, of the rest,
--        length and field of each of the longest buckets}

local byte, floor = string.byte, math.floor
local features, evidence = tonumber(ARGV[4]), tonumber(ARGV[5])
local entries, bodies, rest = 0, 0, 0
local buckets = {}
local reply = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
for i = 1, #reply[2], 2 do
  local name, value = reply[2][i], reply[2][i + 1]
  local kind, size = string.sub(name, 1, 1), #name + #value
  if byte(name) <= 48 then
    entries = entries + size
    buckets[#buckets + 1] = { #value, name }
  elseif kind == 'c' then
    entries = entries + size
  elseif kind == 'b' and byte(value) > 0 then
    local body = byte(value) % 2 * features + floor(byte(value) / 2) * evidence
    local url = #value - 1 - body
    bodies, rest = bodies + size - url, rest + url
  else
    rest = rest + size
  end
end
table.sort(buckets, function(a, b) return a[1] > b[1] end)
local found = { reply[1], entries, bodies, rest }
for i = 1, math.min(#buckets, tonumber(ARGV[3])) do
  found[#found + 1] = buckets[i][1]
  found[#found + 1] = buckets[i][2]
end
return found

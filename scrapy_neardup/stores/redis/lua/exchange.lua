-- A notice board: post a value, read what all members have posted.
-- Atomic: of the members beyond the maximum others go, never the one that posts.
--
-- KEYS: the topic   ARGV: member, value, seconds that a topic is kept, maximum number of members
-- Reply: all values
local key, member = KEYS[1], ARGV[1]
redis.call('HSET', key, member, ARGV[2])
redis.call('EXPIRE', key, ARGV[3])
local more = redis.call('HLEN', key) - tonumber(ARGV[4])
for _, other in ipairs(more > 0 and redis.call('HKEYS', key) or {}) do
  if more > 0 and other ~= member then more = more - redis.call('HDEL', key, other) end
end
return redis.call('HVALS', key)

-- Agree on the parameters of a namespace: the first to come writes them.
-- Atomic: all crawlers of the namespace read the same record.
--
-- KEYS: the schema   ARGV: field, value, ...
-- Reply: the recorded parameters: field, value, ...
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], unpack(ARGV))
end
return redis.call('HGETALL', KEYS[1])

-- See which attempts and entries a feature's bucket lists under it, list an attempt, or take one out.
-- Atomic: of two attempts that are listed under a feature the later one is told of the earlier one.
--
-- KEYS: the bucket   ARGV: last 4 bytes of the feature; 'look', 'add' or 'leave'; name of the
--   attempt, page id 8 and stamp 4; maximum number of entries of a bucket
-- Reply: 'o' if it is full; else the names of all others, 12 each.
local call, sub, mine, others = redis.call, string.sub, ARGV[3], ''
local list = call('HGET', KEYS[1], ARGV[1]) or ''
for at = 1, #list, 12 do
  if sub(list, at, at + 11) ~= mine then others = others .. sub(list, at, at + 11) end
end
local is_listed = #others < #list
if ARGV[2] == 'add' and not is_listed then
  if #list >= 12 * tonumber(ARGV[4]) then return 'o' end
  call('HSET', KEYS[1], ARGV[1], list .. mine)
elseif ARGV[2] == 'leave' and is_listed then
  if others == '' then call('HDEL', KEYS[1], ARGV[1]) else call('HSET', KEYS[1], ARGV[1], others) end
end
return others

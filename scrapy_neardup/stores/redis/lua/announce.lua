-- Return the attempts and entries that a bucket lists near a key, or under a feature; list an attempt, or remove it.
-- Atomic: if a bucket lists two attempts, the later one gets the name of the earlier one.
--
-- KEYS: the bucket   ARGV: 'look', 'add' or 'leave'; key 8, or end of the feature 3; limit (bits); name of the
--   attempt, page id 8 and stamp 4; maximum number of entries of a bucket
-- Reply: 'o' if it is full; else the names of all others within the limit, 12 each.
local call, byte, sub, verb, what, limit = redis.call, string.byte, string.sub, ARGV[1], ARGV[2], tonumber(ARGV[3])
local list, mine, width, others, listed = call('GET', KEYS[1]) or '', what .. ARGV[4], #what + 12, {}, nil
local NIBBLES = '\0\1\1\2\1\2\2\3\1\2\2\3\2\3\3\4'

local function is_near(at)
  local bits = 0
  for n = 1, #what do
    local x = bit.bxor(byte(what, n), byte(list, at + n - 1))
    bits = bits + byte(NIBBLES, x % 16 + 1) + byte(NIBBLES, math.floor(x / 16) + 1)
    if bits > limit then return false end
  end
  return true
end

for at = 1, #list, width do
  if sub(list, at, at + width - 1) == mine then
    listed = at
  elseif verb ~= 'leave' and is_near(at) then
    others[#others + 1] = sub(list, at + #what, at + width - 1)
  end
end
if verb == 'add' and not listed then
  if #list >= width * tonumber(ARGV[5]) then return 'o' end
  call('APPEND', KEYS[1], mine)
elseif verb == 'leave' and listed then
  list = sub(list, 1, listed - 1) .. sub(list, listed + width)
  if list == '' then call('DEL', KEYS[1]) else call('SET', KEYS[1], list) end
end
return table.concat(others)

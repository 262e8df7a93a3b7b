-- Return the attempts and entries that a bucket lists near a key, or under a feature; list an attempt, or remove it.
-- Atomic: if a bucket lists two attempts, the later one gets the name of the earlier one.
--
-- KEYS: the bucket   ARGV: 'look', 'add' or 'leave'; key 8 (any, to leave), or end of the feature 3; limit (bits);
--   name of the attempt, page id 8 and stamp 4; maximum number of entries of a bucket
-- Reply: 'o' if it is full; else the names of all others within the limit, 12 each.
local call, byte, sub, verb, what, limit = redis.call, string.byte, string.sub, ARGV[1], ARGV[2], tonumber(ARGV[3])
local list, name, width, others, listed = call('GET', KEYS[1]) or '', ARGV[4], #what + 12, {}, nil
local ONES = setmetatable({ [0] = 0 }, { __index = function(t, x) return rawset(t, x, x % 2 + t[(x - x % 2) / 2])[x] end })

local function apart(at) -- In how many bits an entry differs from what the attempt is listed by.
  local bits = 0
  for n = 1, #what do bits = bits + ONES[bit.bxor(byte(what, n), byte(list, at + n - 1))] end
  return bits
end

for at = 1, #list, width do
  local other = sub(list, at + #what, at + width - 1)
  if other == name then
    listed = at
  elseif verb ~= 'leave' and apart(at) <= limit then
    others[#others + 1] = other
  end
end
if verb == 'add' and not listed then
  if #list >= width * tonumber(ARGV[5]) then return 'o' end
  call('APPEND', KEYS[1], what .. name)
elseif verb == 'leave' and listed then
  list = sub(list, 1, listed - 1) .. sub(list, listed + width)
  call('DEL', KEYS[1]) -- A full server refuses SET unless the script has removed something before.
  if list ~= '' then call('SET', KEYS[1], list) end
end
return table.concat(others)

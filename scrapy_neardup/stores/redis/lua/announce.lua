-- See which attempts and entries near a key a table's bucket lists, and list an attempt there.
-- Atomic: of two attempts that are listed in a bucket the later one is told of the earlier one.
--
-- KEYS: the bucket   ARGV: key 8; limit (bits); name of the attempt, page id 8 and stamp 4, or ''
--   to look only; maximum number of entries of a bucket
-- Reply: 'o' if it is full; else the distance 1 and the name 12 of each other one within the limit.
local byte, call, mine, limit = string.byte, redis.call, ARGV[3], tonumber(ARGV[2])
local a, b, c, d, e, f, g, h = byte(ARGV[1], 1, 8)
local NIBBLES = '\0\1\1\2\1\2\2\3\1\2\2\3\2\3\3\4'
local function ones(x, y)
  if x == y then return 0 end
  local z = bit.bxor(x, y or 0)
  return byte(NIBBLES, z % 16 + 1) + byte(NIBBLES, math.floor(z / 16) + 1)
end

local found, listed = {}, call('HGETALL', KEYS[1])
for i = 2, #listed, 2 do
  local l, m, n, o, p, q, r, t = byte(listed[i], 1, 8)
  local bytes = (a == l and 0 or 1) + (b == m and 0 or 1) + (c == n and 0 or 1) + (d == o and 0 or 1)
    + (e == p and 0 or 1) + (f == q and 0 or 1) + (g == r and 0 or 1) + (h == t and 0 or 1)
  if bytes <= limit and listed[i - 1] ~= mine then
    local away = ones(a, l) + ones(b, m) + ones(c, n) + ones(d, o) + ones(e, p) + ones(f, q) + ones(g, r) + ones(h, t)
    if away <= limit then found[#found + 1] = string.char(away) .. listed[i - 1] end
  end
end
if mine ~= '' then
  if #listed >= 2 * tonumber(ARGV[4]) and call('HEXISTS', KEYS[1], mine) == 0 then return 'o' end
  call('HSET', KEYS[1], mine, ARGV[1])
end
return table.concat(found)

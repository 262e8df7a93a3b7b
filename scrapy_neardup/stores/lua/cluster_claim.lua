-- Claim a place in one of the tables 2 .. t, and see who is near.
--
-- KEYS: the hash of this table and prefix
-- ARGV: key in table order, attempt, limit (bits), number of the table
-- Reply: {'full'} or {'claimed', [key in table order, attempt] of every other entry near it}

local f, attempt, i = ARGV[1], ARGV[2], tonumber(ARGV[4])
local width = 6 + #attempt
local s, name, level = bucket(KEYS[1], f)
local near, place = probe(s, width, f, RANGES[i], tonumber(ARGV[3]))
local reply, mine = { 'claimed' }, false
for _, o in ipairs(near or {}) do
  local other, its = sub(f, 1, 2) .. sub(s, o + 1, o + 6), sub(s, o + 7, o + width)
  if other == f and its == attempt then
    mine = true -- the call is repeated
  else
    reply[#reply + 1] = other
    reply[#reply + 1] = its
  end
end
if not mine then
  if #s >= CAP * width then return { 'full' } end
  store(KEYS[1], name, level, f, width, DEPTH,
    sub(s, 1, place) .. sub(f, 3, 8) .. attempt .. sub(s, place + 1))
end
return reply

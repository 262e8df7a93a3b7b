-- Claim a place under a feature, and see which other attempts have it.
--
-- KEYS: the hash of this feature's first byte
-- ARGV: feature, name (key and attempt)
-- Reply: {'full'} or {'claimed', name of each other attempt}

local f, mine = ARGV[1], ARGV[2]
local width, suffix = 6 + #mine, sub(f, 3, 8)
local s, name, level = bucket(KEYS[1], f)
local place = find(s, width, f)
local reply, known = { 'claimed' }, false
local o = place
while sub(s, o + 1, o + 6) == suffix do
  local other = sub(s, o + 7, o + width)
  if other == mine then
    known = true -- the call is repeated
  else
    reply[#reply + 1] = other
  end
  o = o + width
end
if not known then
  if #s >= CAP * width then return { 'full' } end
  store(KEYS[1], name, level, f, width, PAGE_DEPTH, joined(s, place, f, mine))
end
return reply

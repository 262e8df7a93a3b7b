-- One step of clearing away what is over in one hash of table 1: entries whose lease has lapsed or
-- that were not seen for the retention time. The caller releases their claims.
--
-- ARGV: retention (ms), cursor, fields to look at, first byte of this hash
-- Reply: {next cursor, {key, attempt, page id, features of each ended entry in turn}}

local reply = call('HSCAN', KEY, ARGV[2], 'COUNT', ARGV[3])
local ended = {}
for i = 1, #reply[2], 2 do
  local name, s = reply[2][i], reply[2][i + 1]
  local second = byte(name) <= 48 and sub(name, 2, 2) or sub(name, 1, 1) == 'c' and sub(name, 3, 3)
  for o = 0, second and #s - WIDTH or -1, WIDTH do
    local state, time = state_at(s, o)
    if over(state, time, tonumber(ARGV[1])) then
      local f, attempt = ARGV[4] .. second .. sub(s, o + 1, o + 6), sub(s, o + 7, o + 10)
      ended[#ended + 1] = { f, attempt, sub(s, o + 11, o + 18) }
    end
  end
end
local words = {}
for _, each in ipairs(ended) do
  local f, attempt, id = unpack(each)
  local _, features = finish(f, attempt)
  for _, word in ipairs({ f, attempt, id, features }) do words[#words + 1] = word end
end
return { reply[1], words }

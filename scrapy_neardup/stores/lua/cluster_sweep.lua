-- One step of clearing away what is over in one hash of table 1: lapsed leases, and entries
-- that were not seen for the retention time. The caller releases the claims.
--
-- ARGV: retention (ms), cursor, fields to look at, first byte of this hash
-- Reply: {next cursor, [key, attempt, page id] of every ended entry}

local reply = call('HSCAN', KEY, ARGV[2], 'COUNT', ARGV[3])
local ended = {}
for i = 1, #reply[2], 2 do
  local name, s = reply[2][i], reply[2][i + 1]
  if byte(name) <= 48 then
    for o = 0, #s - WIDTH, WIDTH do
      local state, time = state_at(s, o)
      if over(state, time, tonumber(ARGV[1])) then
        ended[#ended + 1] = ARGV[4] .. sub(name, 2, 2) .. sub(s, o + 1, o + 6)
        ended[#ended + 1] = sub(s, o + 7, o + 10)
        ended[#ended + 1] = sub(s, o + 11, o + 18)
      end
    end
  end
end
for i = 1, #ended, 3 do finish(ended[i], ended[i + 1]) end
return { reply[1], ended }

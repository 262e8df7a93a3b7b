-- One step of withdrawing entries that were not seen for the retention time.
--
-- Every crawler of the namespace calls this once a pause. The position of the pass is kept on the
-- server, so that together they make one step a pause, whatever their number.
--
-- ARGV: prefix, retention (s), pause (ms), fields to look at, maximum number of entries to withdraw
-- Reply: ''

local retention, width = tonumber(ARGV[2]), 6 + RECORD

local function sweep(most)
  local state = PREFIX .. 'sweep'
  local at = call('HMGET', state, 'next', 'hash', 'cursor')
  if at[1] and tonumber(at[1]) > now_ms() then return '' end

  local which, cursor = tonumber(at[2] or 0), at[3] or '0'
  local reply = call('HSCAN', PREFIX .. 'page:' .. hex(char(which)), cursor, 'COUNT', ARGV[4])
  local old = {}
  for i = 1, #reply[2], 2 do
    local name, s = reply[2][i], reply[2][i + 1]
    for o = 0, #s - width, width do
      if number(record_at(s, o).seen, 1, 4) + retention < now() then
        old[#old + 1] = char(which) .. sub(name, 2, 2) .. sub(s, o + 1, o + 6)
      end
    end
  end
  for i = 1, math.min(#old, most) do withdraw(old[i]) end
  if #old <= most then
    cursor = reply[1]
    if cursor == '0' then which = (which + 1) % 256 end
  end
  call('HSET', state, 'next', now_ms() + tonumber(ARGV[3]), 'hash', which, 'cursor', cursor)
  return ''
end

return (replies_to(function(most) return sweep(tonumber(most)) end))

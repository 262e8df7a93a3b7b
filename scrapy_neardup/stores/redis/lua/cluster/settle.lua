-- Confirm an entry, renew its lease, or end it.
--
-- ARGV: key, attempt, 'confirm' | 'renew' | 'touch' | 'forget' | 'end' | 'overflow',
--       lease or retention (ms)
--       forget ends it unless it is confirmed; overflow ends it and counts an overflow
-- Reply: {1 if it was ended, pages dropped for it, its features}

local f, attempt, verb = ARGV[1], ARGV[2], ARGV[3]
local ends = verb == 'end' or verb == 'overflow'
if verb == 'overflow' then call('HINCRBY', KEY, 'O', 1) end
local s, o = locate(f, attempt)
if not s then
  if ends and not buried(f, attempt) then bury(f, attempt) end
  return { 0, 0, '' }
end
local state, time = state_at(s, o)
if ends or (verb == 'forget' and state ~= 'k') then
  return { 1, finish(f, attempt) }
elseif verb == 'confirm' and state == 'l' then
  set_state(f, attempt, 'k', NOW_MS)
  call('HINCRBY', KEY, 'L', -1)
elseif verb == 'renew' and state == 'l' then
  set_state(f, attempt, 'l', NOW_MS + tonumber(ARGV[4]))
elseif verb == 'touch' and state == 'k' and NOW_MS - time > tonumber(ARGV[4]) / 16 then
  set_state(f, attempt, 'k', NOW_MS)
end
return { 0, 0, '' }

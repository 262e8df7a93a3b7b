-- What has become of another page's attempt? If its entry isn't here (not yet, or not any
-- more), it never will be.
--
-- ARGV: key, attempt, retention (ms), 'wound' or ''
--       wound: end it if it is still pending; what is over is ended anyway
-- Reply: {'gone'} | {'pending' or 'kept', page id, evidence}

local f, attempt = ARGV[1], ARGV[2]
local s, o = locate(f, attempt)
if not s then
  if not buried(f, attempt) then bury(f, attempt) end
  return { 'gone' }
end
local state, time = state_at(s, o)
if over(state, time, tonumber(ARGV[3])) or (state == 'p' and ARGV[4] == 'wound') then
  finish(f, attempt)
  return { 'gone' }
end
return { state == 'p' and 'pending' or 'kept', sub(s, o + 11, o + 18), sub(s, o + 19, o + 24) }

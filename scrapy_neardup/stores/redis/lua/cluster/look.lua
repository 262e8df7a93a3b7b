-- What has become of another attempt? If its entry isn't here, not yet or no longer, it is buried
-- and never will be.
--
-- ARGV: key, attempt, retention (ms), 'wound' or '', 'body' or ''
--       wound: end it if it is still pending; an entry whose time is over is ended anyway
--       body: return its features and its evidence
-- Reply: {'gone', features} | {'pending' or 'kept', page id, tag, features, evidence}

local f, attempt = ARGV[1], ARGV[2]
local s, o = locate(f, attempt)
if not s then
  if not buried(f, attempt) then bury(f, attempt) end
  return { 'gone', '' }
end
local state, time = state_at(s, o)
if over(state, time, tonumber(ARGV[3])) or (state == 'p' and ARGV[4] == 'wound') then
  local _, features = finish(f, attempt)
  return { 'gone', features }
end
local features, evidence = '', ''
if ARGV[5] == 'body' then features, evidence = body_of(f, attempt) end
local word = state == 'p' and 'pending' or 'kept'
return { word, sub(s, o + 11, o + 18), sub(s, o + 19, o + STATE - 1), features, evidence }

-- Count a page that is dropped as a duplicate of this entry, if the entry is still kept.
--
-- ARGV: key, attempt, retention (ms)
-- Reply: {pages dropped for the entry, its URL or ''}, nil if it is no longer kept

local f, attempt, retention = ARGV[1], ARGV[2], tonumber(ARGV[3])
local s, o = locate(f, attempt)
if not s then return false end
local state, time = state_at(s, o)
if state == 'p' or over(state, time, retention) then return false end
if state == 'k' and NOW_MS - time > retention / 16 and retention > 0 then
  set_state(f, attempt, 'k', NOW_MS)
end
local count = call('HINCRBY', KEY, 'n' .. f .. attempt, 1)
call('HINCRBY', KEY, 'D', 1)
local _, _, url = body_of(f, attempt)
return { count, url }

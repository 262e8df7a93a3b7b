-- The attempt saw nobody in its way: its entry is kept, unless it was wounded.
--
-- ARGV: key, attempt, lease (ms), URL or ''
-- Reply: 1 kept, 0 its entry is gone

local f, attempt = ARGV[1], ARGV[2]
local s, o = locate(f, attempt)
if not s then return 0 end
if state_at(s, o) ~= 'p' then return 1 end -- the call is repeated
set_state(f, attempt, 'l', NOW_MS + tonumber(ARGV[3]))
if ARGV[4] ~= '' then call('HSET', KEY, 'u' .. f .. attempt, ARGV[4]) end
call('HINCRBY', KEY, 'P', 1)
call('HINCRBY', KEY, 'L', 1)
return 1

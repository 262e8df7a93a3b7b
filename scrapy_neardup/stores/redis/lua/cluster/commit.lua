-- No rival is in the way of the attempt: its entry is kept, unless it was wounded.
--
-- ARGV: key, attempt, lease (ms), 'beside' or ''
--       beside: from now on no page finds the entry by its key
-- Reply: 1 kept, 0 its entry is gone

local f, attempt = ARGV[1], ARGV[2]
local s, o, name, level = locate(f, attempt)
if not s then return 0 end
if state_at(s, o) ~= 'p' then return 1 end -- the call is repeated
if ARGV[4] == 'beside' and level then
  take_out(f, s, o, name, level)
  call('HSET', KEY, 'c' .. f .. attempt, sub(s, o + 1, o + WIDTH))
end
set_state(f, attempt, 'l', NOW_MS + tonumber(ARGV[3]))
call('HINCRBY', KEY, 'P', 1)
call('HINCRBY', KEY, 'L', 1)
return 1

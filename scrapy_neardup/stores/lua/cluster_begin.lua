-- Claim a place in table 1: the entry is pending from here on.
--
-- ARGV: key, attempt, limit (bits), page id, evidence, lease (ms)
-- Reply: {'full'} | {'gone'} | {'claimed', [key, attempt] of every other entry near it}

local f, attempt = ARGV[1], ARGV[2]
if buried(f, attempt) then return { 'gone' } end
local entry = ARGV[4] .. ARGV[5] .. 'p' .. u(NOW_MS + tonumber(ARGV[6]), 6)
local reply = claim(KEY, 1, WIDTH, f, attempt, tonumber(ARGV[3]), entry)
if reply[1] == 'full' then call('HINCRBY', KEY, 'O', 1) end
return reply

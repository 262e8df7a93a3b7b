-- Claim a place in one of the tables 2 to t, and see who is near.
--
-- KEYS: the hash of this table and prefix
-- ARGV: key in table order, attempt, limit (bits)
-- Reply: {'full'} or {'claimed', key in table order and attempt of each other entry near it}

local f, attempt = ARGV[1], ARGV[2]
return claim(KEYS[1], 6 + #attempt, f, attempt, tonumber(ARGV[3]), '', 0)

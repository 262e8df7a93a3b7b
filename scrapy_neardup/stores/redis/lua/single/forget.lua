-- Withdraw a pending entry, as its processing failed.
--
-- ARGV: prefix, page id
-- Reply: how many pages had been dropped as duplicates of it; 0 if none is pending

local id = ARGV[2]
if not call('ZSCORE', PREFIX .. 'pending', id) then return 0 end
return withdraw(id)

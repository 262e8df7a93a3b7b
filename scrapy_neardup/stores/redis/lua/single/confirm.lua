-- The processing of a page is done: its entry is final.
--
-- ARGV: prefix, page id, how many lapsed pending entries to clear away

if call('ZREM', PREFIX .. 'pending', ARGV[2]) == 1 then
  call('HINCRBY', PREFIX .. 'counters', 'confirmed', 1)
end
-- The pages of crawlers that died: one or two a call keep the set small.
local lapsed = call('ZRANGEBYSCORE', PREFIX .. 'pending', '-inf', '(' .. now_ms(), 'LIMIT', 0, ARGV[3])
for _, id in ipairs(lapsed) do withdraw(id) end

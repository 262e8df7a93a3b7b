-- The processing of pages is done: their entries are final.
--
-- ARGV: prefix, how many lapsed pending entries to clear away, then page ids

for i = 3, #ARGV, 1000 do
  local confirmed = call('ZREM', PREFIX .. 'pending', unpack(ARGV, i, math.min(i + 999, #ARGV)))
  if confirmed > 0 then call('HINCRBY', PREFIX .. 'counters', 'confirmed', confirmed) end
end
-- The pages of crawlers that died: one or two a call keep the set small.
local lapsed = call('ZRANGEBYSCORE', PREFIX .. 'pending', '-inf', '(' .. now_ms(), 'LIMIT', 0, ARGV[2])
for _, id in ipairs(lapsed) do withdraw(id) end
return #lapsed

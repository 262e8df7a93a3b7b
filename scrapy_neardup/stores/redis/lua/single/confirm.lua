-- Make the entries of pages final, as their processing is done.
--
-- ARGV: prefix, how many lapsed pending entries to clear away for each page, then page ids
-- Reply: for each page 1, or 0 if its entry wasn't pending

local replies = replies_to(2, function(id)
  local was_pending = call('ZREM', PENDING, id)
  if was_pending == 1 then call('HINCRBY', PREFIX .. 'counters', 'confirmed', 1) end
  return was_pending
end)
-- Entries of crawlers that died: to clear away one or two a page keeps the set small.
local lapsed = call('ZRANGEBYSCORE', PENDING, '-inf', '(' .. now_ms(), 'LIMIT', 0, ARGV[2] * #replies)
for _, id in ipairs(lapsed) do withdraw(id) end
return replies

-- The processing of pages is done: their entries are final.
--
-- ARGV: prefix, how many lapsed pending entries to clear away for each page, then page ids
-- Reply: a number for each page

local replies = replies_to(2, function(id)
  local was_pending = call('ZREM', PENDING, id)
  if was_pending == 1 then call('HINCRBY', PREFIX .. 'counters', 'confirmed', 1) end
  return was_pending
end)
-- The pages of crawlers that died: one or two a page keep the set small.
local lapsed = call('ZRANGEBYSCORE', PENDING, '-inf', '(' .. now_ms(), 'LIMIT', 0, ARGV[2] * #replies)
for _, id in ipairs(lapsed) do withdraw(id) end
return replies

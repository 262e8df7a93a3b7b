-- Make the entries of pages final, as their processing is done.
--
-- ARGV: prefix, how many lapsed pending entries to clear away for each page, page ids
-- Reply: '' for each page

local replies, pages = replies_to(function(id)
  if call('ZREM', PENDING, id) == 1 then call('HINCRBY', PREFIX .. 'counters', 'confirmed', 1) end
  return ''
end)
-- Entries of crawlers that died: to clear away one or two a page keeps the set small.
local lapsed = call('ZRANGEBYSCORE', PENDING, '-inf', '(' .. now_ms(), 'LIMIT', 0, ARGV[2] * pages)
for _, id in ipairs(lapsed) do withdraw(id) end
return replies

-- Add an attempt, unless others have ended it, in place of the page's old entry.
-- Atomic: an attempt is either undecided, or added, or gone.
--
-- KEYS: all keys that are used   ARGV: prefix of the page's home; retention (ms); page id; stamp;
--   lease (ms)
-- Reply: 'g' it is gone; 'k' and the record of the page's old entry: it is added.
local call, P, RETENTION, id, stamp = redis.call, ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local page, attempt = P .. 'page:' .. id, P .. 'try:' .. id .. stamp
if call('STRLEN', attempt) == 0 then
  return call('GETRANGE', page, 0, 3) == stamp and 'k' or 'g' -- this call is repeated, or it has ended
end
local old, time = call('GET', page), call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(time[2] / 1000)
call('RENAME', attempt, page)
call('PERSIST', page)
if old then
  local count = tonumber(call('HGET', P .. 'count', id) or 0)
  if count > 0 then call('HINCRBY', P .. 'counters', 'dropped', -count) end
  call('HDEL', P .. 'count', id)
else
  call('HINCRBY', P .. 'counters', 'pages', 1)
end
call('ZADD', P .. 'pending', now + ARGV[5], id)
if RETENTION > 0 then call('ZADD', P .. 'seen', now, id) end
return 'k' .. (old or '')

-- See what has become of an attempt, or of a page's entry.
-- Atomic: what is gone never comes back, as an attempt is written before it is listed anywhere.
--
-- KEYS: all keys that are used   ARGV: prefix of the page's home; retention (ms); page id; stamp,
--   or '' for whichever entry the page has
-- Reply: 'g' it is gone; 'u' and its record: it is undecided; 'k' and its record: it is added.
local call, P, RETENTION, id, stamp = redis.call, ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local record = call('GET', P .. 'page:' .. id)
if record and (stamp == '' or string.sub(record, 1, 4) == stamp) then
  local time = call('TIME')
  local now = tonumber(time[1]) * 1000 + math.floor(time[2] / 1000)
  if tonumber(call('ZSCORE', P .. 'pending', id) or now) < now then
    call('ZADD', P .. 'pending', 0, id) -- it has ended: nobody revives it
    return 'g'
  end
  local seen = RETENTION > 0 and tonumber(call('ZSCORE', P .. 'seen', id) or now)
  return seen and seen + RETENTION < now and 'g' or 'k' .. record
end
local attempt = stamp ~= '' and call('GET', P .. 'try:' .. id .. stamp)
return attempt and attempt ~= '' and 'u' .. attempt or 'g' -- '': others have ended it

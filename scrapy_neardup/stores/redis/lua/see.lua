-- Return the states of attempts, or of pages' entries; count a page for an entry, and restart the entry's time.
-- Atomic: a gone attempt never comes back, because it is written before it is listed anywhere; and a page is
--   counted only for an entry that still has the content with which it was compared.
--
-- ARGV: the constants of their home (JSON), times in milliseconds; then for each page id 8; stamp 4,
--   or '' for any entry of the page; '' to look, otherwise the number of pages to count, 1 or 0 (its own)
-- Reply: for each the length 4 and 'g' if gone; 'u' if undecided, and its record; or 'k' if added, and its record, or
--   the count 4
local call, time, C, replies = redis.call, redis.call('TIME'), cjson.decode(ARGV[1]), {}
if call('HGET', C.prefix .. 'schema', 'digest') ~= C.digest then return redis.error_reply('NEARDUPLOST') end
local P, now = C.prefix, time[1] * 1000 + math.floor(time[2] / 1000)

local function see(id, stamp, by)
  local record = call('GET', P .. 'p:' .. id)
  if not record or stamp ~= '' and string.sub(record, 1, 4) ~= stamp then
    local attempt = stamp ~= '' and call('GET', P .. 'try:' .. id .. stamp)
    return attempt and attempt ~= '' and 'u' .. attempt or 'g' -- '': others have ended it
  elseif tonumber(call('ZSCORE', P .. 'pending', id) or now) < now then
    call('ZADD', P .. 'pending', 0, id) -- it has ended: nobody revives it
    return 'g'
  end
  local seen = C.retention > 0 and call('ZSCORE', P .. 'seen', id)
  if seen and seen + C.retention < now then return 'g' end
  if by == '' then return 'k' .. record end
  if C.retention > 0 and now - (seen or 0) > C.retention / 16 then call('ZADD', P .. 'seen', now, id) end
  if by == '0' then return 'k\0\0\0\0' end
  call('HINCRBY', P .. 'counters', 'dropped', by)
  return 'k' .. struct.pack('>I4', call('HINCRBY', P .. 'count', id, by))
end

for n = 2, #ARGV, 3 do
  local reply = see(ARGV[n], ARGV[n + 1], ARGV[n + 2])
  replies[#replies + 1] = struct.pack('>I4', #reply) .. reply
end
return table.concat(replies)

-- See what has become of attempts, or of pages' entries.
-- Atomic: what is gone never comes back, as an attempt is written before it is listed anywhere.
--
-- ARGV: the constants of their home (JSON), times in milliseconds; then for each page id 8; stamp 4,
--   or '' for whichever entry the page has
-- Reply: for each the length 4 and 'g', gone; or 'u', undecided, or 'k', added, and its record
local call, time, C, replies = redis.call, redis.call('TIME'), cjson.decode(ARGV[1]), {}
if call('HGET', C.prefix .. 'schema', 'digest') ~= C.digest then return redis.error_reply('NEARDUPLOST') end
local P, now = C.prefix, time[1] * 1000 + math.floor(time[2] / 1000)

local function see(id, stamp)
  local record = call('GET', P .. 'page:' .. id)
  if not record or stamp ~= '' and string.sub(record, 1, 4) ~= stamp then
    local attempt = stamp ~= '' and call('GET', P .. 'try:' .. id .. stamp)
    return attempt and attempt ~= '' and 'u' .. attempt or 'g' -- '': others have ended it
  elseif tonumber(call('ZSCORE', P .. 'pending', id) or now) < now then
    call('ZADD', P .. 'pending', 0, id) -- it has ended: nobody revives it
    return 'g'
  end
  local seen = C.retention > 0 and call('ZSCORE', P .. 'seen', id) or now
  return seen + C.retention < now and 'g' or 'k' .. record
end

for n = 2, #ARGV, 2 do
  local reply = see(ARGV[n], ARGV[n + 1])
  replies[#replies + 1] = struct.pack('>I4', #reply) .. reply
end
return table.concat(replies)

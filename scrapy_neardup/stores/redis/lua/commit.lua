-- Add attempts, unless others have ended them, in place of their pages' old entries.
-- Atomic: an attempt is either undecided, or added, or gone.
--
-- ARGV: the constants of their home (JSON), times in milliseconds; then for each page id 8; stamp 4
-- Reply: for each page the length 4 and 'g' if it is gone; or 'k' if it is added, and its old record
local call, time, C, replies = redis.call, redis.call('TIME'), cjson.decode(ARGV[1]), {}
if call('HGET', C.prefix .. 'schema', 'digest') ~= C.digest then return redis.error_reply('NEARDUPLOST') end
local P, now = C.prefix, time[1] * 1000 + math.floor(time[2] / 1000)

local function commit(id, stamp)
  local page, attempt = P .. 'p:' .. id, P .. 'try:' .. id .. stamp
  if call('STRLEN', attempt) == 0 then
    return call('GETRANGE', page, 0, 3) == stamp and 'k' or 'g' -- this call is repeated, or it has ended
  end
  local old, count = call('GET', page), call('HGET', P .. 'count', id)
  call('RENAME', attempt, page)
  call('PERSIST', page)
  if old and count then call('HINCRBY', P .. 'counters', 'dropped', -count) end
  if old then call('HDEL', P .. 'count', id) else call('HINCRBY', P .. 'counters', 'pages', 1) end
  call('ZADD', P .. 'pending', now + C.lease, id)
  if C.retention > 0 then call('ZADD', P .. 'seen', now, id) end
  return 'k' .. (old or '')
end

for n = 2, #ARGV, 2 do
  local reply = commit(ARGV[n], ARGV[n + 1])
  replies[#replies + 1] = struct.pack('>I4', #reply) .. reply
end
return table.concat(replies)

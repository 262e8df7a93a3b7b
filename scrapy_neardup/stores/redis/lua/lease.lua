-- Renew the leases of pending entries while their crawler lives, or make them final when their pages are processed.
-- Atomic: an entry that was confirmed or has ended isn't pending again; another content's lease stays.
--
-- ARGV: the constants of their home (JSON), times in milliseconds; then for each entry its page id 8; stamp 4;
--   'renew' or 'confirm'.
-- Reply: for each entry the length 4 and ''
local call, time, C = redis.call, redis.call('TIME'), cjson.decode(ARGV[1])
local P, lasts = C.prefix, time[1] * 1000 + math.floor(time[2] / 1000) + C.lease
if call('HGET', P .. 'schema', 'digest') ~= C.digest then return redis.error_reply('NEARDUPLOST') end
for n = 2, #ARGV, 3 do
  local id, lease = ARGV[n], call('ZSCORE', P .. 'pending', ARGV[n])
  if lease and lease ~= '0' and call('GETRANGE', P .. 'p:' .. id, 0, 3) == ARGV[n + 1] then
    call('ZREM', P .. 'pending', id) -- A full server refuses ZADD unless the script has removed something before.
    if ARGV[n + 2] == 'renew' then call('ZADD', P .. 'pending', lasts, id) end
  end
end
return string.rep('\0\0\0\0', (#ARGV - 1) / 3)

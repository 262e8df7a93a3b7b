-- Renew the leases of pending entries, as their crawler lives.
-- Atomic: what was confirmed or has ended isn't pending again; another content's lease stays.
--
-- ARGV: the constants of their home (JSON), times in milliseconds; then for each entry its page id 8; stamp 4.
-- Reply: for each entry the length 4 and ''
local call, time, C = redis.call, redis.call('TIME'), cjson.decode(ARGV[1])
if call('HGET', C.prefix .. 'schema', 'digest') ~= C.digest then return redis.error_reply('NEARDUPLOST') end
for n = 2, #ARGV, 2 do
  local id, lease = ARGV[n], call('ZSCORE', C.prefix .. 'pending', ARGV[n])
  if lease and lease ~= '0' and call('GETRANGE', C.prefix .. 'page:' .. id, 0, 3) == ARGV[n + 1] then
    call('ZADD', C.prefix .. 'pending', time[1] * 1000 + math.floor(time[2] / 1000) + C.lease, id)
  end
end
return string.rep('\0\0\0\0', (#ARGV - 1) / 2)

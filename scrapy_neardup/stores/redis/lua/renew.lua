-- Renew the leases of pending entries, as their crawler lives.
-- Atomic: what was confirmed or has ended isn't pending again; another content's lease stays.
--
-- ARGV: prefix; digest of the namespace's record, or '' where that lies elsewhere; lease (ms).
--   Then for each entry: page id; stamp.
-- Reply: for each the length 4 and ''.
local call, P = redis.call, ARGV[1]
if ARGV[2] ~= '' and call('HGET', P .. 'schema', 'digest') ~= ARGV[2] then
  return redis.error_reply('NEARDUPLOST no such record')
end
local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(time[2] / 1000)
for n = 4, #ARGV, 2 do
  local id, lease = ARGV[n], call('ZSCORE', P .. 'pending', ARGV[n])
  if lease and lease ~= '0' and call('GETRANGE', P .. 'page:' .. id, 0, 3) == ARGV[n + 1] then
    call('ZADD', P .. 'pending', now + ARGV[3], id)
  end
end
return string.rep(struct.pack('>I4', 0), (#ARGV - 3) / 2)

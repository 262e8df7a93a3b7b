-- Make entries final, as the processing of their pages is done.
-- Atomic: what has ended, or has another content by now, stays as it is.
--
-- ARGV: prefix; digest of the namespace's record, or '' where that lies elsewhere.
--   Then for each entry: page id; stamp, or '' for any content.
-- Reply: for each entry the length 4 and ''.
local call, P = redis.call, ARGV[1]
if ARGV[2] ~= '' and call('HGET', P .. 'schema', 'digest') ~= ARGV[2] then
  return redis.error_reply('NEARDUPLOST no such record')
end
for n = 3, #ARGV, 2 do
  local lease, stamp = call('ZSCORE', P .. 'pending', ARGV[n]), ARGV[n + 1]
  if lease and lease ~= '0' and (stamp == '' or call('GETRANGE', P .. 'page:' .. ARGV[n], 0, 3) == stamp) then
    call('ZREM', P .. 'pending', ARGV[n])
  end
end
return string.rep(struct.pack('>I4', 0), (#ARGV - 2) / 2)

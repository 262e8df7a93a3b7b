-- Make entries final, as the processing of their pages is done.
-- Atomic: what has ended, or has another content by now, stays as it is.
--
-- ARGV: the constants of their home (JSON); then for each entry its page id 8; stamp 4, or '': any.
-- Reply: for each entry the length 4 and ''
local call, C = redis.call, cjson.decode(ARGV[1])
if call('HGET', C.prefix .. 'schema', 'digest') ~= C.digest then return redis.error_reply('NEARDUPLOST') end
for n = 2, #ARGV, 2 do
  local id, stamp, lease = ARGV[n], ARGV[n + 1], call('ZSCORE', C.prefix .. 'pending', ARGV[n])
  if lease and lease ~= '0' and (stamp == '' or call('GETRANGE', C.prefix .. 'page:' .. id, 0, 3) == stamp) then
    call('ZREM', C.prefix .. 'pending', id)
  end
end
return string.rep('\0\0\0\0', (#ARGV - 1) / 2)

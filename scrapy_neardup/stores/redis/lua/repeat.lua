-- Count a page for each entry that it repeats, and start the entry's time anew.
-- Atomic: a page is counted only for an entry whose content is the one that it was compared with.
--
-- ARGV: the constants of their home (JSON), times in milliseconds; then for each page the id 8 and the stamp 4
--   of the entry; 1 to count, 0 not to (its own).
-- Reply: for each page the length 4 and 'd' and the count 4; or 'g', if that content is gone
local call, pack, C, replies = redis.call, struct.pack, cjson.decode(ARGV[1]), {}
if call('HGET', C.prefix .. 'schema', 'digest') ~= C.digest then return redis.error_reply('NEARDUPLOST') end
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for n = 2, #ARGV, 3 do
  local id, by, reply, count = ARGV[n], tonumber(ARGV[n + 2]), 'g', 0
  local seen = C.retention > 0 and call('ZSCORE', C.prefix .. 'seen', id)
  local is_it = call('GETRANGE', C.prefix .. 'page:' .. id, 0, 3) == ARGV[n + 1]
  if is_it and call('ZSCORE', C.prefix .. 'pending', id) ~= '0' and not (seen and seen + C.retention < now) then
    if C.retention > 0 and now - (seen or 0) > C.retention / 16 then call('ZADD', C.prefix .. 'seen', now, id) end
    if by > 0 then
      call('HINCRBY', C.prefix .. 'counters', 'dropped', by)
      count = call('HINCRBY', C.prefix .. 'count', id, by)
    end
    reply = 'd' .. pack('>I4', count)
  end
  replies[#replies + 1] = pack('>I4', #reply) .. reply
end
return table.concat(replies)

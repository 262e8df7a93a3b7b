-- Count a page for each entry that it repeats, start the entry's time anew, or take a count back.
-- Atomic: a page is counted only for an entry whose content is the one that it was compared with.
--
-- ARGV: prefix; digest of the namespace's record, or '' where that lies elsewhere; retention (ms).
--   Then for each page: id of the entry; its stamp; 1 to count, 0 not to (its own), -1 to take
--   back what check_and_add.lua counted.
-- Reply: for each page the length 4 and 'd' and the count 4; or 'g', if that content is gone.
local call, pack, P, RETENTION = redis.call, struct.pack, ARGV[1], tonumber(ARGV[3])
if ARGV[2] ~= '' and call('HGET', P .. 'schema', 'digest') ~= ARGV[2] then
  return redis.error_reply('NEARDUPLOST no such record')
end
local time, replies = call('TIME'), {}
local now = tonumber(time[1]) * 1000 + math.floor(time[2] / 1000)
for n = 4, #ARGV, 3 do
  local id, by, reply, count = ARGV[n], tonumber(ARGV[n + 2]), 'g', 0
  local seen = RETENTION > 0 and call('ZSCORE', P .. 'seen', id)
  local is_it = call('GETRANGE', P .. 'page:' .. id, 0, 3) == ARGV[n + 1]
  if is_it and call('ZSCORE', P .. 'pending', id) ~= '0' and not (seen and seen + RETENTION < now) then
    if RETENTION > 0 and by >= 0 and (not seen or now - seen > RETENTION / 16) then call('ZADD', P .. 'seen', now, id) end
    if by ~= 0 then
      count = call('HINCRBY', P .. 'count', id, by)
      call('HINCRBY', P .. 'counters', 'dropped', by)
      if count < 1 then call('HDEL', P .. 'count', id) end
    end
    reply = 'd' .. pack('>I4', count)
  end
  replies[#replies + 1] = pack('>I4', #reply) .. reply
end
return table.concat(replies)

-- Remove entries, and their places in all buckets.
-- Atomic: an entry is removed as a whole, and only if it has the named content and state.
--
-- ARGV: the constants of their home (JSON), times in milliseconds; then for each entry its page id 8;
--   stamp 4; when to remove it: 'p' if it is pending, 'o' if it is over (lapsed, or not met for the
--   retention), 'a' always; 'r' removes only the places of a content that was replaced, unless the entry was
--   replaced once more; then where it is listed: bucket 5 and end 3 each.
-- Reply: for each entry the length 4 and '' if it stays, otherwise the number of pages dropped for it, 4; for 'r' ''
--   or the record of the entry that has the page's id now
local call, sub, pack, C, replies = redis.call, string.sub, struct.pack, cjson.decode(ARGV[1]), {}
if call('HGET', C.prefix .. 'schema', 'digest') ~= C.digest then return redis.error_reply('NEARDUPLOST') end
local P, time = C.prefix, call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function goes(id, why)
  local lease = call('ZSCORE', P .. 'pending', id)
  if why == 'p' then return lease and lease ~= '0' end
  local seen = why == 'o' and C.retention > 0 and call('ZSCORE', P .. 'seen', id)
  return why == 'a' or lease and tonumber(lease) < now or seen and seen + C.retention < now
end

local function leave(bucket, entry)
  local list, at = call('GET', bucket) or '', 0
  repeat at = string.find(list, entry, at + 1, true) until not at or at % #entry == 1
  local left = at and sub(list, 1, at - 1) .. sub(list, at + #entry)
  if at then call('DEL', bucket) end -- A full server refuses SET unless the script has removed something before.
  if at and left ~= '' then call('SET', bucket, left) end
end

local function withdraw(id)
  local count = tonumber(call('HGET', P .. 'count', id) or 0)
  call('DEL', P .. 'p:' .. id)
  call('ZREM', P .. 'pending', id)
  if C.retention > 0 then call('ZREM', P .. 'seen', id) end
  call('HINCRBY', P .. 'counters', 'pages', -1)
  if count > 0 then
    call('HDEL', P .. 'count', id)
    call('HINCRBY', P .. 'counters', 'dropped', -count)
  end
  return pack('>I4', count)
end

for n = 2, #ARGV, 4 do
  local id, stamp, why, places = unpack(ARGV, n, n + 3)
  local reply, its = '', call('GETRANGE', P .. 'p:' .. id, 0, 3)
  if its == '' then -- the server has evicted it
    call('ZREM', P .. 'pending', id)
    call('ZREM', P .. 'seen', id)
  end
  if why == 'r' and its ~= '' and its ~= stamp then
    reply = call('GET', P .. 'p:' .. id)
  elseif why == 'r' or its == stamp and goes(id, why) then
    for at = 1, #places, 8 do leave(P .. sub(places, at, at + 4), sub(places, at + 5, at + 7) .. id) end
    reply = why == 'r' and '' or withdraw(id)
  end
  replies[#replies + 1] = pack('>I4', #reply) .. reply
end
return table.concat(replies)

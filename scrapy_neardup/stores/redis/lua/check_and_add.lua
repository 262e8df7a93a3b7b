-- Find what each page may repeat; add the page if that is nothing but what was refused (stores/base.py).
-- Atomic: a page is added only in a step in which all of its candidates have been refused.
-- Distances are bits, times milliseconds; ids, stamps and keys strings, most significant byte first.
--
-- ARGV: constants of their home (JSON); for each page id 8; record; buckets in tables, 4 each, its own first; of
--   features bucket 3 and field 4; bytes of maximum distance + 1 and of how many buckets list it, and names (id 8,
--   stamp 4) of what was refused, first the one that the page was counted for, or any 12 bytes.
-- Reply: for each page the length 4 and 'n' and the old record of its id; 'o' a bucket is full; or 'q', how many
--   pages repeat the candidate, 4, or 0: not counted; and of each one the length of the record 4, id 8, record.
local call, sub, byte, pack, xor, C = redis.call, string.sub, string.byte, struct.pack, bit.bxor, cjson.decode(ARGV[1])
local PAGE, PENDING, SEEN, replies = C.prefix .. 'page:', C.prefix .. 'pending', C.prefix .. 'seen', {}
if call('HGET', C.prefix .. 'schema', 'digest') ~= C.digest then return redis.error_reply('NEARDUPLOST') end
local time, oldest = call('TIME'), call('ZRANGE', PENDING, 0, 0, 'WITHSCORES')[2]
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ONES = setmetatable({ [0] = 0 }, { __index = function(ones, x) -- of a byte
  ones[x] = x % 2 + ones[(x - x % 2) / 2]
  return ones[x]
end })

local function alive(id) -- What has lapsed is marked as ended, score 0: nobody revives it.
  local lease = oldest and tonumber(oldest) < now and call('ZSCORE', PENDING, id)
  if lease and tonumber(lease) < now then return call('ZADD', PENDING, 0, id) and false end
  return C.retention == 0 or (call('ZSCORE', SEEN, id) or now) + C.retention >= now
end

local function count(id, by)
  call('HINCRBY', C.prefix .. 'counters', 'dropped', by)
  local sum = call('HINCRBY', C.prefix .. 'count', id, by)
  return sum > 0 and sum or call('HDEL', C.prefix .. 'count', id)
end

local function judge(id, record, tables, features, names)
  local limit, listed, met, refused, asked, farthest, last = byte(names) - 1, byte(names, 2), {}, {}, {}, 0, nil
  for at = 3, #names, 12 do refused[sub(names, at, at + 11)] = true end
  local function meet(other, away, bucket)
    local its = not met[other] and call('GET', PAGE .. other)
    if not its and not met[other] and bucket then call('HDEL', bucket, other) end -- It was evicted.
    met[other] = true
    if its and alive(other) and not refused[other .. sub(its, 1, 4)] then
      asked[#asked + 1], last, farthest = pack('>I4', #its) .. other .. its, other, math.max(farthest, away)
    end
    return its
  end
  local function ask() -- Of several candidates the crawler says which one the page is counted for.
    local is_due = C.retention > 0 and now - (call('ZSCORE', SEEN, last) or 0) > C.retention / 16
    local counted = #asked == 1 and not is_due and (last == id and 1 or count(last, 1)) or 0
    return pack('>c1I4', 'q', counted) .. table.concat(asked)
  end
  local vain = sub(names, 3, 10)
  if vain ~= '' and call('GETRANGE', PAGE .. vain, 0, 3) == sub(names, 11, 14) then count(vain, -1) end
  local own, full, shared, fields, a, b, c, d, e, f, g, h = meet(id, 0), false, {}, {}, byte(record, 5, 12)
  if own == record then return 'n' end -- This call was repeated, as its reply was lost.
  if #asked > 0 then return ask() end
  for at = 1, #tables, 4 do
    local number, bucket, ids = (at + 3) / 4, C.prefix .. 't' .. sub(tables, at, at + 3), nil
    local keys = call('HVALS', bucket)
    full = full or number <= listed and #keys >= C.cap
    for i = 1, #keys do
      local l, m, n, o, p, q, r, t = byte(keys[i], 1, 8)
      -- Where no more than three bits differ, a byte of each half is equal.
      if limit > 3 or (a == l or b == m or c == n or d == o) and (e == p or f == q or g == r or h == t) then
        local away = ONES[xor(a, l)] + ONES[xor(b, m)] + ONES[xor(c, n)] + ONES[xor(d, o)]
          + ONES[xor(e, p)] + ONES[xor(f, q)] + ONES[xor(g, r)] + ONES[xor(h, t)]
        ids = ids or away <= limit and call('HKEYS', bucket)
        if away <= limit then meet(ids[i], away, bucket) end
      end
    end
    if #asked > 0 and (farthest < (C.unseen[number] or 0) or 4 * number == #tables) then return ask() end
  end
  for at = 1, #features, 7 do
    local bucket, field = C.prefix .. 'f' .. sub(features, at, at + 2), sub(features, at + 3, at + 6)
    local ids = call('HGET', bucket, field) or ''
    if #ids == 64 then ids = ids .. (call('HGET', bucket, field .. '+') or '') end
    for n = 1, #ids, 8 do
      local other = sub(ids, n, n + 7)
      shared[other] = (shared[other] or 0) + 1
      if shared[other] == C.shared then meet(other, 0) end
    end
    if #ids < 8 * C.under and not ids:find(id, 1, true) then -- Values of 64 bytes keep a hash small.
      fields[#fields + 1] = { bucket, #ids < 64 and field or field .. '+', (#ids < 64 and ids or sub(ids, 65)) .. id }
    end
  end
  if #asked > 0 then return ask() end
  if full then return call('HINCRBY', C.prefix .. 'counters', 'overflowed', 1) and 'o' end
  call('SET', PAGE .. id, record)
  for at = 1, 4 * listed, 4 do call('HSET', C.prefix .. 't' .. sub(tables, at, at + 3), id, sub(record, 5, 12)) end
  for _, each in ipairs(fields) do call('HSET', unpack(each)) end
  call('ZADD', PENDING, now + C.lease, id)
  if C.retention > 0 then call('ZADD', SEEN, now, id) end
  if own then count(id, 0 - (call('HGET', C.prefix .. 'count', id) or 0)) end
  if not own then call('HINCRBY', C.prefix .. 'counters', 'pages', 1) end
  return 'n' .. (own or '')
end

for n = 2, #ARGV, 5 do
  local reply = judge(unpack(ARGV, n, n + 4))
  replies[#replies + 1] = pack('>I4', #reply) .. reply
end
return table.concat(replies)

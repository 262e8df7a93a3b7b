-- Look for what each page may repeat; add it if it repeats nothing (stores/base.py).
-- Atomic: a page is added only in a step in which all of its candidates have been refused.
-- Distances are bits, times milliseconds; ids, stamps and keys strings, most significant byte first.
--
-- ARGV: prefix; digest of the namespace's record, or '' where that lies elsewhere; lease; retention, 0: none;
--   features that a candidate shares; maxima: candidates compared, equal exact pages, pages under a feature, entries
--   of a bucket, candidates in the first reply, in any other; for each number of tables the distance of the nearest
--   entry in none of them, a byte each. Then for each page: id; record; a byte limit + 1 and buckets, 4 each, its own
--   first; names of its features' buckets, 3 each; what was refused: id 8, stamp 4, 'c' if counted, else 'r'.
-- Reply: for each page the length 4 and 'n' new; 'c', '1' if that was alive, the old record that it took the place
--   of: buckets may list that still; 'o' full; 'q', 1 if the time of the first candidate is to start anew + 2 if the
--   page has an old entry, the count of the first one 4 (0: the page wasn't counted), and of each candidate the id 8,
--   the distance 1, the length of the record 4, the record.
local call, sub, byte, pack, unpack = redis.call, string.sub, string.byte, struct.pack, struct.unpack
local P, LEASE, RETENTION, UNSEEN = ARGV[1], ARGV[3], tonumber(ARGV[4]), ARGV[12]
local SHARED, COMPARED, EQUAL, UNDER = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local CAP, FIRST, NEXT, NIBBLES = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11]), '\0\1\1\2\1\2\2\3\1\2\2\3\2\3\3\4'
local PAGE, PENDING, SEEN, COUNT = P .. 'page:', P .. 'pending', P .. 'seen', P .. 'count'
if ARGV[2] ~= '' and call('HGET', P .. 'schema', 'digest') ~= ARGV[2] then
  return redis.error_reply('NEARDUPLOST no such record')
end
local time, oldest = call('TIME'), call('ZRANGE', PENDING, 0, 0, 'WITHSCORES')[2]
local NOW = tonumber(time[1]) * 1000 + math.floor(time[2] / 1000)
local DUE, LAPSES, added, dropped = string.format('%d', NOW + LEASE), oldest and tonumber(oldest) < NOW, 0, 0
-- The page at hand: its key byte by byte, ..., where its features start and end, ..., what was met, what of that counts.
local a, b, c, d, e, f, g, h, id, record, tag, start, last, limit, own, refused, met, order, is_next, unlisted

local function alive(other) -- An entry that has lapsed is marked as ended, score 0: nobody revives it.
  local lease = LAPSES and tonumber(call('ZSCORE', PENDING, other) or NOW) or NOW
  if lease < NOW then return call('ZADD', PENDING, 0, other) and false end
  return RETENTION == 0 or tonumber(call('ZSCORE', SEEN, other) or NOW) + RETENTION >= NOW
end
local function ones(x, y)
  local z = x ~= y and bit.bxor(x, y or 0) or 0
  return z == 0 and 0 or byte(NIBBLES, z % 16 + 1) + byte(NIBBLES, (z - z % 16) / 16 + 1)
end
local POPCOUNT -- of all bytes; only large limits, which compare whole buckets, are worth a table
local function distance(s, at)
  local l, m, n, o, p, q, r, t = byte(s, at, at + 7)
  if POPCOUNT and t then
    local xor, bits = bit.bxor, POPCOUNT
    local half = bits[xor(a, l)] + bits[xor(b, m)] + bits[xor(c, n)] + bits[xor(d, o)]
    return half > limit and half or half + bits[xor(e, p)] + bits[xor(f, q)] + bits[xor(g, r)] + bits[xor(h, t)]
  end
  return ones(a, l) + ones(b, m) + ones(c, n) + ones(d, o) + ones(e, p) + ones(f, q) + ones(g, r) + ones(h, t)
end
local function nearer(x, y) -- Strings would be compared as the server's locale has it.
  if x.rank ~= y.rank then return x.rank < y.rank end
  return x.high < y.high or x.high == y.high and x.low < y.low
end
local function meet(other, bucket) -- Put it into `order` if it is a candidate, and alive; the page itself comes first.
  local its = not met[other] and call('GET', PAGE .. other)
  if not its and not met[other] and bucket then call('HDEL', bucket, other) end -- It was evicted.
  met[other] = true
  if not its or #its < start - 1 or sub(its, 13, start - 1) ~= tag or (byte(its) % 8 >= 4) ~= (start > 13) then return end
  local away, akin, have_features = distance(its, 5), 0, byte(its) % 2 == 1 and last > start
  for at = start, have_features and last or 0, 8 do
    if sub(record, at, at + 7) == sub(its, at, at + 7) then akin = akin + 1 end
  end
  if (away <= limit or have_features and akin >= SHARED) and alive(other) then
    local high, low = unpack('>I4I4', other)
    order[#order + 1] = { id = other, rank = other == id and -1 or away, away = away, record = its, high = high, low = low }
  end
end
local function ask(bound) -- About the nearest candidates that weren't refused: a reply, or nil.
  local compared, asked, first = 0, {}, nil
  if #order > 1 then table.sort(order, nearer) end
  for _, each in ipairs(order) do
    if each.rank >= bound or #asked == (is_next and NEXT or FIRST) then break end
    compared = compared + (each.id == id and 0 or 1)
    if compared > COMPARED then -- Features lead to the pages of a crowd, and nothing else to exact ones.
      unlisted = each.away <= limit and not (#tag == 8 and byte(tag, 8) % 2 == 1 and #order < EQUAL)
      break
    elseif refused[each.id] ~= sub(each.record, 1, 4) then
      asked[#asked + 1] = pack('>c8BI4', each.id, each.away, #each.record) .. each.record
      first = first or each.id
    end
  end
  if not first then return end
  local late = RETENTION > 0 and NOW - tonumber(call('ZSCORE', SEEN, first) or 0) > RETENTION / 16
  local counted = first ~= id and not late and call('HINCRBY', COUNT, first, 1) or 0
  dropped = dropped + (counted > 0 and 1 or 0)
  return pack('>c1BI4', 'q', (late and 1 or 0) + (own and 2 or 0), counted) .. table.concat(asked)
end
local function uncount(other, by) -- Take back so many of the pages that were dropped for it.
  local count = tonumber(call('HGET', COUNT, other)) or 0
  local left = math.max(count - by, 0)
  if left > 0 then call('HSET', COUNT, other, left) elseif count > 0 then call('HDEL', COUNT, other) end
  dropped = dropped - (count - left)
end

local function judge(tables, features, answers)
  local full, known, key, number, fields, shared = false, {}, sub(record, 5, 12), 0, {}, {}
  a, b, c, d, e, f, g, h = byte(key, 1, 8)
  start, limit, own, is_next = byte(record) % 8 >= 4 and 21 or 13, byte(tables) - 1, call('GET', PAGE .. id), #answers > 0
  tag, last, refused, met, order, unlisted = sub(record, 13, start - 1), start + 8 * #features / 3 - 1, {}, {}, {}, false
  for at = 1, #answers, 13 do
    local other, stamp, kind = unpack('>c8c4c1', answers, at)
    refused[other] = stamp
    if kind == 'c' and call('GETRANGE', PAGE .. other, 0, 3) == stamp then uncount(other, 1) end
  end
  if limit > 3 and not POPCOUNT then
    POPCOUNT = {}
    for x = 0, 255 do POPCOUNT[x] = ones(x, 0) end
  end
  if own then meet(id) end
  local reply = own and ask(0)
  for at = 2, reply and 0 or #tables, 4 do
    local bucket, ids = P .. 't' .. sub(tables, at, at + 3), nil
    local keys = call('HVALS', bucket)
    number, full = number + 1, full or number < #UNSEEN and #keys >= CAP
    for i = 1, #keys do -- No more bytes differ than bits. Tables list all pages of a key, or none.
      local l, m, n, o, p, q, r, t = byte(keys[i], 1, 8)
      local bytes = (a == l and 0 or 1) + (b == m and 0 or 1) + (c == n and 0 or 1) + (d == o and 0 or 1)
        + (e == p and 0 or 1) + (f == q and 0 or 1) + (g == r and 0 or 1) + (h == t and 0 or 1)
      if bytes <= limit and (known[keys[i]] or number) == number and distance(keys[i], 1) <= limit then
        ids, known[keys[i]] = ids or call('HKEYS', bucket), number
        meet(ids[i], bucket)
      end
    end
    reply = not is_next and #order > 0 and ask(byte(UNSEEN, number) or 0)
    if reply then break end
  end
  reply = reply or not is_next and #order > 0 and ask(limit + 1) -- What repeats a near page needs no features.
  if reply then return reply end
  for n = 1, #features / 3 do
    local bucket, field = P .. 'f' .. sub(features, 3 * n - 2, 3 * n), sub(record, start + 8 * n - 4, start + 8 * n - 1)
    local list = call('HGET', bucket, field) or ''
    if #list == 64 then list = list .. (call('HGET', bucket, field .. '+') or '') end
    for o = 1, #list, 8 do
      local other = sub(list, o, o + 7)
      shared[other] = (shared[other] or 0) + 1
      if shared[other] == SHARED then meet(other) end
      if other == id then bucket = nil end -- It is listed already.
    end
    if bucket and #list < 8 * UNDER then -- Values of 64 bytes keep a hash small.
      fields[#fields + 1] = { bucket, #list < 64 and field or field .. '+', (#list < 64 and list or sub(list, 65)) .. id }
    end
  end
  reply = #order > 0 and ask(65)
  if reply then return reply end
  if full and not unlisted then return call('HINCRBY', P .. 'counters', 'overflowed', 1) and 'o' end
  call('SET', PAGE .. id, record)
  for at = 2, math.min(#tables, 4 * #UNSEEN + 1), 4 do
    local bucket = P .. 't' .. sub(tables, at, at + 3)
    if not unlisted then call('HSET', bucket, id, key) elseif own then call('HDEL', bucket, id) end
  end
  for _, each in ipairs(fields) do call('HSET', each[1], each[2], each[3]) end
  local was_alive = own and alive(id)
  call('ZADD', PENDING, DUE, id)
  if RETENTION > 0 then call('ZADD', SEEN, NOW, id) end
  added = added + (own and 0 or 1)
  if not own then return 'n' end
  uncount(id, math.huge)
  return (was_alive and 'c1' or 'c0') .. own
end

local replies = {}
for n = 13, #ARGV, 5 do
  id, record = ARGV[n], ARGV[n + 1]
  local reply = judge(ARGV[n + 2], ARGV[n + 3], ARGV[n + 4])
  replies[#replies + 1] = pack('>I4', #reply) .. reply
end
if added > 0 then call('HINCRBY', P .. 'counters', 'pages', added) end
if dropped ~= 0 then call('HINCRBY', P .. 'counters', 'dropped', dropped) end
return table.concat(replies)

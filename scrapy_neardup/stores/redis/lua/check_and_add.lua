-- Find the entries that each page may repeat; add the page if all of them were refused (stores/base.py).
-- Atomic: a page is added only in a step in which all of its candidates have been refused.
-- ARGV: constants of their home (JSON, times in ms); for each page its record, and a string: maximum distance in bits;
--   number of tables that list it; id 8; each after its length 2: places in tables, its own first, and of features,
--   bucket 5 and end 3 each; names (id 8, stamp 4) of refused entries, first the counted one, or any 12 bytes.
-- Reply: for each page the length 4 and 'n' and the old record of its id; 'o' if a bucket is full; or 'q', how many
--   pages repeat the candidate, 4, or 0 if not counted; and for each candidate length of the record 4, id 8, record.
local call, sub, byte, find, pack, xor = redis.call, string.sub, string.byte, string.find, struct.pack, bit.bxor
local C, reply, sums, ONE = cjson.decode(ARGV[1]), {}, {}, {}
local PAGE, PENDING, SEEN = C.prefix .. 'p:', C.prefix .. 'pending', C.prefix .. 'seen'
if call('HGET', C.prefix .. 'schema', 'digest') ~= C.digest then return redis.error_reply('NEARDUPLOST') end
local time, oldest = call('TIME'), call('ZRANGE', PENDING, 0, 0, 'WITHSCORES')[2]
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for n = 0, 7 do ONE[2 ^ n], ONE[-2 ^ n] = true, true end -- the differences of bytes of which one bit differs
local ONES = setmetatable({ [0] = 0 }, { __index = function(t, x) return rawset(t, x, x % 2 + t[(x - x % 2) / 2])[x] end })

local function count(id, by)
  sums.dropped = (sums.dropped or 0) + by
  local sum = call('HINCRBY', C.prefix .. 'count', id, by)
  return sum > 0 and sum or call('HDEL', C.prefix .. 'count', id)
end

local function alive(id) -- What has lapsed is marked as ended, score 0: nobody revives it.
  local lease = oldest and tonumber(oldest) < now and call('ZSCORE', PENDING, id)
  if lease and tonumber(lease) < now then return call('ZADD', PENDING, 0, id) and false end
  return C.retention == 0 or (call('ZSCORE', SEEN, id) or now) + C.retention >= now
end

local function judge(record, page)
  local limit, listed, id, tables, features, names = struct.unpack('>bBc8I2c0I2c0', page)
  local vain, refused, met, asked, farthest, near, last = sub(page, names, names + 7), {}, {}, {}, 0, 0, nil
  local keys, shared, adds, places, full = { PAGE .. id }, {}, {}, {}, false
  local function meet(other, by_key, known) -- Returns nothing if the server has evicted it.
    local away, its = 0, met[other] or known or call('GET', PAGE .. other)
    for n = 5, its and by_key and 12 or 0 do away = away + ONES[xor(byte(record, n), byte(its, n))] end
    if its and not met[other] and (away == 0 or away <= limit) then
      met[other], near = its, near + 1
      if alive(other) and not refused[other .. sub(its, 1, 4)] then
        asked[#asked + 1], asked[#asked + 2] = pack('>I4', #its) .. other, its
        last, farthest = other, math.max(farthest, away)
      end
    end
    return its
  end
  local function ask() -- Of several candidates the crawler says which one the page is counted for.
    local is_due = C.retention > 0 and now - (call('ZSCORE', SEEN, last) or 0) > C.retention / 16
    local counted = #asked == 2 and not is_due and (last == id and 1 or count(last, 1)) or 0
    return pack('>c1I4', 'q', counted) .. table.concat(asked)
  end
  for at = names, #page, 12 do refused[sub(page, at, at + 11)] = true end
  if vain ~= '' and call('GETRANGE', PAGE .. vain, 0, 3) == sub(page, names + 8, names + 11) then count(vain, -1) end
  for at = 1, #tables, 8 do keys[#keys + 1] = C.prefix .. sub(tables, at, at + 4) end
  local lists = call('MGET', unpack(keys))
  local own, looked = lists[1], #keys
  if own == record then return 'n' end -- This call was repeated, as its reply was lost.
  if own and meet(id, false, own) and last then return ask() end
  for n = 2, looked do -- If many are near, so may be some of a crowd, which no table lists but features do.
    local list, a, b, c = lists[n] or '', byte(tables, 8 * n - 10, 8 * n - 8)
    for at = 1, #list, 11 do
      local x, y, z = byte(list, at, at + 2)
      -- If at most three bits differ, a byte is equal, or each byte differs in one bit.
      if limit > 3 or a == x or b == y or c == z or ONE[a - x] and ONE[b - y] and ONE[c - z] then
        local other = ONES[xor(a, x)] + ONES[xor(b, y)] + ONES[xor(c, z)] <= limit and sub(list, at + 3, at + 10)
        if other and (other == id or not meet(other, true)) then places[n] = at - 1 end -- its own, or evicted
      end
    end
    if last and near <= C.compared and (farthest < (n - 1) * C.unseen or n == looked) then return ask() end
    if n <= listed + 1 then full, adds[n] = full or #list >= 11 * C.cap, sub(tables, 8 * n - 10, 8 * n - 8) .. id end
  end
  for at = 1, #features, 8 do keys[#keys + 1] = C.prefix .. sub(features, at, at + 4) end
  for n, list in ipairs(#features > 0 and call('MGET', unpack(keys, looked + 1)) or {}) do
    local ending, under, at = sub(features, 8 * n - 2, 8 * n), 0, list and 0
    while at do
      at = find(list, ending, at + 1, true)
      local other = at and at % 11 == 1 and sub(list, at + 3, at + 10)
      if other then
        under, shared[other] = other == id and C.under or under + 1, (shared[other] or 0) + 1
        if shared[other] == C.shared then meet(other) end
      end
    end
    if under < C.under then adds[looked + n] = ending .. id end
  end
  if last then return ask() end
  if full then return call('HINCRBY', C.prefix .. 'counters', 'overflowed', 1) and 'o' end
  call('SET', keys[1], record)
  for n, entry in pairs(adds) do
    if places[n] then call('SETRANGE', keys[n], places[n], entry) else call('APPEND', keys[n], entry) end
  end
  call('ZADD', PENDING, now + C.lease, id)
  if C.retention > 0 then call('ZADD', SEEN, now, id) end
  if own then count(id, 0 - (call('HGET', C.prefix .. 'count', id) or 0)) else sums.pages = (sums.pages or 0) + 1 end
  return 'n' .. (own or '')
end
for n = 2, #ARGV, 2 do
  local told = judge(ARGV[n], ARGV[n + 1])
  reply[n - 1], reply[n] = pack('>I4', #told), told -- The server hashes each string that is made of others.
end
for name, by in pairs(sums) do call('HINCRBY', C.prefix .. 'counters', name, by) end
return table.concat(reply)

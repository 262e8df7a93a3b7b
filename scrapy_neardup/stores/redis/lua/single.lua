-- The scripts of one Redis but for probe_and_add (probe.lua), and what they share.

-- ==== pages =====================================================================================

-- One Redis holds all of a namespace, so a script can reach every entry.
--
--   PREFIX t1:XX   key -> page id        PREFIX page:XX    page id -> record: key 8, tag 8, seen 4
--   PREFIX tN:XX   permuted key
--   PREFIX pending page id -> end of its lease (ms)    PREFIX url:XX    page id -> URL
--   PREFIX collapsed  page id -> pages dropped for it  PREFIX counters  confirmed, overflowed
--
-- Where pages have features or evidence (HAS_BODIES), a record ends with the place of its body, 4 bytes
-- ("bodies" below), and
--   PREFIX f:XX    feature -> place

local ID = 8 -- bytes
local RECORD = 12 + TAG_BYTES + (HAS_BODIES and 4 or 0)

local PREFIX = ARGV[1]
local PENDING = PREFIX .. 'pending'

-- A server that was emptied, by a restart or by hand, has lost the record of the namespace's
-- parameters, and by now another crawl may have written its own.
local about = call('HMGET', PREFIX .. 'schema', 'digest', 'urls')
if about[1] ~= RECORD_DIGEST then
  return redis.error_reply('NEARDUPLOST the parameters of this namespace are to be agreed on again')
end
local has_urls = about[2] -- whether a page was ever stored with its URL

-- Two digits for each byte; cheaper than string.format.
local HEX = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'

local function hex(f) local b = 2 * byte(f); return sub(HEX, b + 1, b + 2) end

local function hash(tree, f)
  local b = 2 * byte(f)
  return PREFIX .. tree .. ':' .. sub(HEX, b + 1, b + 2)
end

-- The hash of table i that lists f.
local function table_hash(i, f)
  local b = 2 * byte(f)
  return PREFIX .. TREES[i] .. sub(HEX, b + 1, b + 2)
end

local function distance(f, g)
  local d = 0
  for i = 1, 8 do d = d + byte(POPCOUNT, bxor(byte(f, i), byte(g, i)) + 1) end
  return d
end

-- The replies of a verb to the words in the last of ARGV, which are joined as they are (calls.py), and
-- their number.
local function replies_to(verb)
  local joined, replies, at, word, reply = ARGV[#ARGV], {}, 1, nil, nil
  while at <= #joined do
    word, at = struct.unpack('>I4c0', joined, at)
    reply = verb(word)
    replies[#replies + 1] = struct.pack('>I4c0', #reply, reply)
  end
  return concat(replies), #replies
end

-- ---- entries of pages ------------------------------------------------------------------

-- Milliseconds since the epoch by the server's clock, asked for once.
local clock
local function now_ms()
  if not clock then
    local t = call('TIME')
    clock = tonumber(t[1]) * 1000 + floor(tonumber(t[2]) / 1000)
  end
  return clock
end

local function now() return floor(now_ms() / 1000) end

-- The record at an offset; its place is '' where pages have no bodies.
local function record_at(s, o)
  return {
    key = sub(s, o + 7, o + 14),
    tag = sub(s, o + 15, o + 14 + TAG_BYTES),
    seen = sub(s, o + 15 + TAG_BYTES, o + 18 + TAG_BYTES),
    place = sub(s, o + 19 + TAG_BYTES, o + 6 + RECORD),
  }
end

-- The record of a page, nil if there is none; then its place, or the place where it would be: hash,
-- bucket, field, level; then its offset there, if there is one.
local function record_of(id)
  local key = hash('page', id)
  local s, name, level = bucket(key, id)
  local o = offset_of(s, 6 + RECORD, sub(id, 3, 8))
  return o and record_at(s, o), key, s, name, level, o
end

-- Whether any lease has lapsed and wasn't cleared away, asked for once: few crawlers die.
local has_lapsed
local function any_lapsed()
  if has_lapsed == nil then
    local first = call('ZRANGE', PENDING, 0, 0, 'WITHSCORES')
    has_lapsed = first[2] ~= nil and tonumber(first[2]) < now_ms()
  end
  return has_lapsed
end

-- Whether an entry still counts: its lease hasn't lapsed, and it was seen within the retention.
local function alive(id, r, retention)
  if retention > 0 and number(r.seen, 1, 4) + retention < now() then return false end
  if not any_lapsed() then return true end
  local lease = call('ZSCORE', PENDING, id)
  return not lease or tonumber(lease) >= now_ms()
end

-- Number of tables that list a page with this tag. Its lowest bit marks exact pages, which are always found by their keys.
local function tables_of(tag)
  return (BY_DISTANCE or byte(tag, TAG_BYTES) % 2 == 1) and TABLES or 0
end

-- ==== bodies ====================================================================================

-- What a page's record has no room for, features and evidence, and the tree that finds a body by a
-- feature. Scripts have this part only where pages have such.
--
-- A body is a page's id, its features and its evidence (decision/evidence.py). Its kind V is 1
-- for a page with evidence, and 0 for one without. Bodies of
-- one kind have one size and lie side by side in chunks, strings of CHUNK_BYTES at most, so that a
-- write costs one body; in a packed bucket it would cost the bucket, in the server's log and on
-- the way to replicas, too. A chunk is filled from its end, so that it gets its full size at once
-- and never grows. A new body takes the room of one that was removed.
--
--   PREFIX body:V:C  chunk C of the bodies of kind V
--   PREFIX bodies    V -> most bodies that there have been at once
--   PREFIX free:V    numbers of removed bodies
--
-- A place is 4 bytes: number * 16 + V * 2, + 1 for an entry that no table lists.
--
-- An entry of the tree of features is the first 4 bytes of the feature and the place, as if both
-- were a key of 8 bytes. Whether the rest of the feature is the same is read from the body.

local CHUNK_BYTES = 65500 -- with the server's header just below 64 KiB, a size of allocators
local NO_BODY = 15 -- V * 2 + 1 of a page that has neither features nor evidence

local FEATURES_END = ID + 8 * FEATURES

local function size_of(v) return FEATURES_END + v * EVIDENCE_BYTES end

-- The chunk that holds a body, and the body's offset there.
local function locate(v, n)
  local size = size_of(v)
  local slots = floor(CHUNK_BYTES / size)
  return PREFIX .. 'body:' .. v .. ':' .. floor(n / slots), (slots - 1 - n % slots) * size
end

-- The body at a place: its number (nil if there is none), its kind, whether tables list the entry.
local function place_at(place)
  local whole = number(place, 1, 4)
  local low = whole % 16
  if low == NO_BODY then return nil, 0, true end
  return floor(whole / 16), floor(low / 2), low % 2 == 0
end

-- The bytes of the body at a place; nil if the server has evicted it.
local function body_at(place)
  local n, v = place_at(place)
  if not n then return nil end
  local key, o = locate(v, n)
  local body = call('GETRANGE', key, o, o + size_of(v) - 1)
  if #body == size_of(v) then return body end
end

-- The body of a page; nil if it has none, or if the place is another page's by now.
local function body_of(id, r)
  local body = body_at(r.place)
  if body and sub(body, 1, ID) == id then return body end
end

local function features_in(body) return sub(body, ID + 1, FEATURES_END) end

local function evidence_in(body) return sub(body, FEATURES_END + 1) end

-- ---- features --------------------------------------------------------------------------

-- The entries under a feature: their bucket, their offset there, their number; then the hash, field
-- and level of the bucket.
local function under_feature(f)
  local key = hash('f', f)
  local s, name, level = bucket(key, f)
  local q, r = byte(f, 3, 4)
  local o, count = lower_bound(s, 6, q * 65536 + r * 256, 0), 0
  local x, y = byte(s, o + 1, o + 2)
  while x == q and y == r do
    count = count + 1
    x, y = byte(s, o + 6 * count + 1, o + 6 * count + 2)
  end
  return s, o, count, key, name, level
end

-- Number of features that two pages share.
local function shared_by(features, others)
  local count = 0
  for i = 1, #features, 8 do
    if sub(features, i, i + 7) == sub(others, i, i + 7) then count = count + 1 end
  end
  return count
end

-- ==== changes ===================================================================================

-- Changes of entries, besides their leases and counts.

local MAX_BODIES = 2 ^ 28
local FEATURE_DEPTH = 16 -- levels: the bits in the start of a feature, less two bytes

local function payload_of(r) return r.key .. r.tag .. r.seen .. r.place end

-- What follows a page's key in table i.
local function listed(i, id) return i == 1 and id or '' end

-- Write a record that was changed.
local function rewrite(id, r)
  local known, key, s, name, _, o = record_of(id)
  if known then call('HSET', key, name, sub(s, 1, o + 6) .. payload_of(r) .. sub(s, o + 7 + RECORD)) end
end

-- Keep a body and return its place; nil if there are too many.
local function add_body(id, features, evidence, listed)
  if not HAS_BODIES then return '' end
  if features == '' and evidence == '' then return u(NO_BODY, 4) end
  local v = evidence == '' and 0 or 1
  if features == '' then features = string.rep('\0', 8 * FEATURES) end
  local free = PREFIX .. 'free:' .. v
  local left = call('LINDEX', free, -1)
  local n = left and tonumber(left) or call('HINCRBY', PREFIX .. 'bodies', v, 1) - 1
  if n == MAX_BODIES then
    call('HINCRBY', PREFIX .. 'bodies', v, -1)
    return nil
  end
  local key, o = locate(v, n)
  call('SETRANGE', key, o, id .. features .. evidence)
  -- Not before that write: a full server refuses a script's first write if it takes memory, and
  -- no later one.
  if left then call('RPOP', free) end
  return u(n * 16 + v * 2 + (listed and 0 or 1), 4)
end

local function free_body(place)
  local n, v = place_at(place)
  call('RPUSH', PREFIX .. 'free:' .. v, n)
end

-- ---- the end of an entry ---------------------------------------------------------------

-- Remove an entry and all that leads to it; return the number of pages dropped for it.
local function withdraw(id)
  local r = record_of(id)
  if not r then
    call('ZREM', PENDING, id)
    return 0
  end
  local is_listed = not HAS_BODIES or select(3, place_at(r.place)) -- if unknown, it is looked for
  for i = 1, is_listed and tables_of(r.tag) or 0 do
    local f = permuted(i, r.key)
    remove(table_hash(i, f), f, listed(i, id), DEPTH)
  end
  remove(hash('page', id), id, payload_of(r), PAGE_DEPTH)
  local body = HAS_BODIES and body_of(id, r)
  if body then
    for i = ID + 1, FEATURES_END, 8 do
      local f = sub(body, i, i + 3) .. r.place
      remove(hash('f', f), f, '', FEATURE_DEPTH)
    end
    free_body(r.place)
  end
  if call('ZREM', PENDING, id) == 0 then
    call('HINCRBY', PREFIX .. 'counters', 'confirmed', -1)
  end
  if has_urls then call('HDEL', hash('url', id), id) end
  local collapsed = tonumber(call('HGET', PREFIX .. 'collapsed', id) or 0)
  if collapsed > 0 then call('HDEL', PREFIX .. 'collapsed', id) end
  return collapsed
end

-- ==== confirm ===================================================================================

-- Make the entries of pages final, as their processing is done.
--
-- ARGV: prefix, how many lapsed pending entries to clear away for each page, page ids
-- Reply: '' for each page

local replies, pages = replies_to(function(id)
  if call('ZREM', PENDING, id) == 1 then call('HINCRBY', PREFIX .. 'counters', 'confirmed', 1) end
  return ''
end)
-- Entries of crawlers that died: to clear away one or two a page keeps the set small.
local lapsed = call('ZRANGEBYSCORE', PENDING, '-inf', '(' .. now_ms(), 'LIMIT', 0, ARGV[2] * pages)
for _, id in ipairs(lapsed) do withdraw(id) end
return replies

-- ==== forget ====================================================================================

-- Withdraw pending entries, as the processing of their pages failed.
--
-- ARGV: prefix, page ids
-- Reply: for each page the number of pages dropped as its duplicates; 0 if it isn't pending

return (replies_to(function(id)
  return tostring(call('ZSCORE', PENDING, id) and withdraw(id) or 0)
end))

-- ==== renew =====================================================================================

-- Renew the leases of pending entries, as their crawler lives.
--
-- ARGV: prefix, lease (ms), page ids
-- Reply: '' for each page

return (replies_to(function(id)
  -- XX: an entry that was confirmed, forgotten or cleared away isn't pending again.
  call('ZADD', PENDING, 'XX', now_ms() + tonumber(ARGV[2]), id)
  return ''
end))

-- ==== sweep =====================================================================================

-- One step of withdrawing entries that were not seen for the retention time.
--
-- Every crawler of the namespace calls this once a pause. The position of the pass is kept on the
-- server, so that together they make one step a pause, whatever their number.
--
-- ARGV: prefix, retention (s), pause (ms), fields to look at, maximum number of entries to withdraw
-- Reply: ''

local retention, width = tonumber(ARGV[2]), 6 + RECORD

local function sweep(most)
  local state = PREFIX .. 'sweep'
  local at = call('HMGET', state, 'next', 'hash', 'cursor')
  if at[1] and tonumber(at[1]) > now_ms() then return '' end

  local which, cursor = tonumber(at[2] or 0), at[3] or '0'
  local reply = call('HSCAN', PREFIX .. 'page:' .. hex(char(which)), cursor, 'COUNT', ARGV[4])
  local old = {}
  for i = 1, #reply[2], 2 do
    local name, s = reply[2][i], reply[2][i + 1]
    for o = 0, #s - width, width do
      if number(record_at(s, o).seen, 1, 4) + retention < now() then
        old[#old + 1] = char(which) .. sub(name, 2, 2) .. sub(s, o + 1, o + 6)
      end
    end
  end
  for i = 1, math.min(#old, most) do withdraw(old[i]) end
  if #old <= most then
    cursor = reply[1]
    if cursor == '0' then which = (which + 1) % 256 end
  end
  call('HSET', state, 'next', now_ms() + tonumber(ARGV[3]), 'hash', which, 'cursor', cursor)
  return ''
end

return (replies_to(function(most) return sweep(tonumber(most)) end))

-- One Redis holds all of a namespace, so a script can reach every entry.
--
--   PREFIX t1:XX   key -> page id        PREFIX page:XX    page id -> record: key 8, tag 8, seen 4
--   PREFIX tN:XX   permuted key
--   PREFIX pending page id -> end of its lease (ms)    PREFIX url:XX    page id -> URL
--   PREFIX collapsed  page id -> pages dropped for it  PREFIX counters  confirmed, overflowed
--
-- Where pages have features or evidence (HAS_BODIES), a record ends with the place of its body, 4 bytes
-- (bodies.lua), and
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

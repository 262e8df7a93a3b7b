-- ==== buckets ===================================================================================

-- Packed, sorted buckets in hashes (Manku et al. 2007, section 3.2's idea of small sorted
-- blocks): what every script of every layout begins with.
--
-- Units. Fingerprints and page ids are 8-byte strings, most significant byte first. Times are
-- since the epoch: on one Redis in seconds, leases in milliseconds; in a cluster all in
-- milliseconds. Lua numbers are doubles and `bit` knows 32 bits, so everything works on bytes and
-- on 24-bit halves.
--
-- A tree is 256 hashes, one for each first byte. A field names a bucket by its level and the
-- further bits that its entries share: level L stands for 16 + L bits. The level byte keeps
-- a bucket's name apart from that of its children. A bucket's value is a sorted string of
-- entries, each the last six bytes of its key and a payload; a value of one byte says that
-- the bucket was split in two, so look one level deeper.
--
-- Put in place of these names by scripts.py, from the table design:
--   RECORD_DIGEST  digest of all parameters of the namespace
--   TABLES      number of tables
--   PARTS       parts of a suffix: the first and the last byte of each in turn
--   TREES       for each table the start of its hashes' names, behind the namespace's prefix
--   EARLIER     for each table the masks of the prefixes of the tables before it, in its own order
--               of bits: bytes 3-5, then bytes 6-8
--   UNSEEN      for each i the minimum distance of an entry that none of the first i tables finds
--   RADIUS      for each table the bits by which a prefix may differ from the page's own, 0 to 2
--   FLIPS       all bytes with up to two bits set, those with fewest first
--   DEPTH       levels that a table may be split (smallest p - 16)
--   PAGE_DEPTH  levels that a tree of page ids, or of a cluster's features, may be split
--   SPLIT       entries at which a bucket is split
--   CAP         maximum entries of a bucket
--   TAG_BYTES   bytes of a partition's tag
--   EVIDENCE_BYTES  bytes of a page's evidence (decision/evidence.py)
--   MAX_ASKED, MAX_ASKED_NEXT   maximum candidates in the first reply to a page, and in any other
-- and from stores/base.py and Matching: BY_DISTANCE, FEATURES, SHARED_FEATURES, MAX_COMPARED, MAX_EQUAL,
-- MAX_UNDER_FEATURE, HAS_BODIES (whether pages have features or evidence).

local byte, sub, char, floor = string.byte, string.sub, string.char, math.floor
local search = string.find
local band, bxor, call, concat = bit.band, bit.bxor, redis.call, table.concat

-- A literal costs nothing at each call; a table of 256 numbers would cost 12 microseconds.
local POPCOUNT = '\0\1\1\2\1\2\2\3\1\2\2\3\2\3\3\4\1\2\2\3\2\3\3\4\2\3\3\4\3\4\4\5\1\2\2\3\2\3\3\4\2\3\3\4\3\4\4\5\2\3\3\4\3\4\4\5\3\4\4\5\4\5\5\6\1\2\2\3\2\3\3\4\2\3\3\4\3\4\4\5\2\3\3\4\3\4\4\5\3\4\4\5\4\5\5\6\2\3\3\4\3\4\4\5\3\4\4\5\4\5\5\6\3\4\4\5\4\5\5\6\4\5\5\6\5\6\6\7\1\2\2\3\2\3\3\4\2\3\3\4\3\4\4\5\2\3\3\4\3\4\4\5\3\4\4\5\4\5\5\6\2\3\3\4\3\4\4\5\3\4\4\5\4\5\5\6\3\4\4\5\4\5\5\6\4\5\5\6\5\6\6\7\2\3\3\4\3\4\4\5\3\4\4\5\4\5\5\6\3\4\4\5\4\5\5\6\4\5\5\6\5\6\6\7\3\4\4\5\4\5\5\6\4\5\5\6\5\6\6\7\4\5\5\6\5\6\6\7\5\6\6\7\6\7\7\8'

-- The bytes of a string as a number, most significant first; `u` makes them of it.
local function number(s, from, to)
  local n = 0
  for i = from, to do n = n * 256 + byte(s, i) end
  return n
end

-- Name of the bucket of f at a level.
local function field(f, level)
  if level == 0 then return '\0' .. sub(f, 2, 2) end
  local whole, rest = floor(level / 8), level % 8
  local name = char(level) .. sub(f, 2, 2 + whole)
  if rest == 0 then return name end
  local b = byte(f, 3 + whole)
  return name .. char(b - b % 2 ^ (8 - rest))
end

-- The bucket of f: its entries, its field, its level.
local function bucket(key, f)
  local level, name = 0, '\0' .. sub(f, 2, 2) -- what `field` makes
  local s = call('HGET', key, name)
  while s and #s == 1 do
    level = level + 1
    name = field(f, level)
    s = call('HGET', key, name)
  end
  return s or '', name, level
end

-- Offset of the first entry that is not smaller than the suffix (high, low), 24 bits each.
local function lower_bound(s, width, high, low)
  local a, b = 0, #s / width
  while a < b do
    local m = floor((a + b) / 2)
    local q, r, t, v, w, x = byte(s, m * width + 1, m * width + 6)
    local h = q * 65536 + r * 256 + t
    if h < high or (h == high and v * 65536 + w * 256 + x < low) then a = m + 1 else b = m end
  end
  return a * width
end

-- Offset of an entry that starts with the suffix, or nil; faster than `lower_bound`.
local function offset_of(s, width, suffix)
  local at = search(s, suffix, 1, true)
  while at and (at - 1) % width > 0 do at = search(s, suffix, at + 1, true) end
  return at and at - 1
end

-- Distance of f and the entry at an offset, in bits: they have the first two bytes in common. Most
-- bytes are equal where it matters, and a comparison costs a tenth of two calls.
local function distance_at(s, o, f)
  local a, b, c, d, e, g = byte(s, o + 1, o + 6)
  local q, r, t, v, w, x = byte(f, 3, 8)
  local bits = a == q and 0 or byte(POPCOUNT, bxor(a, q) + 1)
  if b ~= r then bits = bits + byte(POPCOUNT, bxor(b, r) + 1) end
  if c ~= t then bits = bits + byte(POPCOUNT, bxor(c, t) + 1) end
  if d ~= v then bits = bits + byte(POPCOUNT, bxor(d, v) + 1) end
  if e ~= w then bits = bits + byte(POPCOUNT, bxor(e, w) + 1) end
  if g ~= x then bits = bits + byte(POPCOUNT, bxor(g, x) + 1) end
  return bits
end

-- The entries of bucket s of a table that are within `limit` bits of f, those that share its prefix
-- at least: offset and distance of each in turn; nil if there are none.
--
-- Such an entry has all bytes of one of the PARTS in common with f, as there are more parts
-- than bits that may differ. So what has them is looked for, and nothing else is compared.
local function probe(s, width, f, limit)
  local near, parts = nil, PARTS
  for n = 1, #parts, 2 do
    local from = parts[n]
    local wanted = sub(f, from + 2, parts[n + 1] + 2)
    local at = search(s, wanted, from, true)
    while at and at <= #s do -- no bytes at all are found behind the end, too
      local o = at - from
      local skew = o % width
      local is_new = skew == 0
      for m = 1, n - 2, 2 do -- what an earlier part has found
        local first, last = parts[m], parts[m + 1]
        is_new = is_new and sub(s, o + first, o + last) ~= sub(f, first + 2, last + 2)
      end
      local d = is_new and distance_at(s, o, f)
      if is_new and d <= limit then
        near = near or {}
        near[#near + 1] = o
        near[#near + 1] = d
      end
      at = search(s, wanted, at - skew + width, true)
    end
  end
  return near
end

local WITHIN = { [0] = 1, 9, 37 } -- FLIPS of so many bits

-- Look into the buckets of a hash whose prefix differs from that of f in so many bits of the second
-- byte at most; `visit` takes f under that prefix, the bits that differ, and the bucket. Tables that
-- are probed within a radius aren't split (DEPTH 0).
local function each_within(key, f, radius, visit)
  local second, names = byte(f, 2), {}
  for n = 1, WITHIN[radius] do names[n] = '\0' .. char(bxor(second, byte(FLIPS, n))) end
  local values = call('HMGET', key, unpack(names))
  for n = 1, #names do
    local bits = byte(POPCOUNT, byte(FLIPS, n) + 1)
    if values[n] then visit(sub(f, 1, 1) .. sub(names[n], 2) .. sub(f, 3), bits, values[n]) end
  end
end

-- ==== changes ===================================================================================

-- What changes buckets. Few pages need it, so that scripts make these functions when they do.

-- A number as that many bytes, most significant first; `number` reads it.
local function u(n, bytes)
  local out = {}
  for i = bytes, 1, -1 do
    out[i] = char(n % 256)
    n = floor(n / 256)
  end
  return concat(out)
end

-- Offset of the first entry that is not smaller than f.
local function find(s, width, f)
  local q, r, t, v, w, x = byte(f, 3, 8)
  return lower_bound(s, width, q * 65536 + r * 256 + t, v * 65536 + w * 256 + x)
end

-- Write bucket s of f at a level, split if it has grown too long, removed if it is empty.
local function store(key, name, level, f, width, depth, s)
  if #s == 0 then return call('HDEL', key, name) end
  if #s <= SPLIT * width or level >= depth then return call('HSET', key, name, s) end
  -- Sorted entries that share 16 + level bits: those whose next bit is 0 come first.
  local place = 3 + floor(level / 8)
  local half = 2 ^ (7 - level % 8)
  local cut = #s
  for o = 0, #s - 1, width do
    if byte(s, o + place - 2) % (2 * half) >= half then
      cut = o
      break
    end
  end
  call('HSET', key, name, '\1')
  for side = 0, 1 do
    local part = side == 0 and sub(s, 1, cut) or sub(s, cut + 1)
    if #part > 0 then
      local g = sub(f, 1, 2) .. sub(part, 1, 6)
      store(key, field(g, level + 1), level + 1, g, width, depth, part)
    end
  end
end

-- Bucket s with another entry at offset o.
local function joined(s, o, f, payload)
  return sub(s, 1, o) .. sub(f, 3, 8) .. payload .. sub(s, o + 1)
end

local function insert(key, f, payload, depth)
  local s, name, level = bucket(key, f)
  local width = 6 + #payload
  store(key, name, level, f, width, depth, joined(s, find(s, width, f), f, payload))
end

-- Remove the entry of f that has this payload.
local function remove(key, f, payload, depth)
  local width = 6 + #payload
  local s, name, level = bucket(key, f)
  local wanted = sub(f, 3, 8) .. payload
  local o = find(s, width, f)
  while o < #s and sub(s, o + 1, o + 6) == sub(f, 3, 8) do
    if sub(s, o + 1, o + width) == wanted then
      return store(key, name, level, f, width, depth, sub(s, 1, o) .. sub(s, o + width + 1))
    end
    o = o + width
  end
end

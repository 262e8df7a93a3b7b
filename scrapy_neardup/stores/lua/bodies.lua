-- What a page's record has no room for: its features and its sketches, and what leads to them.
--
-- Bodies of one size lie side by side in a heap: strings of CHUNK_BYTES at most, the last of
-- which is filled from its end, so that it is made in its full size and never grows. A body
-- is its page's id, its features, and its sketches; there is a heap for each number of
-- sketches that a page keeps, none, one, or one a view. Where a body leaves, the last of its
-- heap takes its place: a heap has no holes, its memory comes back, and a write costs a body
-- (in a packed bucket it would cost the bucket, in the log of the server and to replicas too).
--
--   PREFIX body:V:C  chunk C of the bodies with V sketches    PREFIX bodies  V -> how many
--
-- A place is 4 bytes: number in its heap * 16 + V * 2, + 1 for an entry that no table lists.

local CHUNK_BYTES = 65500 -- and the server's header: just below a size that allocators have
local MOST_UNDER_FEATURE = 16 -- entries that a value of a feature leads to; see candidates.py
local NO_BODY = 15 -- V * 2 + 1 of an exact page, which has neither features nor sketches

local function size_of(v) return ID + 8 * FEATURES + v * SKETCH end

-- The chunk that holds a body, the body's offset there, and whether it is the first there.
local function locate(v, n)
  local size = size_of(v)
  local slots = math.max(1, floor(CHUNK_BYTES / size))
  return PREFIX .. 'body:' .. v .. ':' .. floor(n / slots), (slots - 1 - n % slots) * size, n % slots == 0
end

local function read_body(v, n)
  local key, o = locate(v, n)
  return call('GETRANGE', key, o, o + size_of(v) - 1)
end

-- Number in its heap, sketches, whether the tables list the entry; nil if there is no body.
local function place_at(place)
  local whole = number(place, 1, 4)
  local low = whole % 16
  if low == NO_BODY then return nil, nil, true end
  return floor(whole / 16), floor(low / 2), low % 2 == 0
end

-- The features and the sketches of a page, a string each; nil where the server has evicted
-- them, or where it is an exact page.
local function body_of(id, r)
  if r.place == '' then return nil end
  local n, v = place_at(r.place)
  local body = n and read_body(v, n)
  if not body or sub(body, 1, ID) ~= id then return nil end
  return sub(body, ID + 1, ID + 8 * FEATURES), sub(body, ID + 8 * FEATURES + 1)
end

-- Keep a body and return its place.
local function add_body(id, features, sketch, listed)
  if not HAS_BODIES then return '' end
  if features == '' and sketch == '' then return u(NO_BODY, 4) end
  if features == '' then features = string.rep('\0', 8 * FEATURES) end
  local v = SKETCH > 0 and #sketch / SKETCH or 0
  local n = call('HINCRBY', PREFIX .. 'bodies', v, 1) - 1
  local key, o = locate(v, n)
  call('SETRANGE', key, o, id .. features .. sketch)
  return u(n * 16 + v * 2 + (listed and 0 or 1), 4)
end

-- Let a body go. The last one of its heap moves, so whatever was read of records before is stale.
local function remove_body(place)
  local n, v = place_at(place)
  if not n then return end
  local last = call('HINCRBY', PREFIX .. 'bodies', v, -1)
  local key, _, is_first = locate(v, last)
  if n ~= last then
    local body = read_body(v, last)
    local moved = sub(body, 1, ID)
    local r = #body == size_of(v) and record_of(moved)
    if r then
      local to, o = locate(v, n)
      call('SETRANGE', to, o, body)
      r.place = u(number(r.place, 1, 4) + (n - last) * 16, 4)
      rewrite(moved, r)
    end
  end
  if is_first then call('UNLINK', key) end
  if last == 0 then call('HDEL', PREFIX .. 'bodies', v) end
end

-- ---- features --------------------------------------------------------------------------

-- The ith feature of a page: its bucket, the offset of the pages it leads to, how many they
-- are; then where the bucket is: key, field, level.
local function under_feature(i, f)
  local key = hash('f' .. i, f)
  local s, name, level = bucket(key, f)
  local o, suffix, count = find(s, 6 + ID, f), sub(f, 3, 8), 0
  while sub(s, o + count * (6 + ID) + 1, o + count * (6 + ID) + 6) == suffix do count = count + 1 end
  return s, o, count, key, name, level
end

-- Let a feature lead to a page, but where it leads to so many that it is furniture.
local function add_feature(f, id, s, o, count, key, name, level)
  if count >= MOST_UNDER_FEATURE then return end
  store(key, name, level, f, 6 + ID, PAGE_DEPTH, joined(s, o, f, id))
end

-- How many of their features two pages share.
local function shared_by(features, others)
  local count = 0
  for i = 1, #features, 8 do
    if sub(features, i, i + 7) == sub(others, i, i + 7) then count = count + 1 end
  end
  return count
end

-- ---- the end of an entry ---------------------------------------------------------------

-- How many tables list a page with this evidence. The lowest bit of the tag tells exact
-- pages, which are always found by their keys.
local function tables_of(evidence)
  return (BY_DISTANCE or byte(evidence, 2) % 2 == 1) and TABLES or 0
end

-- Take an entry out of all; return the pages dropped for it.
local function withdraw(id)
  local r = record_of(id)
  if not r then
    call('ZREM', PREFIX .. 'pending', id)
    return 0
  end
  local key = key_of(id, r)
  local listed = true
  if HAS_BODIES then listed = select(3, place_at(r.place)) end
  for i = 1, key and listed and tables_of(r.evidence) or 0 do
    local f = permuted(i, key)
    remove(hash('t' .. i, f), f, i == 1 and id or '', DEPTH)
  end
  remove(hash('page', id), id, payload_of(r), PAGE_DEPTH)
  if HAS_BODIES then
    local features = body_of(id, r) or ''
    for i = 1, #features / 8 do
      local f = sub(features, 8 * i - 7, 8 * i)
      remove(hash('f' .. i, f), f, id, PAGE_DEPTH)
    end
    remove_body(r.place)
  end
  if call('ZREM', PREFIX .. 'pending', id) == 0 then
    call('HINCRBY', PREFIX .. 'counters', 'confirmed', -1)
  end
  call('HDEL', hash('url', id), id)
  local collapsed = tonumber(call('HGET', PREFIX .. 'collapsed', id) or 0)
  if collapsed > 0 then call('HDEL', PREFIX .. 'collapsed', id) end
  return collapsed
end

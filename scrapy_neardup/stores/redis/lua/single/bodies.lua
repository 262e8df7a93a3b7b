-- What a page's record has no room for, features and evidence, and the tree that finds a body by a
-- feature. Scripts have this part only where pages have such.
--
-- A body is a page's id, its features and its evidence (decision/evidence.py). Its kind V is 0 for a
-- page without evidence, 1 for a short page, which has no features, and 2 for any other. Bodies of
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

-- End of the features in a body of kind v.
local function head_of(v) return ID + (v == 1 and 0 or 8 * FEATURES) end

local function size_of(v) return head_of(v) + evidence_size(v) end

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

-- The bytes of the body at a place, and its kind; nil if the server has evicted it.
local function body_at(place)
  local n, v = place_at(place)
  if not n then return nil end
  local key, o = locate(v, n)
  local body = call('GETRANGE', key, o, o + size_of(v) - 1)
  if #body == size_of(v) then return body, v end
end

-- The body of a page, and its kind; nil if it has none, or if the place is another page's by now.
local function body_of(id, r)
  local body, v = body_at(r.place)
  if body and sub(body, 1, ID) == id then return body, v end
end

local function features_in(body, v) return sub(body, ID + 1, head_of(v)) end

local function evidence_in(body, v) return sub(body, head_of(v) + 1) end

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

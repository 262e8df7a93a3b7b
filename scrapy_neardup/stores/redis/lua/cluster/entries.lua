-- Table 1 of a cluster holds the entries themselves: the one place where an attempt's fate is
-- decided. docs/cluster.md proves what follows from it.
--
-- An entry is known by its key and its attempt; both together are its name (12 bytes).
-- Record: key suffix 6, attempt 4, page id 8, tag 8, state 1, time 6
--   'p'  pending: undecided; its attempt fails when someone asks after the time (ms)
--   'l'  kept, not confirmed; counts until the time (ms)
--   'k'  kept and confirmed; last seen at the time (ms)
-- The same hash holds more, under names that no bucket has, as these begin with a level of 48 at
-- most:
--   'b' name   the body of an entry: one byte, 2 * the kind of its evidence (buckets.lua) + 1
--              if it has features; then its features, its evidence, its URL
--   'c' name   the record of an entry that isn't found by its key
--   'n' name   pages dropped for an entry
--   'x'        tombstones: attempts that have ended, 12 bytes and the time (ms) each
--   'P', 'L', 'D', 'O'  pages, those not confirmed, dropped, overflowed

local KEY = KEYS[1]
local WIDTH = 25 + TAG_BYTES
local STATE = 19 + TAG_BYTES
local TOMBSTONE_MS = 600000 -- an attempt gives up long before (ATTEMPT_LIMIT, clusterstore.py)

local clock = call('TIME')
local NOW_MS = tonumber(clock[1]) * 1000 + floor(tonumber(clock[2]) / 1000)

-- The bucket of an entry, its offset there, and the bucket's field and level (nil for a record
-- beside the buckets); nil if there is no such entry.
local function locate(f, attempt)
  local s, name, level = bucket(KEY, f)
  local o, suffix = find(s, WIDTH, f), sub(f, 3, 8)
  while o < #s and sub(s, o + 1, o + 6) == suffix do
    if sub(s, o + 7, o + 10) == attempt then return s, o, name, level end
    o = o + WIDTH
  end
  name = 'c' .. f .. attempt
  s = call('HGET', KEY, name)
  if s then return s, 0, name end
end

-- Features, evidence and URL of an entry, three strings.
local function body_of(f, attempt)
  local s = call('HGET', KEY, 'b' .. f .. attempt)
  if not s then return '', '', '' end
  local features_end = 1 + byte(s) % 2 * 8 * FEATURES
  local evidence_end = features_end + evidence_size(floor(byte(s) / 2))
  return sub(s, 2, features_end), sub(s, features_end + 1, evidence_end), sub(s, evidence_end + 1)
end

-- Take the record at an offset out of what `locate` found.
local function take_out(f, s, o, name, level)
  if not level then return call('HDEL', KEY, name) end
  store(KEY, name, level, f, WIDTH, DEPTH, sub(s, 1, o) .. sub(s, o + WIDTH + 1))
end

local function state_at(s, o) return sub(s, o + STATE, o + STATE), number(s, o + STATE + 1, o + WIDTH) end

local function set_state(f, attempt, state, time)
  local s, o, name = locate(f, attempt)
  call('HSET', KEY, name, sub(s, 1, o + STATE - 1) .. state .. u(time, 6) .. sub(s, o + WIDTH + 1))
end

local function buried(f, attempt)
  local graves = call('HGET', KEY, 'x')
  return graves and string.find(graves, f .. attempt, 1, true) ~= nil
end

local function bury(f, attempt)
  local graves = call('HGET', KEY, 'x') or ''
  local first = 0
  while first < #graves and number(graves, first + 13, first + 18) + TOMBSTONE_MS < NOW_MS do
    first = first + 18
  end
  call('HSET', KEY, 'x', sub(graves, first + 1) .. f .. attempt .. u(NOW_MS, 6))
end

-- End an entry: from here on its attempt can't come back. Returns the pages dropped for it, and
-- its features.
local function finish(f, attempt)
  local s, o, name, level = locate(f, attempt)
  if not s then return 0, '' end
  bury(f, attempt)
  local state = state_at(s, o)
  take_out(f, s, o, name, level)
  local features = FEATURES > 0 and body_of(f, attempt) or ''
  call('HDEL', KEY, 'b' .. f .. attempt)
  if state == 'p' then return 0, features end
  local collapsed = tonumber(call('HGET', KEY, 'n' .. f .. attempt) or 0)
  if collapsed > 0 then
    call('HDEL', KEY, 'n' .. f .. attempt)
    call('HINCRBY', KEY, 'D', -collapsed)
  end
  call('HINCRBY', KEY, 'P', -1)
  if state == 'l' then call('HINCRBY', KEY, 'L', -1) end
  return collapsed, features
end

local function over(state, time, retention)
  if state == 'k' then return retention > 0 and time + retention < NOW_MS end
  return time < NOW_MS
end

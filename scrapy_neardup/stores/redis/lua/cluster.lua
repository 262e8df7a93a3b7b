-- The scripts of a cluster, each on one hash, and what they share.

-- ==== entries ===================================================================================

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
--   'b' name   the body of an entry: one byte, 2 if it has evidence, + 1 if it has features;
--               then its features, its evidence, its URL
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
  local evidence_end = features_end + floor(byte(s) / 2) * EVIDENCE_BYTES
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

-- ==== claims ====================================================================================

-- Claiming a place in a bucket, the same in every table: see who is near, then add an entry.
--
-- Returns {'full'}, or {'claimed', key in table order and attempt of each other entry near it}, the
-- attempt followed by the first `shown` bytes of the rest of the entry.

local function claim(key, width, f, attempt, limit, payload, shown)
  local s, name, level = bucket(key, f)
  local reply, mine = { 'claimed' }, false
  local near = probe(s, width, f, limit)
  for n = 1, near and #near or 0, 2 do
    local o = near[n]
    local other, its = sub(f, 1, 2) .. sub(s, o + 1, o + 6), sub(s, o + 7, o + 6 + #attempt)
    if other == f and its == attempt then
      mine = true -- the call is repeated
    else
      reply[#reply + 1] = other
      reply[#reply + 1] = its .. sub(s, o + 7 + #attempt, o + 6 + #attempt + shown)
    end
  end
  if not mine then
    if #s >= CAP * width then return { 'full' } end
    store(key, name, level, f, width, DEPTH, joined(s, find(s, width, f), f, attempt .. payload))
  end
  return reply
end

-- ==== begin =====================================================================================

-- Claim a place in table 1: the entry is pending from here on.
--
-- ARGV: key, attempt, limit (bits; -1: no page finds it by its key), page id, tag,
--       lease (ms), body or ''
-- Reply: {'full'} | {'gone'} | {'claimed', key and attempt .. page id .. tag .. state of each
--        other entry near it}

local f, attempt, limit, body = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[7]
if buried(f, attempt) then return { 'gone' } end
if call('HEXISTS', KEY, 'c' .. f .. attempt) == 1 then
  return { 'claimed' } -- it is kept already, and this call is a late copy
end
local entry = ARGV[4] .. ARGV[5] .. 'p' .. u(NOW_MS + tonumber(ARGV[6]), 6)
local reply = { 'claimed' }
if limit >= 0 then
  reply = claim(KEY, WIDTH, f, attempt, limit, entry, 9 + TAG_BYTES)
  if reply[1] == 'full' then return reply end
elseif not locate(f, attempt) then
  local s, name, level = bucket(KEY, f)
  if #s < CAP * WIDTH then
    store(KEY, name, level, f, WIDTH, DEPTH, joined(s, find(s, WIDTH, f), f, attempt .. entry))
  else
    call('HSET', KEY, 'c' .. f .. attempt, sub(f, 3, 8) .. attempt .. entry)
  end
end
if body ~= '' then call('HSET', KEY, 'b' .. f .. attempt, body) end
return reply

-- ==== claim =====================================================================================

-- Claim a place in one of the tables 2 to t, and see who is near.
--
-- KEYS: the hash of this table and prefix
-- ARGV: key in table order, attempt, limit (bits)
-- Reply: {'full'} or {'claimed', key in table order and attempt of each other entry near it}

local f, attempt = ARGV[1], ARGV[2]
return claim(KEYS[1], 6 + #attempt, f, attempt, tonumber(ARGV[3]), '', 0)

-- ==== peek ======================================================================================

-- See who is near under other prefixes of a table, as far as they lie in this hash. Only once the
-- attempt has claimed its own place: of two the one that claims later sees the other.
--
-- KEYS: the hash
-- ARGV: table, key in table order (its first byte that of the hash), bits in which the second byte of
--       a prefix may differ, limit (bits)
-- Reply: {key in table order and attempt of each entry near it}

local width, limit, reply = ARGV[1] == '1' and 25 + TAG_BYTES or 10, tonumber(ARGV[4]), {}
each_within(KEYS[1], ARGV[2], tonumber(ARGV[3]), function(f, bits, s)
  local near = probe(s, width, f, limit - bits)
  for m = 1, near and #near or 0, 2 do
    reply[#reply + 1] = sub(f, 1, 2) .. sub(s, near[m] + 1, near[m] + 6)
    reply[#reply + 1] = sub(s, near[m] + 7, near[m] + 10)
  end
end)
return reply

-- ==== feature ===================================================================================

-- Claim a place under a feature, and see which other attempts have it.
--
-- KEYS: the hash of this feature's first byte
-- ARGV: feature, name (key and attempt)
-- Reply: {'full'} or {'claimed', name of each other attempt}

local f, mine = ARGV[1], ARGV[2]
local width, suffix = 6 + #mine, sub(f, 3, 8)
local s, name, level = bucket(KEYS[1], f)
local place = find(s, width, f)
local reply, known = { 'claimed' }, false
local o = place
while sub(s, o + 1, o + 6) == suffix do
  local other = sub(s, o + 7, o + width)
  if other == mine then
    known = true -- the call is repeated
  else
    reply[#reply + 1] = other
  end
  o = o + width
end
if not known then
  if #s >= CAP * width then return { 'full' } end
  store(KEYS[1], name, level, f, width, PAGE_DEPTH, joined(s, place, f, mine))
end
return reply

-- ==== look ======================================================================================

-- What has become of another attempt? If its entry isn't here, not yet or no longer, it is buried
-- and never will be.
--
-- ARGV: key, attempt, retention (ms), 'wound' or '', 'body' or ''
--       wound: end it if it is still pending; an entry whose time is over is ended anyway
--       body: return its features and its evidence
-- Reply: {'gone', features} | {'pending' or 'kept', page id, tag, features, evidence}

local f, attempt = ARGV[1], ARGV[2]
local s, o = locate(f, attempt)
if not s then
  if not buried(f, attempt) then bury(f, attempt) end
  return { 'gone', '' }
end
local state, time = state_at(s, o)
if over(state, time, tonumber(ARGV[3])) or (state == 'p' and ARGV[4] == 'wound') then
  local _, features = finish(f, attempt)
  return { 'gone', features }
end
local features, evidence = '', ''
if ARGV[5] == 'body' then features, evidence = body_of(f, attempt) end
local word = state == 'p' and 'pending' or 'kept'
return { word, sub(s, o + 11, o + 18), sub(s, o + 19, o + STATE - 1), features, evidence }

-- ==== commit ====================================================================================

-- No rival is in the way of the attempt: its entry is kept, unless it was wounded.
--
-- ARGV: key, attempt, lease (ms), 'beside' or ''
--       beside: from now on no page finds the entry by its key
-- Reply: 1 kept, 0 its entry is gone

local f, attempt = ARGV[1], ARGV[2]
local s, o, name, level = locate(f, attempt)
if not s then return 0 end
if state_at(s, o) ~= 'p' then return 1 end -- the call is repeated
if ARGV[4] == 'beside' and level then
  take_out(f, s, o, name, level)
  call('HSET', KEY, 'c' .. f .. attempt, sub(s, o + 1, o + WIDTH))
end
set_state(f, attempt, 'l', NOW_MS + tonumber(ARGV[3]))
call('HINCRBY', KEY, 'P', 1)
call('HINCRBY', KEY, 'L', 1)
return 1

-- ==== collapse ==================================================================================

-- Count a page that is dropped as a duplicate of this entry, if the entry is still kept.
--
-- ARGV: key, attempt, retention (ms)
-- Reply: {pages dropped for the entry, its URL or ''}, nil if it is no longer kept

local f, attempt, retention = ARGV[1], ARGV[2], tonumber(ARGV[3])
local s, o = locate(f, attempt)
if not s then return false end
local state, time = state_at(s, o)
if state == 'p' or over(state, time, retention) then return false end
if state == 'k' and NOW_MS - time > retention / 16 and retention > 0 then
  set_state(f, attempt, 'k', NOW_MS)
end
local count = call('HINCRBY', KEY, 'n' .. f .. attempt, 1)
call('HINCRBY', KEY, 'D', 1)
local _, _, url = body_of(f, attempt)
return { count, url }

-- ==== settle ====================================================================================

-- Confirm an entry, renew its lease, or end it.
--
-- ARGV: key, attempt, 'confirm' | 'renew' | 'touch' | 'forget' | 'end' | 'overflow',
--       lease or retention (ms)
--       forget ends it unless it is confirmed; overflow ends it and counts an overflow
-- Reply: {1 if it was ended, pages dropped for it, its features}

local f, attempt, verb = ARGV[1], ARGV[2], ARGV[3]
local ends = verb == 'end' or verb == 'overflow'
if verb == 'overflow' then call('HINCRBY', KEY, 'O', 1) end
local s, o = locate(f, attempt)
if not s then
  if ends and not buried(f, attempt) then bury(f, attempt) end
  return { 0, 0, '' }
end
local state, time = state_at(s, o)
if ends or (verb == 'forget' and state ~= 'k') then
  return { 1, finish(f, attempt) }
elseif verb == 'confirm' and state == 'l' then
  set_state(f, attempt, 'k', NOW_MS)
  call('HINCRBY', KEY, 'L', -1)
elseif verb == 'renew' and state == 'l' then
  set_state(f, attempt, 'l', NOW_MS + tonumber(ARGV[4]))
elseif verb == 'touch' and state == 'k' and NOW_MS - time > tonumber(ARGV[4]) / 16 then
  set_state(f, attempt, 'k', NOW_MS)
end
return { 0, 0, '' }

-- ==== sweep =====================================================================================

-- One step of clearing away what is over in one hash of table 1: entries whose lease has lapsed or
-- that were not seen for the retention time. The caller releases their claims.
--
-- ARGV: retention (ms), cursor, fields to look at, first byte of this hash
-- Reply: {next cursor, {key, attempt, page id, features of each ended entry in turn}}

local reply = call('HSCAN', KEY, ARGV[2], 'COUNT', ARGV[3])
local ended = {}
for i = 1, #reply[2], 2 do
  local name, s = reply[2][i], reply[2][i + 1]
  local second = byte(name) <= 48 and sub(name, 2, 2) or sub(name, 1, 1) == 'c' and sub(name, 3, 3)
  for o = 0, second and #s - WIDTH or -1, WIDTH do
    local state, time = state_at(s, o)
    if over(state, time, tonumber(ARGV[1])) then
      local f, attempt = ARGV[4] .. second .. sub(s, o + 1, o + 6), sub(s, o + 7, o + 10)
      ended[#ended + 1] = { f, attempt, sub(s, o + 11, o + 18) }
    end
  end
end
local words = {}
for _, each in ipairs(ended) do
  local f, attempt, id = unpack(each)
  local _, features = finish(f, attempt)
  for _, word in ipairs({ f, attempt, id, features }) do words[#words + 1] = word end
end
return { reply[1], words }

-- ==== page ======================================================================================

-- Which entry is a page's? One pointer a page id: key and attempt, 12 bytes.
--
-- KEYS: the page hash
-- ARGV: page id, 'get' | 'swap' | 'clear', name, another name or ''
--       swap: set the pointer to the name
--       clear: if it is the name, set it to the other name, or remove it
-- Reply: the pointer as it was, or ''

local id, verb, name = ARGV[1], ARGV[2], ARGV[3]
local s = bucket(KEYS[1], id)
local o = find(s, 18, id)
local old, new = '', nil
if sub(s, o + 1, o + 6) == sub(id, 3, 8) then old = sub(s, o + 7, o + 18) end
if verb == 'swap' and old ~= name then new = name end
if verb == 'clear' and old == name then new = ARGV[4] end
if new then
  if old ~= '' then remove(KEYS[1], id, old, PAGE_DEPTH) end
  if new ~= '' then insert(KEYS[1], id, new, PAGE_DEPTH) end
end
return old

-- ==== release ===================================================================================

-- Take a claim out of one of the tables 2 to t, or from under a feature. Only for an attempt that
-- can no longer commit, or that need not be found there.
--
-- KEYS: the hash of this list
-- ARGV: key in table order or feature, attempt or name

remove(KEYS[1], ARGV[1], ARGV[2], 0) -- nothing is split by that

-- The script that looks for candidates of a page, or adds it, in one Redis.

-- ==== candidates ================================================================================

-- The page at hand, and the candidates that it is to be compared with.

local RETENTION = tonumber(ARGV[3])
local KEYS_AT = 11 + TAG_BYTES
local FEATURES_AT = KEYS_AT + 8 * TABLES
local ANSWER = 25 -- bytes
local p -- the page at hand
local changes -- what changes entries, made for the first page that does
-- Of each table that was looked into for the page: key in its order, hash, bucket, field, level. One
-- list for all pages of a call, as it would grow in steps for each.
local buckets = {}

local function changing()
  changes = changes or changing_functions()
  return changes
end

local function drop(other)
  p.stale = true
  changing().withdraw(other)
end

-- Take the count of a page back, unless the entry is gone, and its count with it.
local function uncount(other)
  local key = PREFIX .. 'collapsed'
  if call('HEXISTS', key, other) == 1 and call('HINCRBY', key, other, -1) < 1 then
    call('HDEL', key, other)
  end
end

local function read_answers(words, from, to)
  for at = from, to, ANSWER do
    local kind, other = sub(words, at + 24, at + 24), sub(words, at, at + 7)
    local answer = { kind = kind, digest = sub(words, at + 8, at + 23) }
    p.answers = p.answers or {}
    p.answers[other] = answer
    if kind == 'c' then uncount(other) end
    if kind == 'a' then p.repeated = other end
  end
end

local function read(words)
  p = {
    words = words,
    limit = byte(words, 1) - 1,
    id = sub(words, 3, 10),
    tag = sub(words, 11, KEYS_AT - 1),
    key = sub(words, KEYS_AT, KEYS_AT + 7),
    found = {}, -- page id -> candidate, or false once it was compared or is to be
    nearest = 65, -- distance of the nearest other candidate, in bits
    compared = 0, -- candidates that were compared or are to be, besides its own entry
    buckets = buckets,
    looked = 0, -- tables that were looked into
    -- url, features, evidence, answers: where it has such
    -- repeated: page id of the entry that it repeats, if that was answered
    -- old: its own entry of an earlier fetch
    -- questions: candidates that it is to be compared with
    -- crowded: it has more candidates than a page is compared with
    -- unlisted: no table is to list it
    -- lists: of each feature, what `under_feature` found
    -- stale: something was withdrawn since `buckets` and `lists` were read
  }
  local at = FEATURES_AT
  if HAS_BODIES then
    local flags = byte(words, 2)
    local evidence_at = FEATURES_AT + flags % 2 * 8 * FEATURES
    at = evidence_at + floor(flags / 2) * EVIDENCE_BYTES
    p.features, p.evidence = sub(words, FEATURES_AT, evidence_at - 1), sub(words, evidence_at, at - 1)
  end
  local url_at = at + 2 + number(words, at, at + 1)
  if url_at > at + 2 then read_answers(words, at + 2, url_at - 1) end
  if url_at <= #words then p.url = sub(words, url_at) end
end

-- ---- candidates ------------------------------------------------------------------------

-- What is seen of an entry when the page is compared with it. Without evidence if the server has
-- evicted that.
local function seen_of(entry, r)
  local stored = entry.stored
  if HAS_BODIES and not stored then
    local body = body_of(entry.id, r)
    stored = body and evidence_in(body)
  end
  return char(entry.d) .. (stored or '')
end

local function is_answered(other, seen)
  local answer = p.answers and p.answers[other]
  return answer and answer.digest == sub(redis.sha1hex(seen), 1, 16)
end

local function is_of_partition(r) return r.tag == p.tag end

-- Let the page be compared with a candidate, unless it was refused as it is.
local function ask(entry, r)
  entry.seen, entry.r = seen_of(entry, r), r
  if is_answered(entry.id, entry.seen) then return end
  p.questions = p.questions or {}
  p.questions[#p.questions + 1] = entry
end

-- Page ids aren't compared as strings: that depends on the locale of the server.
local function is_nearer(a, b)
  if a.d ~= b.d then return a.d < b.d end
  for _, entry in ipairs({ a, b }) do
    entry.high = entry.high or number(entry.id, 1, 4)
    entry.low = entry.low or number(entry.id, 5, 8)
  end
  if a.high ~= b.high then return a.high < b.high end
  return a.low < b.low
end

local function meet(other, d, r, stored)
  if p.found[other] == nil and other ~= p.id then
    p.found[other] = { id = other, d = d, r = r, stored = stored }
    p.nearest = math.min(p.nearest, d)
  end
end

-- All entries of a key, which is d bits away.
local function meet_key(key, d)
  local s, suffix = bucket(table_hash(1, key), key), sub(key, 3, 8)
  local o = offset_of(s, 6 + ID, suffix)
  while o and sub(s, o + 1, o + 6) == suffix do
    meet(sub(s, o + 7, o + 14), d)
    o = o + 6 + ID
  end
end

-- Ask about the living candidates that are fewer than `below` bits away, nearest first, the one of
-- smallest page id first among equals. A page that repeats one mostly repeats the first; where a few
-- were refused, all of them mostly are, so that the next reply has more.
local function ask_nearest(below)
  if p.nearest >= below or p.crowded then return end
  local most = p.answers and MAX_ASKED_NEXT or MAX_ASKED
  local order = {}
  p.nearest = 65
  for other, entry in pairs(p.found) do
    if entry and entry.d < below then
      p.found[other] = false
      order[#order + 1] = entry
    elseif entry then
      p.nearest = math.min(p.nearest, entry.d)
    end
  end
  if #order > 1 then table.sort(order, is_nearer) end
  for _, entry in ipairs(order) do
    if p.questions and #p.questions == most then return end
    local r = entry.r or record_of(entry.id) -- nil if the server has evicted it
    if r and is_of_partition(r) then
      if not alive(entry.id, r, RETENTION) then
        drop(entry.id)
      elseif p.compared < MAX_COMPARED then
        p.compared = p.compared + 1
        ask(entry, r)
      else -- Exact pages are found by nothing else.
        local is_exact = byte(p.tag, TAG_BYTES) % 2 == 1
        p.crowded, p.unlisted = true, entry.d <= p.limit and not (is_exact and #order < MAX_EQUAL)
        return
      end
    end
  end
end

-- ==== remember ==================================================================================

-- Add the page, and return whether there is room. In a crowd whose nearest members
-- it doesn't repeat, no table lists it, which bounds look-ups by distance: only features lead to it.
local function remember(p)
  local id = p.id
  local last_bucket = p.unlisted and 0 or 5 * p.looked
  local full = false
  for n = 1, last_bucket, 5 do
    full = full or #p.buckets[n + 2] >= CAP * (n == 1 and 6 + ID or 6)
  end
  local place = not full and add_body(id, p.features, p.evidence, not p.unlisted)
  if not place then
    call('HINCRBY', PREFIX .. 'counters', 'overflowed', 1)
    return false
  end
  if p.old then
    p.stale = true
    withdraw(id)
  end
  for n = 1, last_bucket, 5 do
    local payload = listed(n, id)
    local f, key, s, name, level = unpack(p.buckets, n, n + 4)
    if p.stale then
      insert(key, f, payload, DEPTH)
    else
      local width = 6 + #payload
      store(key, name, level, f, width, DEPTH, joined(s, find(s, width, f), f, payload))
    end
  end
  local written_to = {} -- two of a page's features may share a bucket
  for _, list in ipairs(p.lists or {}) do
    local f, count, o, s, key, name, level = unpack(list)
    f = sub(f, 1, 4) .. place
    if count < MAX_UNDER_FEATURE then
      if p.stale or written_to[key .. name] then
        insert(key, f, '', FEATURE_DEPTH)
      else
        if count > 0 then o = find(s, 6, f) end
        store(key, name, level, f, 6, FEATURE_DEPTH, joined(s, o, f, ''))
        written_to[key .. name] = true
      end
    end
  end
  local written = payload_of({ key = p.key, tag = p.tag, seen = u(now(), 4), place = place })
  insert(hash('page', id), id, written, PAGE_DEPTH)
  call('ZADD', PENDING, now_ms() + tonumber(ARGV[2]), id)
  if p.url then
    if not has_urls then
      has_urls = true
      call('HSET', PREFIX .. 'schema', 'urls', 1)
    end
    call('HSET', hash('url', id), id, p.url)
  end
  return true
end

-- ==== probe_and_add =============================================================================

-- Look for entries that a page may repeat and that its crawler hasn't refused; add the page if there
-- are none. The contract of stores/base.py, in one step a page, page by page.
--
-- ARGV: prefix, lease (ms), retention (s, 0: none), pages. A page is one string:
--   limit + 1 (limit in bits; 0: no entry is near enough), 1 byte
--   2 if it has evidence, + 1 if it has features, 1 byte
--   page id 8, tag 8, the key in the order of each table, 8 each
--   features, 8 each, and evidence
--   length of the answers 2, and the answers: page id 8, digest 16 of what was seen of the entry, and
--     'r' it was refused, 'c' refused although the page had been counted for it, 'a' it is repeated
--   URL or ''
-- Reply: a string for each page, its kind the first byte:
--   'n' new, 'c' changed, 'o' overflow
--   'd' the page repeats the entry of answer 'a': pages dropped for it 4, URL
--   'g' that entry is gone, or changed
--   'q' the page is to be compared with candidates, nearest first: 1 if nothing is left to do where it
--       repeats the first one, pages dropped for that one 4, length of its URL 4, URL, candidates
--       A candidate is its page id 8, and with its length 2 what is seen of it: distance 1, evidence.
-- What follows from repeating the first one is done at once where that is its count alone; most
-- duplicates repeat it and cost one call.

local read_numbers = struct.unpack

-- ---- looking ---------------------------------------------------------------------------

-- 1. The page's own entry of an earlier fetch, if it is a candidate.
local function look_at_own()
  local id = p.id
  local old = record_of(id)
  if not old then return end
  if not alive(id, old, RETENTION) then return drop(id) end
  p.old = old
  if not is_of_partition(old) then return end
  local d = distance(old.key, p.key)
  local body = HAS_BODIES and body_of(id, old)
  if d <= p.limit or (body and shared_by(p.features, features_in(body)) >= SHARED_FEATURES) then
    ask({ id = id, d = d, stored = body and evidence_in(body) }, old)
  end
end

local earlier -- EARLIER, made for the first page that needs it

-- Whether an entry of table i shares its prefix in an earlier table with the page: it was met there.
local function was_met(i, f, s, o)
  local high, low = read_numbers('>I3I3', f, 3)
  local its_high, its_low = read_numbers('>I3I3', s, o + 1)
  high, low = bxor(high, its_high), bxor(low, its_low)
  earlier = earlier or EARLIER
  local masks = earlier[i]
  for n = 1, #masks, 2 do
    if band(high, masks[n]) == 0 and band(low, masks[n + 1]) == 0 then return true end
  end
  return false
end

-- Meet what is near in a bucket of table i, under a prefix that differs from the page's in some bits.
local function look_in(i, f, bits, s)
  local near = bits <= p.limit and probe(s, i == 1 and 6 + ID or 6, f, p.limit - bits)
  for m = 1, near and #near or 0, 2 do
    local o, d = near[m], near[m + 1] + bits
    if i == 1 then
      meet(sub(s, o + 7, o + 14), d)
    elseif not was_met(i, f, s, o) then
      meet_key(original(i, sub(f, 1, 2) .. sub(s, o + 1, o + 6)), d)
    end
  end
end

-- 2. The entries near it, table by table. Nothing is farther on that is nearer than what the tables so
-- far may have missed: a duplicate of what they found costs no other. Once something was refused,
-- everything is looked for before the next reply.
local function look_in_tables()
  for i = 1, tables_of(p.tag) do
    local at = KEYS_AT + 8 * i
    local f = sub(p.words, at - 8, at - 1)
    local key = table_hash(i, f)
    local s, name, level = bucket(key, f)
    local n = 5 * i - 4
    buckets[n], buckets[n + 1], buckets[n + 2], buckets[n + 3], buckets[n + 4] = f, key, s, name, level
    p.looked = i
    look_in(i, f, 0, s)
    local radius = RADIUS[i] > p.limit and p.limit or RADIUS[i]
    for first = 1, radius > 0 and WITHIN[radius] or 0 do
      local mask = byte(FLIPS, first)
      local bits = byte(POPCOUNT, mask + 1)
      local g = char(bxor(byte(f), mask)) .. sub(f, 2)
      each_within(table_hash(i, g), g, radius - bits, function(h, more, other)
        if bits + more > 0 then look_in(i, h, bits + more, other) end
      end)
    end
    ask_nearest(UNSEEN[i])
    if p.questions and not p.answers then return end
  end
end

-- 3. Then the entries that share features with it: one that is within the limit, too, is listed in the
-- tables, but for those of a crowd.
local function look_under_features()
  local features, sharing, lists = p.features, {}, {}
  p.lists = lists
  for i = 1, #features, 8 do
    local f = sub(features, i, i + 7)
    local s, o, count, key, name, level = under_feature(f)
    lists[#lists + 1] = { f, count, o, s, key, name, level }
    for at = o + 3, o + 6 * count, 6 do
      local place = sub(s, at, at + 3)
      sharing[place] = (sharing[place] or 0) + 1
      local body = sharing[place] == SHARED_FEATURES and body_at(place)
      local other = body and sub(body, 1, ID)
      local r = body and p.found[other] == nil and record_of(other)
      if r and r.place == place and shared_by(features, features_in(body)) >= SHARED_FEATURES then
        meet(other, distance(r.key, p.key), r, evidence_in(body))
      end
    end
  end
end

-- ---- replies ---------------------------------------------------------------------------

local function is_to_touch(r)
  return RETENTION > 0 and now() - number(r.seen, 1, 4) > RETENTION / 16
end

local function counted(other)
  local count = call('HINCRBY', PREFIX .. 'collapsed', other, 1)
  return count, has_urls and call('HGET', hash('url', other), other) or ''
end

local function asked()
  local first = p.questions[1]
  local count, url, is_settled = 0, '', not is_to_touch(first.r)
  if first.id ~= p.id then
    is_settled = is_settled and not p.old
    if is_settled then count, url = counted(first.id) end
  end
  local reply = struct.pack('>c1BI4I4', 'q', is_settled and 1 or 0, count, #url) .. url
  for _, entry in ipairs(p.questions) do
    reply = reply .. struct.pack('>c8I2', entry.id, #entry.seen) .. entry.seen
  end
  return reply
end

-- Count the page for the entry that it repeats; nil if that is no longer what it was compared with.
local function repeated(other)
  local r = record_of(other)
  local entry = r and { id = other, d = distance(r.key, p.key) }
  if not (entry and alive(other, r, RETENTION) and is_of_partition(r)
    and is_answered(other, seen_of(entry, r))) then
    return
  end
  if is_to_touch(r) then
    r.seen = struct.pack('>I4', now())
    changing().rewrite(other, r)
  end
  if other == p.id then return 'd' .. struct.pack('>I4', 0) end
  local count, url = counted(other)
  if record_of(p.id) then drop(p.id) end
  return 'd' .. struct.pack('>I4', count) .. url
end

return (replies_to(function(words)
  read(words)
  if p.repeated then return repeated(p.repeated) or 'g' end
  look_at_own()
  if p.questions then return asked() end
  look_in_tables()
  if p.questions and not p.answers then return asked() end
  if HAS_BODIES then look_under_features() end
  ask_nearest(65)
  if p.questions then return asked() end
  if not changing().remember(p) then return 'o' end
  return p.old and 'c' or 'n'
end))

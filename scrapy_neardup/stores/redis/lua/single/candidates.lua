-- The page at hand, and the candidates that it is to be compared with: for probe_and_add.lua.

local RETENTION = tonumber(ARGV[3])
local KEYS_AT = 11 + TAG_BYTES
local FEATURES_AT = KEYS_AT + 8 * TABLES
local ANSWER = 25 -- bytes
local p -- the page at hand
local changes -- what changes entries, made for the first page that does (remember.lua)
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
    at = evidence_at + evidence_size(floor(flags / 2))
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
    local body, v = body_of(entry.id, r)
    stored = body and evidence_in(body, v)
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

-- Judge a page and remember it if it is new: the rule of stores/base.py, in one step.
--
-- ARGV: prefix, limit (bits; -1: none is near enough), page id, digests (tag 2, title 2,
--       content 2), URL or '', lease (ms), retention (s, 0: none),
--       what is stored of it to be compared, and what is at hand for that (evidence.py), '' if
--       nothing has to be confirmed; its features, one after the other; the key in the order of
--       each table
-- Reply: {'new' | 'changed', witness} | {'overflow'}
--        | {'seen', distance, rule, [bins that differ, bins that count] of texts, of cores}
--        | {'duplicate', witness, distance, page id, URL, pages dropped for it, rule, [as above]}
--        Nothing was counted of short pages, and where nothing has to be confirmed.

local limit, id, digests, url = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local lease, retention = tonumber(ARGV[6]), tonumber(ARGV[7])
local evidence, weighing = ARGV[8], ARGV[9]
local features, LAST = ARGV[10], 10 -- the key follows, in the order of each table
local KEY = ARGV[LAST + 1]
local page -- the comparison, made for the first candidate
local tables = tables_of(digests)
local is_exact = byte(digests, 2) % 2 == 1
local NONE = {}

-- Of the page's kind and scope, and by its digests no other page.
local function fits(r)
  local other = r.digests
  return sub(digests, 1, 2) == sub(other, 1, 2)
    and (sub(digests, 3, 4) == sub(other, 3, 4) or sub(digests, 5, 6) == sub(other, 5, 6))
end

-- What is stored of an entry to be compared; '' where there is none, or the server has evicted it.
local function evidence_of(other, r)
  if not HAS_BODIES then return '' end
  local body, v = body_of(other, r)
  return body and evidence_in(body, v) or ''
end

-- The rule by which the page repeats an entry, and what was counted; nil if it doesn't.
local function judged(stored, d, r)
  if weighing == '' then return { RULE.WITHIN_K } end
  page = page or comparison(evidence, weighing)
  local found = { decide(page, stored, d, sub(digests, 5, 6) == sub(r.digests, 5, 6)) }
  return found[1] and found or nil
end

-- Seen again: keep it from expiring, but write no more often than that needs.
local function touch(other, r)
  if retention == 0 or now() - number(r.seen, 1, 4) <= retention / 16 then return end
  r.seen = u(now(), 4)
  rewrite(other, r)
end

local stale = false -- buckets read before something was withdrawn are
local function drop(other)
  stale = true
  withdraw(other)
end

-- Entries that the page may repeat, by page id; false once they were judged. `near` has the
-- keys that lead to more of them: key -> distance, or false.
local found, near = {}, {}
local contradicted, comparisons = 0, 0
-- More candidates than a page is compared with: it is new. And whether tables are to list it.
local crowded, listed = false, true

-- Page ids aren't compared as strings: that depends on the locale of the server.
local function entry_of(other, d, r, stored)
  return {
    id = other, high = number(other, 1, 4), low = number(other, 5, 8), d = d, r = r, stored = stored,
  }
end

local function is_nearer(a, b)
  if a.d ~= b.d then return a.d < b.d end
  if a.high ~= b.high then return a.high < b.high end
  return a.low < b.low
end

local function meet(other, d, r, stored)
  if found[other] == nil then found[other] = entry_of(other, d, r, stored) end
end

-- What is stored of the page nearest of those at the page's path, or of the nearest candidate.
local witness, candidate = nil, ''

-- The nearest living entry that the page repeats and that is fewer than `below` bits away,
-- smallest page id among equals; its record; the rule and what was counted; or nil.
local function nearest(below)
  for key, d in pairs(near) do
    if d and d < below then
      near[key] = false
      local s = bucket(hash('t1', key), key)
      local o = find(s, 6 + ID, key)
      while o < #s and sub(s, o + 1, o + 6) == sub(key, 3, 8) do
        meet(sub(s, o + 7, o + 14), d)
        o = o + 6 + ID
      end
    end
  end
  local order = {}
  for other, entry in pairs(found) do
    if entry and entry.d < below then
      found[other] = false
      order[#order + 1] = entry
    end
  end
  table.sort(order, is_nearer)
  for _, entry in ipairs(order) do
    local r = entry.r or record_of(entry.id)
    if not r or not fits(r) then -- no record: the server has evicted it
      if entry.d <= limit then contradicted = contradicted + 1 end
      if contradicted == MOST_CONTRADICTED then break end
    elseif not alive(entry.id, r, retention) then
      drop(entry.id)
    elseif comparisons == MOST_COMPARED then
      -- Exact pages are found by nothing else.
      crowded, listed = true, entry.d > limit or (is_exact and #order < MOST_CONTRADICTED)
      break
    else
      comparisons = comparisons + 1
      local stored = entry.stored or evidence_of(entry.id, r)
      if comparisons == 1 then candidate = stored end
      local why = judged(stored, entry.d, r)
      if why then return entry, r, why end
    end
  end
end

-- 1. The same page again?
local old, page_key, page_bucket, page_field, page_level, page_place = record_of(id)
local old_key = old and key_of(id, old)
if old and not (old_key and alive(id, old, retention)) then
  drop(id)
  old = nil
end
local d = old and distance(old_key, KEY)
if old and fits(old) then
  local body, v
  if HAS_BODIES then body, v = body_of(id, old) end
  local like = d <= limit
    or (body and shared_by(features, features_in(body, v)) >= SHARED_FEATURES)
  local why = like and judged(body and evidence_in(body, v) or '', d, old)
  if why then
    touch(id, old)
    return { 'seen', d, unpack(why) }
  end
end
found[id] = false

-- 2. A page like it? First what is near it, in one table after the other: none that shares
-- features is nearer than the nearest of these, or it would be one of them.
local buckets = {}
local match, matched, why
local function is_judged() return match or crowded or contradicted == MOST_CONTRADICTED end
for i = 1, tables do
  local f = ARGV[LAST + i]
  local key = hash('t' .. i, f)
  local s, name, level = bucket(key, f)
  local offsets, place = probe(s, i == 1 and 6 + ID or 6, f, RANGES[i], limit)
  buckets[i] = { key, s, name, level, place }
  for _, o in ipairs(offsets or NONE) do
    local other = original(i, sub(f, 1, 2) .. sub(s, o + 1, o + 6))
    if near[other] == nil then near[other] = distance(other, KEY) end
  end
  match, matched, why = nearest(UNSEEN[i]) -- the tables left hold nothing that is nearer
  if is_judged() then break end
end
-- Then what shares features with it. The last one is its path, if anything has to be confirmed:
-- what is there is looked at in any case.
local PATH = BINS > 0 and features ~= '' and #features - 7 or #features + 1
local lists, sharing = {}, {}
for i = match and PATH or 1, #features, 8 do
  local f = sub(features, i, i + 7)
  local s, o, count, key, name, level = under_feature(f)
  lists[#lists + 1] = { f, count, o, s, key, name, level }
  for at = o + 3, o + 6 * count, 6 do
    local place = sub(s, at, at + 3)
    sharing[place] = (sharing[place] or 0) + 1
    local body, v
    if sharing[place] == SHARED_FEATURES or i == PATH then body, v = body_at(place) end
    local other = body and sub(body, 1, ID)
    local r = body and record_of(other)
    if r and r.place == place then
      local theirs, d = features_in(body, v), distance(r.start, KEY)
      local stored = evidence_in(body, v)
      if shared_by(features, theirs) >= SHARED_FEATURES then meet(other, d, r, stored) end
      if i == PATH and sub(theirs, PATH) == f and sub(r.digests, 1, 2) == sub(digests, 1, 2)
        and other ~= id and alive(other, r, retention) then
        local at_path = entry_of(other, d, r, stored)
        if not witness or is_nearer(at_path, witness) then witness = at_path end
      end
    end
  end
end
if not is_judged() then match, matched, why = nearest(65) end
witness = witness and witness.stored or candidate
if match then
  local count = call('HINCRBY', PREFIX .. 'collapsed', match.id, 1)
  touch(match.id, matched)
  if old then withdraw(id) end
  local shown = call('HGET', hash('url', match.id), match.id)
  return { 'duplicate', witness, match.d, match.id, shown or '', count, unpack(why) }
end

-- 3. New: remember it. In a crowd whose nearest members all say no it would be no help to any
-- page, and without it a look-up by distance stays bounded: features alone lead to it.
local tables_of_it = listed and #buckets or 0
local full = contradicted == MOST_CONTRADICTED
for i = 1, tables_of_it do full = full or #buckets[i][2] >= CAP * (i == 1 and 6 + ID or 6) end
local place = not full and add_body(id, features, evidence, listed)
if not place then
  call('HINCRBY', PREFIX .. 'counters', 'overflowed', 1)
  return { 'overflow' }
end
if old then drop(id) end
local written = record(KEY, digests, place)
for i = 1, tables_of_it do
  local f, payload = ARGV[LAST + i], i == 1 and id or ''
  local key, s, name, level, at = unpack(buckets[i])
  if stale then
    insert(key, f, payload, DEPTH)
  else
    store(key, name, level, f, 6 + #payload, DEPTH, joined(s, at, f, payload))
  end
end
local written_to = {} -- two of a page's features may share a bucket
for _, list in ipairs(lists) do
  local f, count, o, s, key, name, level = unpack(list)
  f = start_of(f) .. place
  if count < MOST_UNDER_FEATURE then
    if stale or written_to[key .. name] then
      insert(key, f, '', FEATURE_DEPTH)
    else
      if count > 0 then o = find(s, 6, f) end
      store(key, name, level, f, 6, FEATURE_DEPTH, joined(s, o, f, ''))
      written_to[key .. name] = true
    end
  end
end
if stale then
  insert(page_key, id, written, PAGE_DEPTH)
else
  store(page_key, page_field, page_level, id, 6 + RECORD, PAGE_DEPTH,
    joined(page_bucket, page_place, id, written))
end
call('ZADD', PREFIX .. 'pending', now_ms() + lease, id)
if url ~= '' then call('HSET', hash('url', id), id, url) end
return { old and 'changed' or 'new', witness }

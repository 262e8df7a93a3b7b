-- Judge a page and remember it if it is new: the rule of stores/base.py, in one step.
--
-- ARGV: prefix, limit (bits; -1: none is near enough), page id, evidence (tag 2, title 2,
--       content 2), URL or '', lease (ms), retention (s, 0: none),
--       of its sketch: the share of bins that may differ or '', what is stored of it, its
--       furniture or '', bins of furniture of each view (sketches.lua), then
--       its features, one after the other, then the key in the order of each table
-- Reply: {'new'} | {'changed'} | {'overflow'}
--        | {'seen', distance, [bins that differ, bins that count] of each view}
--        | {'duplicate', distance, page id, URL, pages dropped for it, [as above]}

local limit, id, evidence, url = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local lease, retention = tonumber(ARGV[6]), tonumber(ARGV[7])
local page = HAS_BODIES and sketch_of(ARGV[8], ARGV[9], ARGV[10], ARGV[11])
local features, LAST = ARGV[12], 12 -- the key follows, in the order of each table
local KEY = ARGV[LAST + 1]
local tables = tables_of(evidence)
local NONE = {}

local function another_title(r)
  local ours, theirs = sub(evidence, 3, 4), sub(r.evidence, 3, 4)
  return ours ~= theirs and ours ~= '\0\0' and theirs ~= '\0\0'
end

-- Whether page and entry both have sketches.
local function comparable(r)
  if not page then return false end
  local _, v = place_at(r.place)
  return v > 0
end

-- Of the page's kind and scope, and by its evidence no other page. Where it has another title,
-- there are sketches to compare, or its key, `d` bits away, is equal.
local function fits(r, d)
  local other = r.evidence
  return sub(evidence, 1, 2) == sub(other, 1, 2)
    and (sub(evidence, 3, 4) == sub(other, 3, 4) or sub(evidence, 5, 6) == sub(other, 5, 6))
    and (d == 0 or not another_title(r) or comparable(r))
end

-- What the sketches of page and entry come to; nothing where one has none, nil if they differ
-- or the server has evicted the entry's.
local function compared(other, r, body)
  if not comparable(r) then return NONE end
  body = body or body_of(other, r)
  return body and confirmed(page, sketch_in(body), another_title(r))
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

local function meet(other, d, r, body)
  if found[other] ~= nil then return end
  -- Page ids aren't compared as strings: that depends on the locale of the server.
  found[other] = {
    id = other, high = number(other, 1, 4), low = number(other, 5, 8), d = d, r = r, body = body,
  }
end

-- The nearest living entry that the page repeats and that is fewer than `below` bits away,
-- smallest page id among equals; its record; what the sketches came to; or nil.
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
  table.sort(order, function(a, b)
    if a.d ~= b.d then return a.d < b.d end
    if a.high ~= b.high then return a.high < b.high end
    return a.low < b.low
  end)
  for _, entry in ipairs(order) do
    local r = entry.r or record_of(entry.id)
    if not r or not fits(r, entry.d) then -- no record: the server has evicted it
      if entry.d <= limit then contradicted = contradicted + 1 end
      if contradicted == MOST_CONTRADICTED then break end
    elseif not alive(entry.id, r, retention) then
      drop(entry.id)
    elseif comparisons == MOST_COMPARED then
      crowded, listed = true, entry.d > limit
      break
    else
      comparisons = comparisons + 1
      local counts = compared(entry.id, r, entry.body)
      if counts then return entry, r, counts end
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
if old and fits(old, d) then
  local body = HAS_BODIES and body_of(id, old)
  local like = d <= limit or (body and shared_by(features, features_in(body)) >= SHARED_FEATURES)
  local counts = like and compared(id, old, body)
  if counts then
    touch(id, old)
    return { 'seen', d, unpack(counts) }
  end
end
found[id] = false

-- 2. A page like it? First what is near it, in one table after the other: none that shares
-- features is nearer than the nearest of these, or it would be one of them.
local buckets = {}
local match, matched, counts
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
  match, matched, counts = nearest(UNSEEN[i]) -- the tables left hold nothing that is nearer
  if is_judged() then break end
end
-- Then what shares features with it.
local lists, sharing = {}, {}
for i = 1, match and 0 or #features, 8 do
  local f = sub(features, i, i + 7)
  local s, o, count, key, name, level = under_feature(f)
  lists[#lists + 1] = { f, count, o, s, key, name, level }
  for at = o + 3, o + 6 * count, 6 do
    local place = sub(s, at, at + 3)
    sharing[place] = (sharing[place] or 0) + 1
    local body = sharing[place] == SHARED_FEATURES and body_at(place)
    if body and shared_by(features, features_in(body)) >= SHARED_FEATURES then
      local other = sub(body, 1, ID)
      local r = record_of(other)
      if r and r.place == place then meet(other, distance(r.start, KEY), r, body) end
    end
  end
end
if not is_judged() then match, matched, counts = nearest(65) end
if match then
  local count = call('HINCRBY', PREFIX .. 'collapsed', match.id, 1)
  touch(match.id, matched)
  if old then withdraw(id) end
  local shown = call('HGET', hash('url', match.id), match.id)
  return { 'duplicate', match.d, match.id, shown or '', count, unpack(counts) }
end

-- 3. New: remember it. In a crowd whose nearest members all say no it would be no help to any
-- page, and without it a look-up by distance stays bounded: features alone lead to it.
local tables_of_it = listed and #buckets or 0
local full = contradicted == MOST_CONTRADICTED
for i = 1, tables_of_it do full = full or #buckets[i][2] >= CAP * (i == 1 and 6 + ID or 6) end
local place = not full and add_body(id, features, ARGV[9], listed)
if not place then
  call('HINCRBY', PREFIX .. 'counters', 'overflowed', 1)
  return { 'overflow' }
end
if old then drop(id) end
local written = record(KEY, evidence, place)
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
return { old and 'changed' or 'new' }

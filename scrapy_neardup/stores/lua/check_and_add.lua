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
local features, LAST = ARGV[12], 12
local KEY = ARGV[LAST + 1]
local tables = tables_of(evidence)
local NONE = {}

-- Of the page's kind and scope, and no other page by its title and content.
local function fits(other)
  return sub(evidence, 1, 2) == sub(other, 1, 2)
    and (sub(evidence, 3, 4) == sub(other, 3, 4) or sub(evidence, 5, 6) == sub(other, 5, 6))
end

-- What the sketches of page and entry come to; nothing where one has none, nil if they differ.
local function compared(other, r)
  if not page then return NONE end
  local _, sketch = body_of(other, r)
  if not sketch or sketch == '' then return NONE end
  return confirmed(page, sketch)
end

-- Seen again: keep it from expiring, but write no more often than that needs.
local function touch(other, r)
  if retention == 0 or now() - number(r.seen, 1, 4) <= retention / 16 then return end
  r.seen = u(now(), 4)
  rewrite(other, r)
end

-- Entries by page id: distance, or false once they were judged. `near` has the keys that lead
-- to more of them.
local found, near = {}, {}
local contradicted, comparisons = 0, 0
-- More candidates than a page is compared with: it is new. And whether tables are to list it.
local crowded, listed = false, true

-- The nearest living entry that the page repeats and that is fewer than `below` bits away,
-- smallest page id among equals; its record; what the sketches came to; or nil.
local function nearest(below)
  for key, d in pairs(near) do
    if d and d < below then
      near[key] = false
      local s = bucket(hash('t1', key), key)
      local o = find(s, 6 + ID, key)
      while o < #s and sub(s, o + 1, o + 6) == sub(key, 3, 8) do
        local other = sub(s, o + 7, o + 14)
        if found[other] == nil then found[other] = d end
        o = o + 6 + ID
      end
    end
  end
  local order = {}
  for other, d in pairs(found) do
    if d and d < below then
      found[other] = false
      -- Not compared as strings: that depends on the locale of the server.
      order[#order + 1] = { d = d, id = other, high = number(other, 1, 4), low = number(other, 5, 8) }
    end
  end
  table.sort(order, function(a, b)
    if a.d ~= b.d then return a.d < b.d end
    if a.high ~= b.high then return a.high < b.high end
    return a.low < b.low
  end)
  for _, entry in ipairs(order) do
    local r = record_of(entry.id)
    if not r or not fits(r.evidence) then -- no record: the server has evicted it
      if entry.d <= limit then contradicted = contradicted + 1 end
      if contradicted == MOST_CONTRADICTED then break end
    elseif not alive(entry.id, r, retention) then
      withdraw(entry.id)
    elseif comparisons == MOST_COMPARED then
      crowded, listed = true, entry.d > limit
      return
    else
      comparisons = comparisons + 1
      local counts = compared(entry.id, r)
      if counts then return entry, r, counts end
    end
  end
end

-- 1. The same page again?
local old, page_key, page_bucket, page_field, page_level, page_place = record_of(id)
local moved = old ~= nil -- something was withdrawn: buckets read before that are stale
local old_key = old and key_of(id, old)
if old and not (old_key and alive(id, old, retention)) then
  withdraw(id)
  old = nil
end
if old and fits(old.evidence) then
  local d = distance(old_key, KEY)
  local like = d <= limit or (features ~= '' and shared_by(features, body_of(id, old) or '') >= SHARED_FEATURES)
  local counts = like and compared(id, old)
  if counts then
    touch(id, old)
    return { 'seen', d, unpack(counts) }
  end
end
if old then found[id] = false end

-- 2. A page like it?
local buckets, lists = {}, {}
local match, matched, counts
local sharing = {}
for i = 1, #features / 8 do
  local f = sub(features, 8 * i - 7, 8 * i)
  lists[i] = { under_feature(i, f) }
  local s, o, count = unpack(lists[i])
  for at = o, o + (count - 1) * (6 + ID), 6 + ID do
    local other = sub(s, at + 7, at + 14)
    sharing[other] = (sharing[other] or 0) + 1
    if sharing[other] == SHARED_FEATURES and found[other] == nil then
      local r = record_of(other)
      if r then found[other] = distance(r.start, KEY) end
    end
  end
end
for i = 1, tables do
  if match or crowded or contradicted >= MOST_CONTRADICTED then break end
  local f = ARGV[LAST + i]
  local key = hash('t' .. i, f)
  local s, name, level = bucket(key, f)
  local offsets, place = probe(s, i == 1 and 6 + ID or 6, f, RANGES[i], limit)
  buckets[i] = { key, s, name, level, place }
  for _, o in ipairs(offsets or NONE) do
    local other = original(i, sub(f, 1, 2) .. sub(s, o + 1, o + 6))
    if near[other] == nil then near[other] = distance(other, KEY) end
  end
  if next(near) or next(found) then
    moved = true
    match, matched, counts = nearest(UNSEEN[i]) -- the tables left hold nothing that is nearer
  end
end
if not (match or crowded or contradicted >= MOST_CONTRADICTED) and next(found) then
  moved = true
  match, matched, counts = nearest(65)
end
if match then
  local count = call('HINCRBY', PREFIX .. 'collapsed', match.id, 1)
  touch(match.id, matched)
  if old then withdraw(id) end
  local shown = call('HGET', hash('url', match.id), match.id)
  return { 'duplicate', match.d, match.id, shown or '', count, unpack(counts) }
end

-- 3. New: remember it. In a crowd whose nearest members all say no it would be no help to any
-- page, and without it a look-up by distance stays bounded: features alone lead to it.
local full = contradicted >= MOST_CONTRADICTED
for i = 1, listed and #buckets or 0 do full = full or #buckets[i][2] >= CAP * (i == 1 and 6 + ID or 6) end
if full then
  call('HINCRBY', PREFIX .. 'counters', 'overflowed', 1)
  return { 'overflow' }
end
if old then withdraw(id) end
local written = record(KEY, evidence, add_body(id, features, ARGV[9], listed))
for i = 1, listed and tables or 0 do
  local f, payload = ARGV[LAST + i], i == 1 and id or ''
  if moved then
    insert(hash('t' .. i, f), f, payload, DEPTH)
  else
    local key, s, name, level, place = unpack(buckets[i])
    store(key, name, level, f, 6 + #payload, DEPTH, joined(s, place, f, payload))
  end
end
for i = 1, #lists do
  local f = sub(features, 8 * i - 7, 8 * i)
  if moved then
    add_feature(f, id, under_feature(i, f))
  else
    add_feature(f, id, unpack(lists[i]))
  end
end
if moved then
  insert(page_key, id, written, PAGE_DEPTH)
else
  store(page_key, page_field, page_level, id, 6 + RECORD, PAGE_DEPTH,
    joined(page_bucket, page_place, id, written))
end
call('ZADD', PREFIX .. 'pending', now_ms() + lease, id)
if url ~= '' then call('HSET', hash('url', id), id, url) end
return { old and 'changed' or 'new' }

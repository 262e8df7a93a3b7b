-- Judge a page and remember it if it is new: the rule of stores/base.py, in one step.
--
-- ARGV: prefix, limit (bits), page id, evidence (tag 2, title 2, content 2), URL or '',
--       lease (ms), retention (s, 0: none), then the key in the order of each table
-- Reply: {'new'} | {'changed'} | {'overflow'} | {'seen', distance}
--        | {'duplicate', distance, page id, URL}

local limit, id, evidence, url = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local lease, retention = tonumber(ARGV[6]), tonumber(ARGV[7])
local KEY = ARGV[8]

local function contradicts(other)
  return sub(evidence, 3, 4) ~= sub(other, 3, 4) and sub(evidence, 5, 6) ~= sub(other, 5, 6)
end

local function alike(r, d)
  return d <= limit and sub(evidence, 1, 2) == sub(r.evidence, 1, 2) and not contradicts(r.evidence)
end

-- Seen again: keep it from expiring, but write no more often than that needs.
local function touch(page, r)
  if retention == 0 or now() - number(r.seen, 1, 4) <= retention / 16 then return end
  remove(hash('page', page), page, payload_of(r), PAGE_DEPTH)
  r.seen = u(now(), 4)
  insert(hash('page', page), page, payload_of(r), PAGE_DEPTH)
end

-- Near the page: key -> distance, or false once it was judged.
local near, contradicted = {}, 0

-- The nearest living entry that is like the page and fewer than `below` bits away, smallest
-- page id among equals, and its record; or nil.
local function nearest(below)
  local order = {}
  for key, d in pairs(near) do
    if d and d < below then
      near[key] = false
      local s = bucket(hash('t1', key), key)
      local o = find(s, 6 + ID, key)
      while o < #s and sub(s, o + 1, o + 6) == sub(key, 3, 8) do
        -- Not compared as strings: that depends on the locale of the server.
        order[#order + 1] = {
          d = d, id = sub(s, o + 7, o + 14), high = number(s, o + 7, o + 10), low = number(s, o + 11, o + 14),
        }
        o = o + 6 + ID
      end
    end
  end
  table.sort(order, function(a, b)
    if a.d ~= b.d then return a.d < b.d end
    if a.high ~= b.high then return a.high < b.high end
    return a.low < b.low
  end)
  for _, entry in ipairs(order) do
    local r = record_of(entry.id)
    if not r or not alike(r, entry.d) then -- no record: the server has evicted it
      contradicted = contradicted + 1
      if contradicted == MOST_CONTRADICTED then break end
    elseif alive(entry.id, r, retention) then
      return entry, r
    else
      withdraw(entry.id, r)
    end
  end
end

-- 1. The same page again?
local old, page_key, page_bucket, page_field, page_level, page_place = record_of(id)
local moved = old ~= nil -- something was withdrawn: buckets read before that are stale
local old_key = old and key_of(id, old)
if old and not (old_key and alive(id, old, retention)) then
  withdraw(id, old)
  old = nil
end
if old then
  local d = distance(old_key, KEY)
  if alike(old, d) then
    touch(id, old)
    return { 'seen', d }
  end
end

-- 2. A page like it?
local buckets, match, matched = {}, nil, nil
local NONE = {}
for i = 1, TABLES do
  local f = ARGV[7 + i]
  local key = hash('t' .. i, f)
  local s, name, level = bucket(key, f)
  local offsets, place = probe(s, i == 1 and 6 + ID or 6, f, RANGES[i], limit)
  buckets[i] = { key, s, name, level, place }
  for _, o in ipairs(offsets or NONE) do
    local other = original(i, sub(f, 1, 2) .. sub(s, o + 1, o + 6))
    if near[other] == nil then near[other] = distance(other, KEY) end
  end
  if next(near) then
    moved = true
    match, matched = nearest(UNSEEN[i]) -- the tables left hold nothing that is nearer
    if match or contradicted >= MOST_CONTRADICTED then break end
  end
end
if match then
  call('HINCRBY', PREFIX .. 'collapsed', match.id, 1)
  touch(match.id, matched)
  if old then withdraw(id, old) end
  local shown = call('HGET', hash('url', match.id), match.id)
  return { 'duplicate', match.d, match.id, shown or '' }
end

-- 3. New: remember it.
local full = contradicted >= MOST_CONTRADICTED
for i = 1, #buckets do full = full or #buckets[i][2] >= CAP * (i == 1 and 6 + ID or 6) end
if full then
  call('HINCRBY', PREFIX .. 'counters', 'overflowed', 1)
  return { 'overflow' }
end
local written = record(KEY, evidence)
if old then withdraw(id, old) end
for i = 1, TABLES do
  local f, payload = ARGV[7 + i], i == 1 and id or ''
  local key, s, name, level, place = unpack(buckets[i])
  if moved then
    insert(key, f, payload, DEPTH)
  else
    store(key, name, level, f, 6 + #payload, DEPTH, joined(s, place, f, payload))
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

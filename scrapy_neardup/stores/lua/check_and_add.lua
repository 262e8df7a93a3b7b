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

-- The nearest living entry of `keys` that is like the page, smallest page id among equals;
-- or nil, its record or nil, and how many were near that are another page's.
local function nearest(keys)
  local order = {}
  for key in pairs(keys) do
    local s, d = bucket(hash('t1', key), key), distance(key, KEY)
    local o = find(s, 6 + ID, key)
    while o < #s and sub(s, o + 1, o + 6) == sub(key, 3, 8) do
      -- Not compared as strings: that depends on the locale of the server.
      order[#order + 1] = {
        d = d, id = sub(s, o + 7, o + 14), high = number(s, o + 7, o + 10), low = number(s, o + 11, o + 14),
      }
      o = o + 6 + ID
    end
  end
  table.sort(order, function(a, b)
    if a.d ~= b.d then return a.d < b.d end
    if a.high ~= b.high then return a.high < b.high end
    return a.low < b.low
  end)
  local contradicted = 0
  for _, entry in ipairs(order) do
    local r = record_of(entry.id)
    if not r or not alike(r, entry.d) then -- no record: the server has evicted it
      contradicted = contradicted + 1
      if contradicted == MOST_CONTRADICTED then break end
    elseif alive(entry.id, r, retention) then
      return entry, r, contradicted
    else
      withdraw(entry.id, r)
    end
  end
  return nil, nil, contradicted
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
local buckets, keys, any = {}, {}, false
local match, matched, contradicted = nil, nil, 0
for i = 1, TABLES do
  local f = ARGV[7 + i]
  local width = i == 1 and 6 + ID or 6
  local key = hash('t' .. i, f)
  local s, name, level = bucket(key, f)
  local near, place = probe(s, width, f, RANGES[i], limit)
  buckets[i] = { key, s, name, level, place }
  if near then
    any = true
    local last
    for _, o in ipairs(near) do
      local suffix = sub(s, o + 1, o + 6)
      if suffix ~= last then keys[original(i, sub(f, 1, 2) .. suffix)] = true end
      last = suffix
    end
    -- All entries at distance 0 are in table 1: none can be nearer, and none is elsewhere.
    if i == 1 and keys[KEY] then
      match, matched = nearest({ [KEY] = true })
      if match then break end
    end
  end
end
moved = moved or any
if any and not match then match, matched, contradicted = nearest(keys) end
if match then
  call('HINCRBY', PREFIX .. 'collapsed', match.id, 1)
  touch(match.id, matched)
  if old then withdraw(id, old) end
  local shown = call('HGET', hash('url', match.id), match.id)
  return { 'duplicate', match.d, match.id, shown or '' }
end

-- 3. New: remember it.
local full = contradicted >= MOST_CONTRADICTED
for i = 1, TABLES do full = full or #buckets[i][2] >= CAP * (i == 1 and 6 + ID or 6) end
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
    s = sub(s, 1, place) .. sub(f, 3, 8) .. payload .. sub(s, place + 1)
    store(key, name, level, f, 6 + #payload, DEPTH, s)
  end
end
if moved then
  insert(page_key, id, written, PAGE_DEPTH)
else
  local s = sub(page_bucket, 1, page_place) .. sub(id, 3, 8) .. written .. sub(page_bucket, page_place + 1)
  store(page_key, page_field, page_level, id, 6 + RECORD, PAGE_DEPTH, s)
end
call('ZADD', PREFIX .. 'pending', now_ms() + lease, id)
if url ~= '' then call('HSET', hash('url', id), id, url) end
return { old and 'changed' or 'new' }

-- Look for entries that a page may repeat and that its crawler hasn't refused; add the page if there
-- are none. The contract of stores/base.py, in one step a page, page by page.
--
-- ARGV: prefix, lease (ms), retention (s, 0: none), pages. A page is one string:
--   limit + 1 (limit in bits; 0: no entry is near enough), 1 byte
--   2 * the kind of its evidence (buckets.lua), + 1 if it has features, 1 byte
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
  local d, body, v = distance(old.key, p.key), nil, nil
  if HAS_BODIES then body, v = body_of(id, old) end
  if d <= p.limit or (body and shared_by(p.features, features_in(body, v)) >= SHARED_FEATURES) then
    ask({ id = id, d = d, stored = body and evidence_in(body, v) }, old)
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

-- 2. The entries near it, table by table. Nothing is farther on that is nearer than what the tables so
-- far may have missed: a duplicate of what they found costs no other. Once something was refused,
-- everything is looked for before the next reply.
local function look_in_tables()
  for i = 1, tables_of(p.tag) do
    local at = KEYS_AT + 8 * i
    local f = sub(p.words, at - 8, at - 1)
    local key = table_hash(i, f)
    local s, name, level = bucket(key, f)
    local near = probe(s, i == 1 and 6 + ID or 6, f, p.limit)
    local n = 5 * i - 4
    buckets[n], buckets[n + 1], buckets[n + 2], buckets[n + 3], buckets[n + 4] = f, key, s, name, level
    p.looked = i
    for m = 1, near and #near or 0, 2 do
      local o, d = near[m], near[m + 1]
      if i == 1 then
        meet(sub(s, o + 7, o + 14), d)
      elseif not was_met(i, f, s, o) then
        meet_key(original(i, sub(f, 1, 2) .. sub(s, o + 1, o + 6)), d)
      end
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
      local body, v
      if sharing[place] == SHARED_FEATURES then body, v = body_at(place) end
      local other = body and sub(body, 1, ID)
      local r = body and p.found[other] == nil and record_of(other)
      if r and r.place == place and shared_by(features, features_in(body, v)) >= SHARED_FEATURES then
        meet(other, distance(r.key, p.key), r, evidence_in(body, v))
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

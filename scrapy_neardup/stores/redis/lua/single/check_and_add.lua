-- Judge pages, one after the other, and remember each that is new: the rule of stores/base.py, in
-- one step a page.
--
-- ARGV: prefix, lease (ms), retention (s, 0: none), pages. A page is one string:
--   limit + 1 (limit in bits; 0: no entry is near enough), 1 byte
--   2 * the kind of its evidence (buckets.lua), + 1 if it has features, 1 byte
--   page id 8, digests 6 (tag, title, content), the key in the order of each table, 8 each
--   features, 8 each, and evidence
--   length of the weighing 4, and the weighing (`weighing` in values.py)
--   URL or ''
-- Reply: a string for each page, its kind the first byte:
--   'n' new, 'c' changed: witness
--   'o' overflow
--   's' seen: distance 1, why
--   'd' duplicate: distance 1, why, page id 8, pages dropped for it 4, length of its URL 4, URL,
--       witness
-- Here why is the length of the rule 1, the rule, the length of what follows 1, and the numbers of
-- bins that differ and that count, of texts and of cores, 4 each; these are absent for short pages
-- and where nothing has to be confirmed.

local RETENTION = tonumber(ARGV[3])
local read_numbers = struct.unpack
local KEYS_AT = 17
local FEATURES_AT = KEYS_AT + 8 * TABLES
local p -- the page being judged
local comparison, decide -- of evidence.lua, made for the first candidate
local changes -- what changes entries, made for the first page that does (remember.lua)
-- Of each table that was looked into for the page: key in its order, hash, bucket, field, level. One
-- list for all pages of a call, as it would grow in steps for each.
local buckets = {}

local function changing()
  changes = changes or changing_functions()
  return changes
end

local function read(words)
  p = {
    words = words,
    limit = byte(words, 1) - 1,
    id = sub(words, 3, 10),
    digests = sub(words, 11, 16),
    key = sub(words, KEYS_AT, KEYS_AT + 7),
    found = {}, -- page id -> entry that the page may repeat, or false once it was judged
    nearest = 65, -- distance of the nearest entry that wasn't judged, in bits
    contradicted = 0, -- entries within the limit that are other pages by their digests
    comparisons = 0,
    buckets = buckets,
    looked = 0, -- tables that were looked into
    -- url, features, evidence, weighing: where it has such
    -- old: its own entry of an earlier fetch
    -- candidate: evidence of the nearest candidate
    -- match, matched, why: see judge_nearest
    -- crowded: it has more candidates than a page is compared with: it is new
    -- unlisted: no table is to list it
    -- lists: of each feature, what `under_feature` found
    -- stale: something was withdrawn since `buckets` and `lists` were read
  }
  local url_at = FEATURES_AT + 4
  if HAS_BODIES then
    local flags = byte(words, 2)
    local evidence_at = FEATURES_AT + flags % 2 * 8 * FEATURES
    local weighing_at = evidence_at + evidence_size(floor(flags / 2)) + 4
    url_at = weighing_at + number(words, weighing_at - 4, weighing_at - 1)
    p.features = sub(words, FEATURES_AT, evidence_at - 1)
    p.evidence = sub(words, evidence_at, weighing_at - 5)
    p.weighing = sub(words, weighing_at, url_at - 1)
  end
  if url_at <= #words then p.url = sub(words, url_at) end
end

-- Whether an entry is of the page's kind and scope, and its digests don't contradict the page.
local function fits(r)
  local digests, other = p.digests, r.digests
  return digests == other or (sub(digests, 1, 2) == sub(other, 1, 2)
    and (sub(digests, 3, 4) == sub(other, 3, 4) or sub(digests, 5, 6) == sub(other, 5, 6)))
end

-- The evidence of an entry; '' if it has none, or if the server has evicted it.
local function evidence_of(other, r)
  if not HAS_BODIES then return '' end
  local body, v = body_of(other, r)
  return body and evidence_in(body, v) or ''
end

-- Why the page repeats an entry, as it is replied; nil if it doesn't.
local function judged(stored, r)
  local rule, a, b, c, d = RULE.WITHIN_K, nil, nil, nil, nil
  if HAS_BODIES and p.weighing ~= '' then
    if not decide then comparison, decide = evidence_functions() end
    p.comparison = p.comparison or comparison(p.evidence, p.weighing)
    rule, a, b, c, d = decide(p.comparison, stored, sub(p.digests, 5, 6) == sub(r.digests, 5, 6))
  end
  return rule and char(#rule) .. rule .. (a and struct.pack('>BI4I4I4I4', 16, a, b, c, d) or '\0')
end

-- Keep an entry that was met from expiring; written 16 times in a retention at most.
local function touch(other, r)
  if RETENTION == 0 or now() - number(r.seen, 1, 4) <= RETENTION / 16 then return end
  r.seen = struct.pack('>I4', now())
  changing().rewrite(other, r)
end

local function drop(other)
  p.stale = true
  changing().withdraw(other)
end

-- What table 1 says of the entry at an offset, beside its page id; nil if only its record tells.
local function listed_at(s, o)
  if not HAS_BODIES then return { digests = sub(s, o + 7 + ID, o + 6 + LISTED) } end
end

-- The record of an entry that was met; nil if the server has evicted it. Where the record has nothing
-- to say that matters, it isn't read.
local function entry_record(entry)
  local known = entry.r
  if known and (known.seen or RETENTION == 0) then return known end
  local r = record_of(entry.id)
  if r and known then r.digests = known.digests end
  return r
end

-- Page ids aren't compared as strings: that depends on the locale of the server.
local function entry_of(other, d, r, stored) return { id = other, d = d, r = r, stored = stored } end

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
    p.found[other] = entry_of(other, d, r, stored)
    p.nearest = math.min(p.nearest, d)
  end
end

-- All entries of a key, which is d bits away.
local function meet_key(key, d)
  local s, suffix = bucket(table_hash(1, key), key), sub(key, 3, 8)
  local o = offset_of(s, 6 + LISTED, suffix)
  while o and sub(s, o + 1, o + 6) == suffix do
    meet(sub(s, o + 7, o + 14), d, listed_at(s, o))
    o = o + 6 + LISTED
  end
end

-- Set p.match to the nearest living entry that the page repeats and that is fewer than `below` bits
-- away, the one of smallest page id among equals; p.matched to its record, p.why to the rule and the
-- counts.
local function judge_nearest(below)
  if p.nearest >= below then return end
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
    local r = entry_record(entry)
    if not r or not fits(r) then
      if entry.d <= p.limit then p.contradicted = p.contradicted + 1 end
      if p.contradicted == MAX_CONTRADICTED then break end
    elseif not alive(entry.id, r, RETENTION) then
      drop(entry.id)
    elseif p.comparisons == MAX_COMPARED then
      -- Exact pages are found by nothing else.
      local is_exact = byte(p.digests, 2) % 2 == 1
      p.crowded, p.unlisted = true,
        entry.d <= p.limit and not (is_exact and #order < MAX_CONTRADICTED)
      break
    else
      p.comparisons = p.comparisons + 1
      local stored = entry.stored or evidence_of(entry.id, r)
      if p.comparisons == 1 then p.candidate = stored end
      local why = judged(stored, r)
      if why then
        p.match, p.matched, p.why = entry, r, why
        return
      end
    end
  end
end

local function is_judged() return p.match or p.crowded or p.contradicted == MAX_CONTRADICTED end

-- 1. Is it the same page again? Returns the reply if so.
local function seen_again()
  local id = p.id
  local old = record_of(id)
  local old_key = old and key_of(id, old)
  if old and not (old_key and alive(id, old, RETENTION)) then
    drop(id)
    old = nil
  end
  if old and fits(old) then
    local body, v
    if HAS_BODIES then body, v = body_of(id, old) end
    local d = distance(old_key, p.key)
    local like = d <= p.limit
      or (body and shared_by(p.features, features_in(body, v)) >= SHARED_FEATURES)
    local why = like and judged(body and evidence_in(body, v) or '', old)
    if why then
      touch(id, old)
      return 's' .. char(d) .. why
    end
  end
  p.old = old
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

-- 2. Is there a page like it? First its near entries, table by table: an entry that shares features
-- and is no farther than the limit is one of them, so that it can't be nearer than their nearest.
local function look_in_tables()
  for i = 1, tables_of(p.digests) do
    local at = KEYS_AT + 8 * i
    local f = sub(p.words, at - 8, at - 1)
    local key = table_hash(i, f)
    local s, name, level = bucket(key, f)
    local near = probe(s, i == 1 and 6 + LISTED or 6, f, p.limit)
    local n = 5 * i - 4
    buckets[n], buckets[n + 1], buckets[n + 2], buckets[n + 3], buckets[n + 4] = f, key, s, name, level
    p.looked = i
    for m = 1, near and #near or 0, 2 do
      local o, d = near[m], near[m + 1]
      if i == 1 then
        meet(sub(s, o + 7, o + 14), d, listed_at(s, o))
      elseif not was_met(i, f, s, o) then
        meet_key(original(i, sub(f, 1, 2) .. sub(s, o + 1, o + 6)), d)
      end
    end
    judge_nearest(UNSEEN[i]) -- the tables left hold nothing that is nearer
    if is_judged() then return end
  end
end

-- Then the entries that share features with it. If matches are confirmed, the last feature is the
-- page's path, and the entries there are read in any case: returns the evidence of the nearest.
local function look_under_features()
  local id, features, lists = p.id, p.features, {}
  p.lists = lists
  local path = BINS > 0 and features ~= '' and #features - 7 or #features + 1
  local sharing, witness = {}, nil
  for i = p.match and path or 1, #features, 8 do
    local f = sub(features, i, i + 7)
    local s, o, count, key, name, level = under_feature(f)
    lists[#lists + 1] = { f, count, o, s, key, name, level }
    for at = o + 3, o + 6 * count, 6 do
      local place = sub(s, at, at + 3)
      sharing[place] = (sharing[place] or 0) + 1
      local body, v
      if sharing[place] == SHARED_FEATURES or i == path then body, v = body_at(place) end
      local other = body and sub(body, 1, ID)
      local r = body and record_of(other)
      if r and r.place == place then
        local theirs, d = features_in(body, v), distance(r.start, p.key)
        local stored = evidence_in(body, v)
        if shared_by(features, theirs) >= SHARED_FEATURES then meet(other, d, r, stored) end
        if i == path and sub(theirs, path) == f and sub(r.digests, 1, 2) == sub(p.digests, 1, 2)
          and other ~= id and alive(other, r, RETENTION) then
          local at_path = entry_of(other, d, r, stored)
          if not witness or is_nearer(at_path, witness) then witness = at_path end
        end
      end
    end
  end
  return witness and witness.stored
end

return (replies_to(function(words)
  read(words)
  local seen = seen_again()
  if seen then return seen end
  look_in_tables()
  local witness = HAS_BODIES and look_under_features()
  if not is_judged() then judge_nearest(65) end
  witness = witness or p.candidate or ''
  local match = p.match
  if match then
    local count = call('HINCRBY', PREFIX .. 'collapsed', match.id, 1)
    touch(match.id, p.matched)
    if p.old then drop(p.id) end
    local url = has_urls and call('HGET', hash('url', match.id), match.id) or ''
    return 'd' .. char(match.d) .. p.why .. match.id
      .. struct.pack('>I4I4', count, #url) .. url .. witness
  end
  if not changing().remember(p) then return 'o' end
  return (p.old and 'c' or 'n') .. witness
end))

-- Changes of entries, besides their leases and counts.

local MAX_BODIES = 2 ^ 28
local FEATURE_DEPTH = 16 -- levels: the bits in the start of a feature, less two bytes

local function payload_of(r) return r.key .. r.tag .. r.seen .. r.place end

-- What follows a page's key in table i.
local function listed(i, id) return i == 1 and id or '' end

-- Write a record that was changed.
local function rewrite(id, r)
  local known, key, s, name, _, o = record_of(id)
  if known then call('HSET', key, name, sub(s, 1, o + 6) .. payload_of(r) .. sub(s, o + 7 + RECORD)) end
end

local function kind_of(evidence) return evidence == '' and 0 or #evidence == EVIDENCE_HEAD and 1 or 2 end

-- Keep a body and return its place; nil if there are too many.
local function add_body(id, features, evidence, listed)
  if not HAS_BODIES then return '' end
  if features == '' and evidence == '' then return u(NO_BODY, 4) end
  local v = kind_of(evidence)
  if features == '' then features = string.rep('\0', head_of(v) - ID) end
  local free = PREFIX .. 'free:' .. v
  local left = call('LINDEX', free, -1)
  local n = left and tonumber(left) or call('HINCRBY', PREFIX .. 'bodies', v, 1) - 1
  if n == MAX_BODIES then
    call('HINCRBY', PREFIX .. 'bodies', v, -1)
    return nil
  end
  local key, o = locate(v, n)
  call('SETRANGE', key, o, id .. features .. evidence)
  -- Not before that write: a full server refuses a script's first write if it takes memory, and
  -- no later one.
  if left then call('RPOP', free) end
  return u(n * 16 + v * 2 + (listed and 0 or 1), 4)
end

local function free_body(place)
  local n, v = place_at(place)
  call('RPUSH', PREFIX .. 'free:' .. v, n)
end

-- ---- the end of an entry ---------------------------------------------------------------

-- Remove an entry and all that leads to it; return the number of pages dropped for it.
local function withdraw(id)
  local r = record_of(id)
  if not r then
    call('ZREM', PENDING, id)
    return 0
  end
  local is_listed = not HAS_BODIES or select(3, place_at(r.place)) -- if unknown, it is looked for
  for i = 1, is_listed and tables_of(r.tag) or 0 do
    local f = permuted(i, r.key)
    remove(table_hash(i, f), f, listed(i, id), DEPTH)
  end
  remove(hash('page', id), id, payload_of(r), PAGE_DEPTH)
  local body, v
  if HAS_BODIES then body, v = body_of(id, r) end
  if body then
    for i = ID + 1, head_of(v), 8 do
      local f = sub(body, i, i + 3) .. r.place
      remove(hash('f', f), f, '', FEATURE_DEPTH)
    end
    free_body(r.place)
  end
  if call('ZREM', PENDING, id) == 0 then
    call('HINCRBY', PREFIX .. 'counters', 'confirmed', -1)
  end
  if has_urls then call('HDEL', hash('url', id), id) end
  local collapsed = tonumber(call('HGET', PREFIX .. 'collapsed', id) or 0)
  if collapsed > 0 then call('HDEL', PREFIX .. 'collapsed', id) end
  return collapsed
end

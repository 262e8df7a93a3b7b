-- Add the page of probe_and_add.lua, and return whether there is room. In a crowd whose nearest members
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

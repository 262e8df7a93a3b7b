-- Claiming a place in a bucket, the same in every table: see who is near, then add an entry.
--
-- Returns {'full'}, or {'claimed', key in table order and attempt of each other entry near it}, the
-- attempt followed by the first `shown` bytes of the rest of the entry.

local function claim(key, width, f, attempt, limit, payload, shown)
  local s, name, level = bucket(key, f)
  local reply, mine = { 'claimed' }, false
  local near = probe(s, width, f, limit)
  for n = 1, near and #near or 0, 2 do
    local o = near[n]
    local other, its = sub(f, 1, 2) .. sub(s, o + 1, o + 6), sub(s, o + 7, o + 6 + #attempt)
    if other == f and its == attempt then
      mine = true -- the call is repeated
    else
      reply[#reply + 1] = other
      reply[#reply + 1] = its .. sub(s, o + 7 + #attempt, o + 6 + #attempt + shown)
    end
  end
  if not mine then
    if #s >= CAP * width then return { 'full' } end
    store(key, name, level, f, width, DEPTH, joined(s, find(s, width, f), f, attempt .. payload))
  end
  return reply
end

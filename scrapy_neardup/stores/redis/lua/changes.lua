-- What changes buckets. Few pages need it, so that scripts make these functions when they do.

-- A number as that many bytes, most significant first; `number` reads it.
local function u(n, bytes)
  local out = {}
  for i = bytes, 1, -1 do
    out[i] = char(n % 256)
    n = floor(n / 256)
  end
  return concat(out)
end

-- Offset of the first entry that is not smaller than f.
local function find(s, width, f)
  local q, r, t, v, w, x = byte(f, 3, 8)
  return lower_bound(s, width, q * 65536 + r * 256 + t, v * 65536 + w * 256 + x)
end

-- Write bucket s of f at a level, split if it has grown too long, removed if it is empty.
local function store(key, name, level, f, width, depth, s)
  if #s == 0 then return call('HDEL', key, name) end
  if #s <= SPLIT * width or level >= depth then return call('HSET', key, name, s) end
  -- Sorted entries that share 16 + level bits: those whose next bit is 0 come first.
  local place = 3 + floor(level / 8)
  local half = 2 ^ (7 - level % 8)
  local cut = #s
  for o = 0, #s - 1, width do
    if byte(s, o + place - 2) % (2 * half) >= half then
      cut = o
      break
    end
  end
  call('HSET', key, name, '\1')
  for side = 0, 1 do
    local part = side == 0 and sub(s, 1, cut) or sub(s, cut + 1)
    if #part > 0 then
      local g = sub(f, 1, 2) .. sub(part, 1, 6)
      store(key, field(g, level + 1), level + 1, g, width, depth, part)
    end
  end
end

-- Bucket s with another entry at offset o.
local function joined(s, o, f, payload)
  return sub(s, 1, o) .. sub(f, 3, 8) .. payload .. sub(s, o + 1)
end

local function insert(key, f, payload, depth)
  local s, name, level = bucket(key, f)
  local width = 6 + #payload
  store(key, name, level, f, width, depth, joined(s, find(s, width, f), f, payload))
end

-- Remove the entry of f that has this payload.
local function remove(key, f, payload, depth)
  local width = 6 + #payload
  local s, name, level = bucket(key, f)
  local wanted = sub(f, 3, 8) .. payload
  local o = find(s, width, f)
  while o < #s and sub(s, o + 1, o + 6) == sub(f, 3, 8) do
    if sub(s, o + 1, o + width) == wanted then
      return store(key, name, level, f, width, depth, sub(s, 1, o) .. sub(s, o + width + 1))
    end
    o = o + width
  end
end

-- One Redis holds all of a namespace, so a script can reach every entry.
--
--   PREFIX t1:XX   key -> page id        PREFIX page:XX    page id -> record
--   PREFIX tN:XX   permuted key          record: key 8, tag 2, title 2, content 2, seen 4
--   PREFIX pending page id -> end of its lease (ms)    PREFIX url:XX    page id -> URL
--   PREFIX collapsed  page id -> pages dropped for it  PREFIX counters  pages, dropped, ...

local TABLES = #ORDERS
local ID, RECORD = 8, 18           -- bytes of payload
local PAGE_DEPTH = 40

local PREFIX = ARGV[1]

local function hash(tree, f) return PREFIX .. tree .. format(':%02x', (byte(f))) end

-- ---- permutations ----------------------------------------------------------------------

local function block_at(f, offset, width)
  local first = floor(offset / 8) + 1
  local last = floor((offset + width - 1) / 8) + 1
  return floor(number(f, first, last) / 2 ^ (last * 8 - offset - width)) % 2 ^ width
end

local function join_blocks(values, widths)
  local out, held, bits = {}, 0, 0
  for i = 1, #values do
    held = held * 2 ^ widths[i] + values[i]
    bits = bits + widths[i]
    while bits >= 8 do
      bits = bits - 8
      out[#out + 1] = char(floor(held / 2 ^ bits))
      held = held % 2 ^ bits
    end
  end
  return concat(out)
end

-- Key in table order -> the key as it was.
local function original(i, f)
  local values, offset = {}, 0
  for _, b in ipairs(ORDERS[i]) do
    values[b] = block_at(f, offset, WIDTHS[b])
    offset = offset + WIDTHS[b]
  end
  return join_blocks(values, WIDTHS)
end

local function permuted(i, f)
  local starts, offset = {}, 0
  for b, width in ipairs(WIDTHS) do
    starts[b] = offset
    offset = offset + width
  end
  local values, widths = {}, {}
  for place, b in ipairs(ORDERS[i]) do
    values[place] = block_at(f, starts[b], WIDTHS[b])
    widths[place] = WIDTHS[b]
  end
  return join_blocks(values, widths)
end

local function distance(f, g)
  local d = 0
  for i = 1, 8 do d = d + byte(POPCOUNT, bxor(byte(f, i), byte(g, i)) + 1) end
  return d
end

-- ---- entries of pages ------------------------------------------------------------------

local clock = call('TIME')
local NOW, NOW_MS = tonumber(clock[1]), tonumber(clock[1]) * 1000 + floor(tonumber(clock[2]) / 1000)

-- The record of a page: key, evidence (tag, title, content), seen; nil if there is none.
local function record_of(id)
  local s = bucket(hash('page', id), id)
  local o = find(s, 6 + RECORD, id)
  if sub(s, o + 1, o + 6) ~= sub(id, 3, 8) then return nil end
  return { key = sub(s, o + 7, o + 14), evidence = sub(s, o + 15, o + 20), seen = sub(s, o + 21, o + 24) }
end

local function payload_of(r) return r.key .. r.evidence .. r.seen end

local function withdraw(id, r)
  for i = 1, TABLES do
    local f = permuted(i, r.key)
    remove(hash('t' .. i, f), f, i == 1 and id or '', DEPTH)
  end
  remove(hash('page', id), id, payload_of(r), PAGE_DEPTH)
  call('ZREM', PREFIX .. 'pending', id)
  call('HDEL', PREFIX .. 'url:' .. format('%02x', (byte(id))), id)
  local collapsed = tonumber(call('HGET', PREFIX .. 'collapsed', id) or 0)
  if collapsed > 0 then
    call('HDEL', PREFIX .. 'collapsed', id)
    call('HINCRBY', PREFIX .. 'counters', 'dropped', -collapsed)
  end
  call('HINCRBY', PREFIX .. 'counters', 'pages', -1)
  return collapsed
end

-- Whether an entry still counts: its lease has not run out, it was seen lately.
local function alive(id, r, retention)
  if retention > 0 and number(r.seen, 1, 4) + retention < NOW then return false end
  local lease = call('ZSCORE', PREFIX .. 'pending', id)
  return not lease or tonumber(lease) >= NOW_MS
end

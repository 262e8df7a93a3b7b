-- Is a candidate confirmed? Decides as stores/confirmation.py does, from the same bytes and
-- by the same arithmetic.
--
-- Units. A sketch is bytes of bins; behind it may be its named bins, a bit each: bit BITS * p + s
-- of byte j stands for bin p of byte j + NAMED * s of the sketch. Furniture has all bits set of
-- the bins that hold what is on most pages of the site, '' for none.
--
-- Set in front of this text: SKETCH and NAMED, bytes of a sketch and of its named bins; BITS of a
-- bin; DIFFERING, how many bins of a byte aren't 0, a literal of 256.

-- What a page is compared by; `most` is the share of bins that may differ, and that under another
-- title, as text, '' where the page has no sketch. `shared` counts the bins of furniture, 4 bytes.
local function sketch_of(most, sketch, furniture, shared)
  if most == '' then return nil end
  local usual, other = string.match(most, '(%S+) (%S+)')
  shared = furniture ~= '' and number(shared, 1, 4) or 0
  return { most = tonumber(usual), other = tonumber(other), sketch = sketch, furniture = furniture, shared = shared }
end

local BINS = byte(DIFFERING, 256) * SKETCH
local bins_of -- DIFFERING as a table: made where a page is compared, as that takes 3 µs

-- Bins of the texts that differ, and those that count; nil if too many differ in any case.
local function compare_texts(ours, theirs, furniture, shared, most)
  if sub(ours, 1, SKETCH) == sub(theirs, 1, SKETCH) then return 0, BINS - shared end
  local differing, both = 0, 0
  local bound, bins, is_furnished, band = most * BINS, bins_of, furniture ~= '', bit.band
  local function differ(x, y, i)
    local bits = bxor(x, y)
    differing = differing + bins[bits + 1]
    if is_furnished then both = both + bins[band(bits, byte(furniture, i)) + 1] end
  end
  for i = 1, SKETCH, 8 do
    local last = math.min(i + 7, SKETCH)
    local x1, x2, x3, x4, x5, x6, x7, x8 = byte(ours, i, last)
    local y1, y2, y3, y4, y5, y6, y7, y8 = byte(theirs, i, last)
    if x1 ~= y1 then differ(x1, y1, i) end
    if x2 ~= y2 then differ(x2, y2, i + 1) end
    if x3 ~= y3 then differ(x3, y3, i + 2) end
    if x4 ~= y4 then differ(x4, y4, i + 3) end
    if x5 ~= y5 then differ(x5, y5, i + 4) end
    if x6 ~= y6 then differ(x6, y6, i + 5) end
    if x7 ~= y7 then differ(x7, y7, i + 6) end
    if x8 ~= y8 then differ(x8, y8, i + 7) end
    if differing > bound then return nil end
  end
  return differing, BINS - shared + both
end

-- The same of the cores: of the bins that neither page has named.
local function compare_cores(ours, theirs, furniture)
  local differing, counted, bins = 0, 0, bins_of
  local band, rshift, whole = bit.band, bit.rshift, 2 ^ BITS - 1
  local lowest = 255 / whole
  for j = 1, NAMED do
    local named = bit.bor(byte(ours, SKETCH + j) or 0, byte(theirs, SKETCH + j) or 0)
    for s = 0, BITS - 1 do
      local i = j + NAMED * s
      local counts = 255 - band(rshift(named, s), lowest) * whole
      local differs = band(bxor(byte(ours, i), byte(theirs, i)), counts)
      differing = differing + bins[differs + 1]
      counted = counted + bins[counts + 1]
      if furniture ~= '' then
        local known = band(counts, byte(furniture, i))
        counted = counted - bins[known + 1] + bins[band(known, differs) + 1]
      end
    end
  end
  return differing, counted
end

-- What is counted of texts, and of cores if they are others, two numbers each, if the page repeats
-- the entry, which has another title or not; else nil. The bounds are those of confirmation.py,
-- in the same doubles.
local function confirmed(page, theirs, another_title)
  local most = another_title and page.other or page.most
  bins_of = bins_of or { byte(DIFFERING, 1, 256) }
  local ours, furniture = page.sketch, page.furniture
  local differing, counted = compare_texts(ours, theirs, furniture, page.shared, most)
  if not differing or differing > most * counted then return nil end
  local counts = { differing, counted }
  if #ours > SKETCH or #theirs > SKETCH then
    differing, counted = compare_cores(ours, theirs, furniture)
    if differing > most * counted then return nil end
    counts[3], counts[4] = differing, counted
  end
  return counts
end

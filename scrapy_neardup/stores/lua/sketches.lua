-- Is a candidate confirmed? Decides as stores/confirmation.py does, from the same bytes and
-- by the same arithmetic.
--
-- Units. A sketch is bytes of bins; a page's and an entry's are those of its views one after
-- the other, or one that stands for all where they are equal. Furniture has all bits set of
-- the bins that hold what is on most pages of the site; it lies likewise, '' for none.
--
-- Set in front of this text: SKETCH, bytes of the sketch of a view; DIFFERING, how many bins of
-- a byte aren't 0, and WHOLE, the byte with all bits of these bins set, literals of 256.

-- What a page is compared by; `most` is the share of bins that may differ, and that under another
-- title, as text, '' where the page has no sketch. `shared` counts the bins of furniture of the
-- first view, 4 bytes.
local function sketch_of(most, sketch, furniture, shared)
  if most == '' then return nil end
  local usual, other = string.match(most, '(%S+) (%S+)')
  return { most = tonumber(usual), other = tonumber(other), sketch = sketch, furniture = furniture, shared = shared }
end

local BINS = byte(DIFFERING, 256) * SKETCH
local bins_of -- DIFFERING as a table: made where a page is compared, as that takes 3 µs

-- Bins that differ, and those that count, of the first view; nil if too many differ in any case.
local function compare_first(ours, theirs, furniture, shared, most)
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

-- The same for a view after the first, `a` and `b` bytes behind it (0 for one that equals it),
-- which counts where it is as the first in both pages.
local function compare_later(ours, a, theirs, b, furniture, c)
  local differing, counted, bins, band, bor = 0, 0, bins_of, bit.band, bit.bor
  for i = 1, SKETCH do
    local x, y = byte(ours, i), byte(theirs, i)
    local apart = bor(bxor(x, byte(ours, a + i)), bxor(y, byte(theirs, b + i)))
    local counts = 255 - byte(WHOLE, apart + 1)
    local differs = band(bxor(x, y), counts)
    differing = differing + bins[differs + 1]
    if furniture ~= '' then
      local equal = 255 - byte(WHOLE, differs + 1)
      counts = counts - band(counts, byte(furniture, c + i), equal)
    end
    counted = counted + bins[counts + 1]
  end
  return differing, counted
end

-- What is counted of each view, two numbers each, if the page repeats the entry, which has
-- another title or not; else nil. The bounds are those of confirmation.py, in the same doubles.
local function confirmed(page, theirs, another_title)
  local most = another_title and page.other or page.most
  bins_of = bins_of or { byte(DIFFERING, 1, 256) }
  local ours, furniture = page.sketch, page.furniture
  local shared = furniture ~= '' and number(page.shared, 1, 4) or 0
  local differing, counted = compare_first(ours, theirs, furniture, shared, most)
  if not differing or differing > most * counted then return nil end
  local counts = { differing, counted }
  for view = 1, math.max(#ours, #theirs, #furniture) / SKETCH - 1 do
    local at = view * SKETCH
    local a, b, c = at < #ours and at or 0, at < #theirs and at or 0, at < #furniture and at or 0
    differing, counted = compare_later(ours, a, theirs, b, furniture, c)
    if differing > most * counted then return nil end
    counts[#counts + 1] = differing
    counts[#counts + 1] = counted
  end
  return counts
end

-- Is a candidate confirmed? Decides as stores/confirmation.py does, from the same bytes and
-- by the same arithmetic.
--
-- Units. A sketch is bytes of bins; a page's and an entry's are those of its views one after
-- the other, or one that stands for all where they are equal. Furniture has all bits set of
-- the bins that hold what is on most pages of the site; it lies likewise, '' for none.
--
-- Set in front of this text: SKETCH, bytes of the sketch of a view; DIFFERING, how many bins of
-- a byte aren't 0, a literal of 256.

-- What a page is compared by; `most` is the share of bins that may differ, and that under another
-- title, as text, '' where the page has no sketch. `shared` counts the bins of furniture of each view, 4 bytes each.
local function sketch_of(most, sketch, furniture, shared)
  if most == '' then return nil end
  local usual, other = string.match(most, '(%S+) (%S+)')
  return { most = tonumber(usual), other = tonumber(other), sketch = sketch, furniture = furniture, shared = shared }
end

local BINS = byte(DIFFERING, 256) * SKETCH
local bins_of -- DIFFERING as a table: made where a page is compared, as that takes 3 µs

-- Bins that differ, and those that count, of one view; nil if too many differ in any case.
-- The offsets are those of the view in what is stored of each, and in the furniture.
local function compare_view(ours, a, theirs, b, furniture, c, shared, most)
  if sub(ours, a + 1, a + SKETCH) == sub(theirs, b + 1, b + SKETCH) then return 0, BINS - shared end
  local differing, both = 0, 0
  local bound, bins, is_furnished, band = most * BINS, bins_of, furniture ~= '', bit.band
  local function differ(x, y, i)
    local bits = bxor(x, y)
    differing = differing + bins[bits + 1]
    if is_furnished then both = both + bins[band(bits, byte(furniture, c + i)) + 1] end
  end
  for i = 1, SKETCH, 8 do
    local last = math.min(i + 7, SKETCH)
    local x1, x2, x3, x4, x5, x6, x7, x8 = byte(ours, a + i, a + last)
    local y1, y2, y3, y4, y5, y6, y7, y8 = byte(theirs, b + i, b + last)
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

-- What is counted of each view, two numbers each, if the page repeats the entry, which has
-- another title or not; else nil. The bounds are those of confirmation.py, in the same doubles.
local function confirmed(page, theirs, another_title)
  local most = another_title and page.other or page.most
  bins_of = bins_of or { byte(DIFFERING, 1, 256) }
  local ours, furniture = page.sketch, page.furniture
  local counts = {}
  for view = 0, math.max(#ours, #theirs, #furniture) / SKETCH - 1 do
    local o = view * SKETCH
    local a, b = #ours > SKETCH and o or 0, #theirs > SKETCH and o or 0
    local c, shared = 0, 0
    if #furniture > SKETCH then c = o end
    if #furniture > 0 then shared = number(page.shared, c / SKETCH * 4 + 1, c / SKETCH * 4 + 4) end
    local differing, counted = compare_view(ours, a, theirs, b, furniture, c, shared, most)
    if not differing or differing > most * counted then return nil end
    counts[#counts + 1] = differing
    counts[#counts + 1] = counted
  end
  return counts
end

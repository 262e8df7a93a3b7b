-- Does a page repeat an entry? Decides as evidence/decision.py does, from the same bytes
-- (evidence/layout.py) and by the same arithmetic in doubles; constants and functions have the same
-- names.
--
-- Put in place of names by scripts.py, besides the constants of these two files:
--   EVIDENCE_HEAD  bytes of a head       PLANE_BYTES  bytes of a plane
--   WORDS  words of a plane              FULL   a word of ones
--   PLANE  a plane, in struct's format   NAMES  name -> number      RULE  name -> word of the reply
--   ROW_SUMS  the sums of rows, likewise
-- In this file a plane is a table of words.

local bor, bnot, rshift = bit.bor, bit.bnot, bit.rshift
local TITLE = 9
local PLACES = TITLE + 2 * MAX_TITLE_WORDS
local NAME = PLACES + 2 * MAX_TRACKED
local TEXT = NAME + 2
local ROWS = TEXT + 2
local NO_WORD = '\0\0'
local DIFFER = 1 - 2 ^ -BITS -- of the bins whose minima differ, the share whose bits do

local function ones(word)
  if word == 0 then return 0 end
  word = word - band(rshift(word, 1), 0x55555555)
  word = band(word, 0x33333333) + band(rshift(word, 2), 0x33333333)
  return band(word + rshift(word, 4), 0x0F0F0F0F) % 255 -- the sum of its bytes
end

-- ---- bytes -----------------------------------------------------------------------------

-- Consecutive planes.
local function planes_at(bytes, at, count)
  local planes = {}
  for i = 1, count do
    planes[i] = { struct.unpack(PLANE, bytes, at + (i - 1) * PLANE_BYTES) }
  end
  return planes
end

-- Planes of what is stored of a page, from number `first` on.
local function planes_in(stored, first, count)
  return planes_at(stored, EVIDENCE_HEAD + 1 + first * PLANE_BYTES, count)
end

-- The bins of an owner, as a plane.
local function owned_by(owners, owner)
  local found, a, b, c = {}, unpack(owners)
  -- Where a bit of the number is 0, the plane is turned over.
  local x, y, z = band(owner, 1) - 1, band(rshift(owner, 1), 1) - 1, rshift(owner, 2) - 1
  for w = 1, WORDS do found[w] = band(FULL, bxor(a[w], x), bxor(b[w], y), bxor(c[w], z)) end
  return found
end

-- Whether a word is one of `words`, a string of words of that length.
local function holds(words, word)
  local at = string.find(words, word, 1, true)
  while at and (at - 1) % #word > 0 do at = string.find(words, word, at + 1, true) end
  return at ~= nil
end

-- Sum of the rows of a page, 16 bits, but for those in some places.
local function rows_without(stored, places)
  local sums = { struct.unpack(ROW_SUMS, stored, ROWS) }
  local sum = sums[1]
  for owner = 1, MAX_TRACKED do
    local at = PLACES + 2 * (owner - 1)
    if not holds(places, sub(stored, at, at + 1)) then sum = sum + sums[1 + owner] end
  end
  return sum % 65536
end

-- ---- the page at hand ------------------------------------------------------------------

-- The bins whose minimum isn't in the core, given one or two strings of places that aren't.
local function aside_of(owners, stored, ...)
  local found, links = owned_by(owners, NAMED), owned_by(owners, LINKS)
  for w = 1, WORDS do found[w] = bor(found[w], links[w]) end
  for owner = 1, MAX_TRACKED do
    local at = PLACES + 2 * (owner - 1)
    local place = sub(stored, at, at + 1)
    local known, more = ...
    if holds(known, place) or (more and holds(more, place)) then
      local owned = owned_by(owners, owner)
      for w = 1, WORDS do found[w] = bor(found[w], owned[w]) end
    end
  end
  return found
end

-- What is compared of the page at hand; `weighing` as values.py packs it.
local function comparison(stored, weighing)
  local page = { stored = stored }
  local most, ignored, site, folder, a, b, c, d, at = struct.unpack('<dBBBHHHH', weighing)
  page.most, page.titles_ignored, page.young_site, page.young_folder =
    most, ignored == 1, site == 1, folder == 1
  local function next_of(size)
    at = at + size
    return sub(weighing, at - size, at - 1)
  end
  page.changing, page.constant, page.common, page.editions =
    next_of(a), next_of(b), next_of(c), next_of(d)
  if #stored > EVIDENCE_HEAD then
    local owners = planes_in(stored, BITS, OWNER_BITS)
    page.values = planes_in(stored, 0, BITS)
    page.aside = aside_of(owners, stored, page.changing)
    page.named, page.links = owned_by(owners, NAMED), owned_by(owners, LINKS)
    page.border, page.rows = owned_by(owners, BORDER), rows_without(stored, page.changing)
    page.furniture = at <= #weighing and { struct.unpack(PLANE, weighing, at) } or nil
    at = at + PLANE_BYTES
    if at <= #weighing then
      page.lacked = { struct.unpack(PLANE, weighing, at) }
      page.lacked_values = planes_at(weighing, at + PLANE_BYTES, BITS)
    end
  end
  return page
end

-- ---- the decision ----------------------------------------------------------------------

-- The words of a title that aren't common, ascending, in one string.
local function title_of(stored, common)
  local found = {}
  for at = TITLE, PLACES - 2, 2 do
    local word = sub(stored, at, at + 1)
    if word ~= NO_WORD and not holds(common, word) then found[#found + 1] = word end
  end
  return concat(found)
end

local function has_title(stored) return sub(stored, TITLE, TITLE + 1) ~= NO_WORD end

-- What titles and addresses say of two pages: one of NAMES.
local function names_of(page, stored)
  local steps, path, query = struct.unpack('<I4HH', page.stored)
  local its_steps, its_path, its_query = struct.unpack('<I4HH', stored)
  local same_name = sub(stored, NAME, NAME + 1) == sub(page.stored, NAME, NAME + 1)
  local same_path = its_path == path
  local is_one = same_path and (its_query == 0 or query == 0)
  if its_query == query then
    if same_path and same_name then return NAMES.RESPONSE end
    local step = struct.pack('<I4', (steps - its_steps) % 4294967296)
    is_one = same_path or holds(page.editions, step)
  end
  if page.titles_ignored then return is_one and NAMES.ADDRESS or NAMES.TITLE end
  page.title = page.title or title_of(page.stored, page.common)
  local theirs = title_of(stored, page.common)
  local is_retitled = page.title ~= theirs and has_title(stored) and has_title(page.stored)
  if is_one then return is_retitled and NAMES.TRANSLATED or NAMES.ADDRESS end
  if is_retitled then return same_name and NAMES.RETITLED or NAMES.OTHER end
  if page.title == '' or theirs == '' or page.young_site then return NAMES.UNKNOWN end
  return (same_name or same_path) and NAMES.NAMESAKE or NAMES.TITLE
end

-- Number of bins in both planes; in the first if there is no other.
local function count(plane, other)
  local sum = 0
  for w = 1, WORDS do sum = sum + ones(other and band(plane[w], other[w]) or plane[w]) end
  return sum
end

-- Three planes: the bins that differ, those that count, and those of both cores; by_title as
-- evidence/overlap.py has it.
local function compare(page, stored, owners, by_title)
  local changing, constant = page.changing, page.constant
  if by_title then
    changing, constant = '', ''
    page.forms = page.forms or aside_of(planes_in(page.stored, BITS, OWNER_BITS), page.stored, '')
  end
  local values, aside = planes_in(stored, 0, BITS), aside_of(owners, stored, changing, constant)
  local ours, furniture, not_core = page.values, page.furniture, by_title and page.forms or page.aside
  local differing, counted, core = {}, {}, {}
  for w = 1, WORDS do
    local differs = 0
    for i = 1, BITS do differs = bor(differs, bxor(ours[i][w], values[i][w])) end
    differing[w], core[w] = differs, bnot(bor(not_core[w], aside[w]))
  end
  local lacks = not by_title and furniture and 2 * count(furniture, differing) > count(furniture)
  for w = 1, WORDS do
    if lacks then differing[w] = band(differing[w], bnot(furniture[w])) end
    counted[w] = furniture and band(FULL, bor(bnot(furniture[w]), differing[w])) or FULL
  end
  if page.lacked and not by_title then
    local shown = {}
    for w = 1, WORDS do
      shown[w] = page.lacked[w]
      for i = 1, BITS do
        shown[w] = band(shown[w], bnot(bxor(page.lacked_values[i][w], values[i][w])))
      end
    end
    if 2 * count(shown) > count(page.lacked) then -- the other page has it
      for w = 1, WORDS do
        differing[w], counted[w] = band(differing[w], bnot(shown[w])), band(counted[w], bnot(shown[w]))
      end
    end
  end
  return differing, counted, core
end

-- Whether enough links of the page at hand are furniture.
local function has_links_of_site(page)
  if not page.furniture then return false end
  return count(page.links, page.furniture) >= SITE_LINKS * count(page.links)
end

-- How much only this page has besides its core, in elements named as furniture or in links, as a
-- multiple of the permitted share.
local function besides_of(page, differing, demand, same_rows)
  local named, links = 0, 0
  for w = 1, WORDS do
    local beside = differing[w]
    if page.furniture then beside = band(beside, bnot(page.furniture[w])) end
    named = named + ones(band(beside, page.named[w]))
    links = links + ones(band(beside, page.links[w]))
  end
  if same_rows and has_links_of_site(page) then links = 0 end
  return math.max(named / (demand[4] * DIFFER * BINS), links / (demand[5] * DIFFER * BINS))
end

-- The bins of the core that don't depend on the order of rows.
local function rows_of(page, owners, core)
  local rows, border = {}, owned_by(owners, BORDER)
  for w = 1, WORDS do rows[w] = band(core[w], bnot(bor(page.border[w], border[w]))) end
  return rows
end

-- Name of the rule by which the page repeats an entry, or nil; then the four numbers of `Compared`
-- (differing and counted bins of texts and of cores), none for short pages. Each count is made when
-- the first row needs it.
local function decide(page, stored, same_embedded)
  if #stored ~= #page.stored then return nil end
  local names = names_of(page, stored)
  if not same_embedded and names < NAMES.TRANSLATED then return nil end
  if not page.values then return names > NAMES.RETITLED and RULE.EQUAL or nil end
  local owners = planes_in(stored, BITS, OWNER_BITS)
  local by_title = names == NAMES.TITLE and not page.titles_ignored
  local differing, counted, in_core = compare(page, stored, owners, by_title)
  local text, core, of_core = count(differing), count(differing, in_core), count(counted, in_core)
  local of_text = page.furniture and count(counted) or BINS
  local function decided(rule) return rule, text, of_text, core, of_core end
  if names <= NAMES.UNKNOWN and (page.young_folder or of_core * BITS < MIN_BITS) then
    if names <= NAMES.RETITLED and page.young_site then return nil end
    local same_text = sub(stored, TEXT, TEXT + 1) == sub(page.stored, TEXT, TEXT + 1)
    local least = names <= NAMES.RETITLED and MIN_BITS or 0
    local is_told = of_text * BITS >= (same_text and least or MIN_EQUAL_BITS)
    if text <= EQUAL * of_text and is_told then
      return decided(RULE.EQUAL_TEXT)
    end
    return nil
  end
  local most = page.most
  local demand = DEMANDS[names]
  local unlike = demand[1] * most
  if text <= unlike * of_text and core <= unlike * of_core then
    local these, of_these = core, of_core
    if of_core < MIN_TELLING_CORE_BINS then these, of_these = text, of_text end
    if not by_title or these <= UNDER_ONE_TITLE * most * of_these then return decided(RULE.ALIKE) end
  end
  local same_rows = names >= NAMES.NAMESAKE and page.rows > 0
    and rows_without(stored, page.changing) == page.rows
  local besides = besides_of(page, differing, demand, same_rows)
  if besides > 1 then return nil end
  if demand[6] > 0 and besides <= 0.5 and of_core >= demand[3]
    and core <= demand[6] * most * of_core then
    return decided(RULE.SAME_CORE)
  end
  local these, of_these = core, of_core
  if names >= NAMES.NAMESAKE then
    local rows = rows_of(page, owners, in_core)
    these, of_these = count(differing, rows), count(counted, rows)
  end
  if same_rows and of_these > 0 then return decided(RULE.SAME_CORE) end
  if of_these >= demand[3] and these <= demand[2] * DIFFER * of_these then
    return decided(RULE.SAME_CORE)
  end
end

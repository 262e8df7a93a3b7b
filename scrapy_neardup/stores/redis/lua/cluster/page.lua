-- Which entry is a page's? One pointer a page id: key and attempt, 12 bytes.
--
-- KEYS: the page hash
-- ARGV: page id, 'get' | 'swap' | 'clear', name, another name or ''
--       swap: set the pointer to the name
--       clear: if it is the name, set it to the other name, or remove it
-- Reply: the pointer as it was, or ''

local id, verb, name = ARGV[1], ARGV[2], ARGV[3]
local s = bucket(KEYS[1], id)
local o = find(s, 18, id)
local old, new = '', nil
if sub(s, o + 1, o + 6) == sub(id, 3, 8) then old = sub(s, o + 7, o + 18) end
if verb == 'swap' and old ~= name then new = name end
if verb == 'clear' and old == name then new = ARGV[4] end
if new then
  if old ~= '' then remove(KEYS[1], id, old, PAGE_DEPTH) end
  if new ~= '' then insert(KEYS[1], id, new, PAGE_DEPTH) end
end
return old

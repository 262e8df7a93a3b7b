-- Which entry is a page's? One pointer a page id: key and attempt, 12 bytes.
--
-- KEYS: the page hash
-- ARGV: page id, 'get' | 'swap' | 'clear', name (swap: to set; clear: only if it is this one)
-- Reply: the pointer as it was, or ''

local id, verb, name = ARGV[1], ARGV[2], ARGV[3]
local s = bucket(KEYS[1], id)
local o = find(s, 18, id)
local old = ''
if sub(s, o + 1, o + 6) == sub(id, 3, 8) then old = sub(s, o + 7, o + 18) end
if (verb == 'swap' and old ~= name) or (verb == 'clear' and old == name and old ~= '') then
  if old ~= '' then remove(KEYS[1], id, old, PAGE_DEPTH) end
  if verb == 'swap' then insert(KEYS[1], id, name, PAGE_DEPTH) end
end
return old

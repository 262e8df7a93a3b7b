-- Claim a place in table 1: the entry is pending from here on.
--
-- ARGV: key, attempt, limit (bits; -1: no page finds it by its key), page id, tag,
--       lease (ms), body or ''
-- Reply: {'full'} | {'gone'} | {'claimed', key and attempt .. page id .. tag .. state of each
--        other entry near it}

local f, attempt, limit, body = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[7]
if buried(f, attempt) then return { 'gone' } end
if call('HEXISTS', KEY, 'c' .. f .. attempt) == 1 then
  return { 'claimed' } -- it is kept already, and this call is a late copy
end
local entry = ARGV[4] .. ARGV[5] .. 'p' .. u(NOW_MS + tonumber(ARGV[6]), 6)
local reply = { 'claimed' }
if limit >= 0 then
  reply = claim(KEY, WIDTH, f, attempt, limit, entry, 9 + TAG_BYTES)
  if reply[1] == 'full' then return reply end
elseif not locate(f, attempt) then
  local s, name, level = bucket(KEY, f)
  if #s < CAP * WIDTH then
    store(KEY, name, level, f, WIDTH, DEPTH, joined(s, find(s, WIDTH, f), f, attempt .. entry))
  else
    call('HSET', KEY, 'c' .. f .. attempt, sub(f, 3, 8) .. attempt .. entry)
  end
end
if body ~= '' then call('HSET', KEY, 'b' .. f .. attempt, body) end
return reply

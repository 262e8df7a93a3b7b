-- Claim a place in table 1: the entry is pending from here on.
--
-- ARGV: key, attempt, limit (bits), page id, evidence, lease (ms)
-- Reply: {'full'} | {'gone'} | {'claimed', [key, attempt] of every other entry near it}

local f, attempt = ARGV[1], ARGV[2]
if buried(f, attempt) then return { 'gone' } end
local s, name, level = bucket(KEY, f)
local near, place = probe(s, WIDTH, f, RANGES[1], tonumber(ARGV[3]))
local reply, mine = { 'claimed' }, false
for _, o in ipairs(near or {}) do
  local other, its = sub(f, 1, 2) .. sub(s, o + 1, o + 6), sub(s, o + 7, o + 10)
  if other == f and its == attempt then
    mine = true -- the call is repeated
  else
    reply[#reply + 1] = other
    reply[#reply + 1] = its
  end
end
if not mine then
  if #s >= CAP * WIDTH then
    call('HINCRBY', KEY, 'O', 1)
    return { 'full' }
  end
  local record = sub(f, 3, 8) .. attempt .. ARGV[4] .. ARGV[5] .. 'p' .. u(NOW_MS + tonumber(ARGV[6]), 6)
  store(KEY, name, level, f, WIDTH, DEPTH, sub(s, 1, place) .. record .. sub(s, place + 1))
end
return reply

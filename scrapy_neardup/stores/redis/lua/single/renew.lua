-- A crawler lives: its pending entries keep their lease.
--
-- ARGV: prefix, lease (ms), then page ids

for i = 3, #ARGV do
  -- XX: what was confirmed, forgotten or cleared away stays so.
  call('ZADD', PREFIX .. 'pending', 'XX', now_ms() + tonumber(ARGV[2]), ARGV[i])
end

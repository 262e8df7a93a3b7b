-- A crawler lives: its pending entries keep their lease.
--
-- ARGV: prefix, lease (ms), then page ids
-- Reply: a number for each page

return replies_to(2, function(id)
  -- XX: what was confirmed, forgotten or cleared away stays so.
  return call('ZADD', PENDING, 'XX', now_ms() + tonumber(ARGV[2]), id)
end)

-- Renew the leases of pending entries, as their crawler lives.
--
-- ARGV: prefix, lease (ms), then page ids
-- Reply: a number for each page, without meaning

return replies_to(2, function(id)
  -- XX: an entry that was confirmed, forgotten or cleared away isn't pending again.
  return call('ZADD', PENDING, 'XX', now_ms() + tonumber(ARGV[2]), id)
end)

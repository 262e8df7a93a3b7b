-- Renew the leases of pending entries, as their crawler lives.
--
-- ARGV: prefix, lease (ms), page ids
-- Reply: '' for each page

return (replies_to(function(id)
  -- XX: an entry that was confirmed, forgotten or cleared away isn't pending again.
  call('ZADD', PENDING, 'XX', now_ms() + tonumber(ARGV[2]), id)
  return ''
end))

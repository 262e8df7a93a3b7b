-- Withdraw pending entries, as the processing of their pages failed.
--
-- ARGV: prefix, then page ids
-- Reply: for each page how many had been dropped as duplicates of it; 0 if none is pending

return replies_to(1, function(id)
  return call('ZSCORE', PENDING, id) and withdraw(id) or 0
end)

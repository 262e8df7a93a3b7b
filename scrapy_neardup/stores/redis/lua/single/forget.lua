-- Withdraw pending entries, as the processing of their pages failed.
--
-- ARGV: prefix, then page ids
-- Reply: for each page the number of pages dropped as its duplicates; 0 if it isn't pending

return replies_to(1, function(id)
  return call('ZSCORE', PENDING, id) and withdraw(id) or 0
end)

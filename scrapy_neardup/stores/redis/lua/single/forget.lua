-- Withdraw pending entries, as the processing of their pages failed.
--
-- ARGV: prefix, page ids
-- Reply: for each page the number of pages dropped as its duplicates; 0 if it isn't pending

return (replies_to(function(id)
  return tostring(call('ZSCORE', PENDING, id) and withdraw(id) or 0)
end))

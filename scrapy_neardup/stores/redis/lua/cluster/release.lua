-- Take a claim out of one of the tables 2 to t, or from under a feature. Only for an attempt that
-- can no longer commit, or that need not be found there.
--
-- KEYS: the hash of this list
-- ARGV: key in table order or feature, attempt or name

remove(KEYS[1], ARGV[1], ARGV[2], 0) -- nothing is split by that

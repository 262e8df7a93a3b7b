-- Take a claim out of one of the tables 2 .. t. Only for an attempt that can't commit any more.
--
-- KEYS: the hash of this table and prefix
-- ARGV: key in table order, attempt

remove(KEYS[1], ARGV[1], ARGV[2], DEPTH)
return 0

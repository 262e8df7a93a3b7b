-- Name entries that are over: their lease has lapsed, or no page met them for the retention.
-- Atomic: nothing is changed; withdraw.lua looks again before it removes one.
--
-- KEYS: all keys that are used, or none   ARGV: prefix; retention (ms), 0: none; maximum of each
-- Reply: page ids, 8 each, in one string
local call, P, RETENTION = redis.call, ARGV[1], tonumber(ARGV[2])
local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(time[2] / 1000)
local lapsed = call('ZRANGEBYSCORE', P .. 'pending', '-inf', '(' .. now, 'LIMIT', 0, ARGV[3])
local unseen = RETENTION == 0 and {}
  or call('ZRANGEBYSCORE', P .. 'seen', '-inf', '(' .. now - RETENTION, 'LIMIT', 0, ARGV[3])
return table.concat(lapsed) .. table.concat(unseen)

-- The session of the process that holds a lease.
--
-- Why: the server lets go of a session's advisory lock when its process ends, so others can see that a
-- process is gone long before its lease has run out.
-- Compatibility: a column that may be empty; a release that does not know it leaves it so, and its leases
-- are judged by time alone, as before.

ALTER TABLE node_lease ADD COLUMN session bigint;

-- The session of the process that sits at a seat.
--
-- Why: the server lets go of a session's advisory lock when its process ends, so others can see that a
-- process is gone long before its seat has run out.
-- Compatibility: a column that may be empty; a release that does not know it leaves it so, and its seats
-- are judged by time alone, as before.

ALTER TABLE seat ADD COLUMN session bigint;

-- Definitions can be paused.
--
-- Why: a paused definition starts no instances. All versions of its name have the same value.
-- Compatibility: a column is added. The previous release ignores it, and starts instances of paused
-- definitions.

ALTER TABLE definition ADD COLUMN paused BLOB;  -- since when, by whom and why; NULL if it is not paused

-- How many live instances there are below a root.
--
-- Why a table of its own: a definition that starts itself without end is stopped at a number of
-- instances, on every node, and counting rows at each start would cost as much as there are.
-- Compatibility: a new table. Trees that were there before are counted from zero, so they may grow
-- beyond the limit by what they had; nothing is lost by that.

CREATE TABLE tree (
    id_order INTEGER PRIMARY KEY,
    id_random INTEGER NOT NULL,
    live INTEGER NOT NULL CHECK (live > 0)
) STRICT;

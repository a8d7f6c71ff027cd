-- The ledger of schedules: what became of every occurrence.
--
-- Why a table of its own: an occurrence starts at most one run, across crashes and nodes, because its key is
-- unique here and is written with the start (S2). Missed occurrences in a row share one line.
-- Compatibility: a new table; nothing that was stored before changes.

CREATE TABLE occurrence (
    id_order INTEGER NOT NULL,
    scheduled_at INTEGER NOT NULL,
    -- An occurrence that was missed and filled back later has two lines, but never two starts.
    is_start INTEGER NOT NULL CHECK (is_start = (outcome = 'started')),
    id_random INTEGER NOT NULL,
    last_at INTEGER NOT NULL CHECK (last_at >= scheduled_at),
    count INTEGER NOT NULL CHECK (count > 0),
    outcome TEXT NOT NULL
        CHECK (outcome = 'started' OR outcome = 'skipped' OR outcome = 'missed' OR outcome = 'failed'),
    reason TEXT NOT NULL,
    run_id_order INTEGER,
    run_id_random INTEGER,
    decided_at INTEGER NOT NULL,
    PRIMARY KEY (id_order, scheduled_at, is_start)
) WITHOUT ROWID, STRICT;
-- Lines that are old enough to go.
CREATE INDEX occurrence_decided ON occurrence (decided_at);

CREATE VIEW v_occurrence AS
    SELECT schedule.id AS schedule, o.scheduled_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', o.scheduled_at / 1000.0, 'unixepoch') AS occurrence,
        o.last_at, o.count, o.outcome, o.reason, run.id AS run, o.decided_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', o.decided_at / 1000.0, 'unixepoch') AS decided
    FROM occurrence AS o
    LEFT JOIN v_id AS schedule ON schedule.id_order = o.id_order
    LEFT JOIN v_id AS run ON run.id_order = o.run_id_order;

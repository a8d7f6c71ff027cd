-- The ledger of schedules: what became of every slot.
--
-- Why a table of its own: a slot starts at most one run, across crashes and nodes, because its key is
-- unique here and is written with the start (S2). Missed slots in a row share one line.
-- Compatibility: a new table; nothing that was stored before changes.

CREATE TABLE occurrence (
    id_order INTEGER NOT NULL,
    slot_at INTEGER NOT NULL,
    -- A slot that was missed and filled back later has two lines, but never two starts.
    is_start INTEGER NOT NULL CHECK (is_start = (outcome = 'started')),
    id_random INTEGER NOT NULL,
    last_at INTEGER NOT NULL CHECK (last_at >= slot_at),
    count INTEGER NOT NULL CHECK (count > 0),
    outcome TEXT NOT NULL
        CHECK (outcome = 'started' OR outcome = 'skipped' OR outcome = 'missed' OR outcome = 'failed'),
    reason TEXT NOT NULL,
    run_id_order INTEGER,
    run_id_random INTEGER,
    decided_at INTEGER NOT NULL,
    PRIMARY KEY (id_order, slot_at, is_start)
) WITHOUT ROWID, STRICT;
-- Lines that are old enough to go.
CREATE INDEX occurrence_decided ON occurrence (decided_at);

CREATE VIEW v_occurrence AS
    SELECT schedule.id AS schedule, o.slot_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', o.slot_at / 1000.0, 'unixepoch') AS slot,
        o.last_at, o.count, o.outcome, o.reason, run.id AS run, o.decided_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', o.decided_at / 1000.0, 'unixepoch') AS decided
    FROM occurrence AS o
    LEFT JOIN v_id AS schedule ON schedule.id_order = o.id_order
    LEFT JOIN v_id AS run ON run.id_order = o.run_id_order;

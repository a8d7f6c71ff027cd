-- The ledger of schedules: what became of every slot.
--
-- Why a table of its own: a slot starts at most one run, across crashes and nodes, because its key is
-- unique here and is written with the start (S2). Missed slots in a row share one line.
-- Compatibility: a new table; nothing that was stored before changes.

CREATE TABLE occurrence (
    ord bigint NOT NULL,
    slot_at bigint NOT NULL,
    -- A slot that was missed and filled back later has two lines, but never two starts.
    is_start boolean NOT NULL CHECK (is_start = (outcome = 'started')),
    random bigint NOT NULL,
    last_at bigint NOT NULL CHECK (last_at >= slot_at),
    count bigint NOT NULL CHECK (count > 0),
    outcome text NOT NULL
        CHECK (outcome IN ('started', 'skipped', 'missed', 'failed')),
    reason text NOT NULL,
    run_ord bigint,
    run_random bigint,
    decided_at bigint NOT NULL,
    PRIMARY KEY (ord, slot_at, is_start)
);
-- Lines that are old enough to go.
CREATE INDEX occurrence_decided ON occurrence (decided_at);

CREATE VIEW v_occurrence AS
    SELECT schedule.id AS schedule, o.slot_at,
        to_char(timestamp 'epoch' + o.slot_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS slot,
        o.last_at, o.count, o.outcome, o.reason, run.id AS run, o.decided_at,
        to_char(timestamp 'epoch' + o.decided_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS decided
    FROM occurrence AS o
    LEFT JOIN v_id AS schedule ON schedule.ord = o.ord
    LEFT JOIN v_id AS run ON run.ord = o.run_ord;

-- The ledger of schedules: what became of every occurrence.
--
-- Why a table of its own: an occurrence starts at most one run, across crashes and nodes, because its key is
-- unique here and is written with the start (S2). Missed occurrences in a row share one line.
-- Compatibility: a new table; nothing that was stored before changes.

CREATE TABLE occurrence (
    id_order bigint NOT NULL,
    scheduled_at bigint NOT NULL,
    -- An occurrence that was missed and filled back later has two lines, but never two starts.
    is_start boolean NOT NULL CHECK (is_start = (outcome = 'started')),
    id_random bigint NOT NULL,
    last_at bigint NOT NULL CHECK (last_at >= scheduled_at),
    count bigint NOT NULL CHECK (count > 0),
    outcome text NOT NULL
        CHECK (outcome IN ('started', 'skipped', 'missed', 'failed')),
    reason text NOT NULL,
    run_id_order bigint,
    run_id_random bigint,
    decided_at bigint NOT NULL,
    PRIMARY KEY (id_order, scheduled_at, is_start)
);
-- Lines that are old enough to go.
CREATE INDEX occurrence_decided ON occurrence (decided_at);

CREATE VIEW v_occurrence AS
    SELECT schedule.id AS schedule, o.scheduled_at,
        to_char(timestamp 'epoch' + o.scheduled_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS occurrence,
        o.last_at, o.count, o.outcome, o.reason, run.id AS run, o.decided_at,
        to_char(timestamp 'epoch' + o.decided_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS decided
    FROM occurrence AS o
    LEFT JOIN v_id AS schedule ON schedule.id_order = o.id_order
    LEFT JOIN v_id AS run ON run.id_order = o.run_id_order;

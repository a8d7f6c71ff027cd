-- Generated: what all migrations make together. `UPDATE_EXPECT=1 cargo test -p meantime-store` writes it.

CREATE TABLE answer (
    key TEXT PRIMARY KEY,
    request INTEGER NOT NULL,       -- a hash of the request
    id_order INTEGER NOT NULL,
    id_random INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE INDEX answer_expiry ON answer (expires_at);

CREATE TABLE definition (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    notation TEXT NOT NULL,
    label TEXT,
    hash TEXT NOT NULL,
    deployed_at INTEGER NOT NULL,
    retired INTEGER NOT NULL CHECK (retired = 0 OR retired = 1),
    source_name TEXT NOT NULL,
    triggers BLOB NOT NULL
, paused BLOB) STRICT;

CREATE UNIQUE INDEX definition_version ON definition (name, version);

CREATE TABLE definition_source (
    definition_id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,           -- byte for byte
    files BLOB NOT NULL
) STRICT;

CREATE TABLE history (
    seq INTEGER PRIMARY KEY,
    id_order INTEGER NOT NULL,
    id_random INTEGER NOT NULL,
    turn_no INTEGER NOT NULL,
    happened_at INTEGER NOT NULL,
    previous INTEGER NOT NULL,      -- 0 is none
    records BLOB NOT NULL
) STRICT;

CREATE TABLE inbox (
    id_order INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id_random INTEGER NOT NULL,
    arrived_at INTEGER NOT NULL,
    held_by BLOB,                   -- the incident that holds it back (16 bytes of its id)
    origin BLOB,                    -- the message it was made from
    event BLOB NOT NULL,
    PRIMARY KEY (id_order, seq)
) WITHOUT ROWID, STRICT;

CREATE TABLE incident (
    id BLOB PRIMARY KEY,            -- 16 bytes, increasing
    id_order INTEGER NOT NULL,
    id_random INTEGER NOT NULL,
    raised_at INTEGER NOT NULL,
    element TEXT NOT NULL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    data TEXT,                      -- JSON
    cause BLOB NOT NULL
) WITHOUT ROWID, STRICT;

CREATE INDEX incident_code ON incident (code, id_order);

CREATE INDEX incident_instance ON incident (id_order);

CREATE TABLE instance (
    id_order INTEGER PRIMARY KEY,
    id_random INTEGER NOT NULL,
    turn_no INTEGER NOT NULL,       -- the arbiter of every write
    phase TEXT NOT NULL CHECK (
        phase = 'running' OR phase = 'completed' OR phase = 'starting' OR phase = 'yielding'
        OR phase = 'closing' OR phase = 'failed' OR phase = 'cancelled'),
    definition_id INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    deadline_at INTEGER,
    last_history INTEGER NOT NULL,  -- history.seq of its newest row; 0 is none
    parent_id_order INTEGER,             -- only children; the whole lineage is in `meta`
    key TEXT,
    state_format INTEGER NOT NULL,
    open BLOB,                      -- open timers, tasks, subscriptions; NULL is nothing
    meta BLOB,                     -- what is rarely there; NULL is nothing
    state BLOB NOT NULL,            -- opaque bytes of the notation
    CHECK ((phase = 'completed' OR phase = 'failed' OR phase = 'cancelled')
        = (ended_at IS NOT NULL))
) STRICT;

CREATE INDEX instance_child ON instance (parent_id_order, ended_at) WHERE parent_id_order IS NOT NULL;

CREATE INDEX instance_ended ON instance (ended_at) WHERE ended_at IS NOT NULL;

CREATE INDEX instance_key ON instance (key, ended_at) WHERE key IS NOT NULL;

CREATE INDEX instance_live ON instance (definition_id) WHERE ended_at IS NULL;

CREATE INDEX instance_unusual ON instance (phase)
    WHERE phase = 'starting' OR phase = 'yielding' OR phase = 'failed' OR phase = 'cancelled';

CREATE TABLE instance_count (
    definition_id INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (
        status = 'running' OR status = 'completed' OR status = 'failed' OR status = 'cancelled'),
    count INTEGER NOT NULL,         -- without the changes in `node.counts`
    PRIMARY KEY (definition_id, status)
) WITHOUT ROWID, STRICT;

CREATE TABLE instance_tag (
    tag TEXT NOT NULL,
    id_order INTEGER NOT NULL,
    PRIMARY KEY (tag, id_order)
) WITHOUT ROWID, STRICT;

CREATE INDEX instance_tag_instance ON instance_tag (id_order);

CREATE TABLE message (
    kind TEXT NOT NULL CHECK (kind = 'signal' OR kind = 'message' OR kind = 'broadcast'),
    key TEXT NOT NULL,              -- correlation key; of signals the instance's id
    name TEXT NOT NULL,
    seq INTEGER NOT NULL,
    expires_at INTEGER,             -- NULL is never
    payload TEXT NOT NULL, had TEXT NOT NULL DEFAULT '',          -- JSON
    PRIMARY KEY (kind, key, name, seq)
) WITHOUT ROWID, STRICT;

CREATE INDEX message_expiry ON message (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE message_id (
    id TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE INDEX message_id_expiry ON message_id (expires_at);

CREATE TABLE node (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    epoch INTEGER NOT NULL,         -- part of every lease token; a restore makes it larger
    paused INTEGER NOT NULL CHECK (paused = 0 OR paused = 1), -- a copy that may not act yet
    clock_at INTEGER NOT NULL,      -- the latest time any commit has seen
    last_batch INTEGER NOT NULL,    -- the number of the last batch that was committed
    last_seq INTEGER NOT NULL       -- the largest sequence number ever written
, counts BLOB NOT NULL DEFAULT x'') STRICT;

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

CREATE INDEX occurrence_decided ON occurrence (decided_at);

CREATE TABLE operation (
    number INTEGER PRIMARY KEY,
    happened_at INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'copied' OR kind = 'restored' OR kind = 'resumed'),
    actor TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;

CREATE TABLE schema_migration (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,           -- of the file that was applied
    applied_at INTEGER NOT NULL     -- the store's clock then; 0 for a new file
) STRICT;

CREATE TABLE subscription (
    kind TEXT NOT NULL CHECK (kind = 'signal' OR kind = 'message' OR kind = 'broadcast'),
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id_order INTEGER NOT NULL,
    id_random INTEGER NOT NULL,
    turn_no INTEGER NOT NULL,
    ordinal INTEGER NOT NULL, definition TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (kind, key, name, seq)
) WITHOUT ROWID, STRICT;

CREATE INDEX subscription_definition ON subscription (kind, key, name, definition, seq);

CREATE TABLE task (
    id_order INTEGER NOT NULL,
    turn_no INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    id_random INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'worker' OR kind = 'engine' OR kind = 'user'),
    queue TEXT NOT NULL,            -- empty is the default queue
    name TEXT NOT NULL,
    priority INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (
        state = 'ready' OR state = 'leased' OR state = 'held' OR state = 'done'),
    available_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    deadline_at INTEGER,
    definition_id INTEGER NOT NULL,
    detached INTEGER NOT NULL CHECK (detached = 0 OR detached = 1),
    claims INTEGER NOT NULL,        -- how often it was claimed: the fence of every report
    attempt INTEGER NOT NULL,
    expiries INTEGER NOT NULL,
    lease_worker TEXT,
    lease_until INTEGER,            -- real time, unlike every other instant
    lease_timeout_at INTEGER,
    assignee TEXT,
    outcome BLOB,
    spec BLOB NOT NULL,
    PRIMARY KEY (id_order, turn_no, ordinal)
) WITHOUT ROWID, STRICT;

CREATE INDEX task_done ON task (available_at) WHERE state = 'done';

CREATE INDEX task_ready ON task (queue, name, priority DESC, available_at)
    WHERE state = 'ready' AND kind = 'worker';

CREATE INDEX task_user ON task (id_order, turn_no, ordinal) WHERE kind = 'user';

CREATE TABLE timer (
    frozen INTEGER NOT NULL CHECK (frozen = 0 OR frozen = 1),
    due_at INTEGER NOT NULL,
    id_order INTEGER NOT NULL,
    turn_no INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    id_random INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'timer' OR kind = 'deadline' OR kind = 'taskDeadline'),
    definition_id INTEGER NOT NULL,
    element TEXT NOT NULL,
    PRIMARY KEY (frozen, due_at, id_order, turn_no, ordinal)
) WITHOUT ROWID, STRICT;

CREATE TABLE tree (
    id_order INTEGER PRIMARY KEY,
    id_random INTEGER NOT NULL,
    live INTEGER NOT NULL CHECK (live > 0)
) STRICT;

CREATE TABLE trigger_start (
    kind TEXT NOT NULL CHECK (kind = 'message' OR kind = 'broadcast'),
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    definition_id INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, name, definition)
) WITHOUT ROWID, STRICT;

CREATE INDEX trigger_start_definition ON trigger_start (definition);

CREATE VIEW v_history AS
    SELECT h.seq, v_id.id AS instance, h.turn_no, h.previous, length(h.records) AS bytes,
        h.happened_at, strftime('%Y-%m-%dT%H:%M:%fZ', h.happened_at / 1000.0, 'unixepoch') AS happened
    FROM history AS h
    LEFT JOIN v_id ON v_id.id_order = h.id_order;

CREATE VIEW v_id AS
    SELECT id_order, 'in_' ||
        substr(a, 1 + ((id_order >> 61) & 31), 1) ||
        substr(a, 1 + ((id_order >> 56) & 31), 1) ||
        substr(a, 1 + ((id_order >> 51) & 31), 1) ||
        substr(a, 1 + ((id_order >> 46) & 31), 1) ||
        substr(a, 1 + ((id_order >> 41) & 31), 1) ||
        substr(a, 1 + ((id_order >> 36) & 31), 1) ||
        substr(a, 1 + ((id_order >> 31) & 31), 1) ||
        substr(a, 1 + ((id_order >> 26) & 31), 1) ||
        substr(a, 1 + ((id_order >> 21) & 31), 1) ||
        substr(a, 1 + ((id_order >> 16) & 31), 1) ||
        substr(a, 1 + ((id_order >> 11) & 31), 1) ||
        substr(a, 1 + ((id_order >> 6) & 31), 1) ||
        substr(a, 1 + ((id_order >> 1) & 31), 1) ||
        substr(a, 1 + (((id_order & 1) << 4) | ((id_random >> 60) & 15)), 1) ||
        substr(a, 1 + ((id_random >> 55) & 31), 1) ||
        substr(a, 1 + ((id_random >> 50) & 31), 1) ||
        substr(a, 1 + ((id_random >> 45) & 31), 1) ||
        substr(a, 1 + ((id_random >> 40) & 31), 1) ||
        substr(a, 1 + ((id_random >> 35) & 31), 1) ||
        substr(a, 1 + ((id_random >> 30) & 31), 1) ||
        substr(a, 1 + ((id_random >> 25) & 31), 1) ||
        substr(a, 1 + ((id_random >> 20) & 31), 1) ||
        substr(a, 1 + ((id_random >> 15) & 31), 1) ||
        substr(a, 1 + ((id_random >> 10) & 31), 1) ||
        substr(a, 1 + ((id_random >> 5) & 31), 1) ||
        substr(a, 1 + (id_random & 31), 1) AS id
    FROM instance, (SELECT '0123456789abcdefghjkmnpqrstvwxyz' AS a);

CREATE VIEW v_incident AS
    SELECT lower(hex(c.id)) AS incident, v_id.id AS instance, c.element, c.code, c.message, c.data,
        c.raised_at, strftime('%Y-%m-%dT%H:%M:%fZ', c.raised_at / 1000.0, 'unixepoch') AS raised
    FROM incident AS c
    LEFT JOIN v_id ON v_id.id_order = c.id_order;

CREATE VIEW v_instance AS
    SELECT v_id.id, d.name AS definition, d.version, i.phase, i.turn_no, i.key,
        i.started_at, strftime('%Y-%m-%dT%H:%M:%fZ', i.started_at / 1000.0, 'unixepoch') AS started,
        i.ended_at, strftime('%Y-%m-%dT%H:%M:%fZ', i.ended_at / 1000.0, 'unixepoch') AS ended,
        i.deadline_at, strftime('%Y-%m-%dT%H:%M:%fZ', i.deadline_at / 1000.0, 'unixepoch') AS deadline,
        parent.id AS parent, length(i.state) AS state_bytes
    FROM instance AS i
    LEFT JOIN v_id ON v_id.id_order = i.id_order
    LEFT JOIN v_id AS parent ON parent.id_order = i.parent_id_order
    LEFT JOIN definition AS d ON d.id = i.definition_id;

CREATE VIEW v_occurrence AS
    SELECT schedule.id AS schedule, o.scheduled_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', o.scheduled_at / 1000.0, 'unixepoch') AS occurrence,
        o.last_at, o.count, o.outcome, o.reason, run.id AS run, o.decided_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', o.decided_at / 1000.0, 'unixepoch') AS decided
    FROM occurrence AS o
    LEFT JOIN v_id AS schedule ON schedule.id_order = o.id_order
    LEFT JOIN v_id AS run ON run.id_order = o.run_id_order;

CREATE VIEW v_operation AS
    SELECT number, kind, actor, reason, happened_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', happened_at / 1000.0, 'unixepoch') AS happened
    FROM operation;

CREATE VIEW v_task AS
    SELECT v_id.id AS instance, t.turn_no, t.ordinal, t.kind, t.queue, t.name, t.priority, t.state,
        t.detached, t.claims, t.attempt, t.lease_worker, t.assignee, d.name AS definition,
        t.available_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', t.available_at / 1000.0, 'unixepoch') AS available,
        t.created_at, strftime('%Y-%m-%dT%H:%M:%fZ', t.created_at / 1000.0, 'unixepoch') AS created
    FROM task AS t
    LEFT JOIN v_id ON v_id.id_order = t.id_order
    LEFT JOIN definition AS d ON d.id = t.definition_id;

CREATE VIEW v_timer AS
    SELECT v_id.id AS instance, t.turn_no, t.ordinal, t.kind, t.element, t.frozen,
        d.name AS definition, t.due_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', t.due_at / 1000.0, 'unixepoch') AS due
    FROM timer AS t
    LEFT JOIN v_id ON v_id.id_order = t.id_order
    LEFT JOIN definition AS d ON d.id = t.definition_id;

-- The first schema: everything one node keeps, in one file.
--
-- Why it looks like this: layout is speed. A one-task instance costs one row of `instance` (written
-- twice), one of `task` (written twice, then deleted), two of `history`, and nothing else. Rows are
-- appended in key order wherever possible: `id_order` is the increasing part of an instance's id and the
-- integer key of its row, history is keyed by an increasing number, timers are clustered by due
-- time. What belongs to an instance is found through the packed list `instance.open` and the chain
-- `last_history`, so that no table needs an index by instance. Every index has its reason beside it;
-- a new one needs a measurement (docs/internals/storage.md).
--
-- Conventions: an id is (`id_order`, `id_random`), both checked on every lookup. Instants are milliseconds
-- since 1970 (`_at`). BLOB columns are CBOR with numbered fields unless a comment says otherwise. No
-- foreign keys: the fence of a unit is its instance's turn number, and rows are removed by key.
-- Constraints use OR where IN would read better, because SQLite builds a temporary index for every
-- IN of more than two values, at every write: that alone halved the throughput.
--
-- Compatibility: the first release; nothing reads an older file.

-- What must survive a restart and belongs to nobody: one row, rewritten by every commit.
CREATE TABLE node (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    epoch INTEGER NOT NULL,         -- part of every lease token; a restore makes it larger
    paused INTEGER NOT NULL CHECK (paused = 0 OR paused = 1), -- a copy that may not act yet
    clock_at INTEGER NOT NULL,      -- the latest time any commit has seen
    last_batch INTEGER NOT NULL,    -- the number of the last batch that was committed
    last_seq INTEGER NOT NULL       -- the largest sequence number ever written
) STRICT;
INSERT INTO node (id, epoch, paused, clock_at, last_batch, last_seq) VALUES (1, 0, 0, 0, 0, 0);

-- What was done to the store as a whole.
CREATE TABLE operation (
    number INTEGER PRIMARY KEY,
    happened_at INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'copied' OR kind = 'restored' OR kind = 'resumed'),
    actor TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;

-- One row per instance. Columns that every turn rewrites are in no index.
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
-- Lists and counts of what runs, by definition. Ended instances leave it.
CREATE INDEX instance_live ON instance (definition_id) WHERE ended_at IS NULL;
-- Few rows at any time or for ever: what goes on by itself after a restart, and what went wrong.
CREATE INDEX instance_unusual ON instance (phase)
    WHERE phase = 'starting' OR phase = 'yielding' OR phase = 'failed' OR phase = 'cancelled';
-- The holder of a business key (ended_at is NULL), and every instance that ever had it.
CREATE INDEX instance_key ON instance (key, ended_at) WHERE key IS NOT NULL;
-- Children of a parent: the live ones, to cancel them, and all, to remove a tree.
CREATE INDEX instance_child ON instance (parent_id_order, ended_at) WHERE parent_id_order IS NOT NULL;

-- Tags and attributes (`name=value`) to find instances by.
CREATE TABLE instance_tag (
    tag TEXT NOT NULL,
    id_order INTEGER NOT NULL,
    PRIMARY KEY (tag, id_order)
) WITHOUT ROWID, STRICT;
-- Tags of an instance that is removed.
CREATE INDEX instance_tag_instance ON instance_tag (id_order);

-- Events that outlive a transaction, by their position in the instance's inbox.
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

-- Armed timers, clustered by due time: what can fire comes first.
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

-- Tasks that are not over, or are over and detached. `spec` comes last: lists and recovery read the
-- columns before it without touching the pages of long inputs.
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
-- What workers can claim: one seek per queue, type and priority.
CREATE INDEX task_ready ON task (queue, name, priority DESC, available_at)
    WHERE state = 'ready' AND kind = 'worker';
-- The task list of people, among many tasks of workers.
CREATE INDEX task_user ON task (id_order, turn_no, ordinal) WHERE kind = 'user';
-- Detached tasks that are over, by their end, until retention.
CREATE INDEX task_done ON task (available_at) WHERE state = 'done';

-- What happened: one packed row per turn, appended, each naming the instance's row before it.
CREATE TABLE history (
    seq INTEGER PRIMARY KEY,
    id_order INTEGER NOT NULL,
    id_random INTEGER NOT NULL,
    turn_no INTEGER NOT NULL,
    happened_at INTEGER NOT NULL,
    previous INTEGER NOT NULL,      -- 0 is none
    records BLOB NOT NULL
) STRICT;

-- Messages and signals that wait for somebody.
CREATE TABLE message (
    kind TEXT NOT NULL CHECK (kind = 'signal' OR kind = 'message' OR kind = 'broadcast'),
    key TEXT NOT NULL,              -- correlation key; of signals the instance's id
    name TEXT NOT NULL,
    seq INTEGER NOT NULL,
    expires_at INTEGER,             -- NULL is never
    payload TEXT NOT NULL,          -- JSON
    PRIMARY KEY (kind, key, name, seq)
) WITHOUT ROWID, STRICT;
-- Messages that nobody took in time.
CREATE INDEX message_expiry ON message (expires_at) WHERE expires_at IS NOT NULL;

-- Those who wait for messages and broadcasts.
CREATE TABLE subscription (
    kind TEXT NOT NULL CHECK (kind = 'signal' OR kind = 'message' OR kind = 'broadcast'),
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id_order INTEGER NOT NULL,
    id_random INTEGER NOT NULL,
    turn_no INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    PRIMARY KEY (kind, key, name, seq)
) WITHOUT ROWID, STRICT;

-- Open incidents. Closed ones are in the history.
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
-- An instance that ends closes its incidents.
CREATE INDEX incident_instance ON incident (id_order);

-- Deployed versions.
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
) STRICT;
CREATE UNIQUE INDEX definition_version ON definition (name, version);

-- Their sources, apart, so that looking up versions does not read them.
CREATE TABLE definition_source (
    definition_id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,           -- byte for byte
    files BLOB NOT NULL
) STRICT;

-- What messages and broadcasts start: the latest version of each name.
CREATE TABLE trigger_start (
    kind TEXT NOT NULL CHECK (kind = 'message' OR kind = 'broadcast'),
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    definition_id INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, name, definition)
) WITHOUT ROWID, STRICT;
-- A deploy replaces all triggers of its name.
CREATE INDEX trigger_start_definition ON trigger_start (definition);

-- Remembered answers by idempotency key.
CREATE TABLE answer (
    key TEXT PRIMARY KEY,
    request INTEGER NOT NULL,       -- a hash of the request
    id_order INTEGER NOT NULL,
    id_random INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE INDEX answer_expiry ON answer (expires_at);

-- Message ids that were seen.
CREATE TABLE message_id (
    id TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE INDEX message_id_expiry ON message_id (expires_at);

-- Views: stable names for people who query their own state. Columns are only ever added.

-- The text form of an instance's id, as the API prints it.
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

CREATE VIEW v_timer AS
    SELECT v_id.id AS instance, t.turn_no, t.ordinal, t.kind, t.element, t.frozen,
        d.name AS definition, t.due_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', t.due_at / 1000.0, 'unixepoch') AS due
    FROM timer AS t
    LEFT JOIN v_id ON v_id.id_order = t.id_order
    LEFT JOIN definition AS d ON d.id = t.definition_id;

CREATE VIEW v_task AS
    SELECT v_id.id AS instance, t.turn_no, t.ordinal, t.kind, t.queue, t.name, t.priority, t.state,
        t.detached, t.claims, t.attempt, t.lease_worker, t.assignee, d.name AS definition,
        t.available_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', t.available_at / 1000.0, 'unixepoch') AS available,
        t.created_at, strftime('%Y-%m-%dT%H:%M:%fZ', t.created_at / 1000.0, 'unixepoch') AS created
    FROM task AS t
    LEFT JOIN v_id ON v_id.id_order = t.id_order
    LEFT JOIN definition AS d ON d.id = t.definition_id;

CREATE VIEW v_incident AS
    SELECT lower(hex(c.id)) AS incident, v_id.id AS instance, c.element, c.code, c.message, c.data,
        c.raised_at, strftime('%Y-%m-%dT%H:%M:%fZ', c.raised_at / 1000.0, 'unixepoch') AS raised
    FROM incident AS c
    LEFT JOIN v_id ON v_id.id_order = c.id_order;

CREATE VIEW v_history AS
    SELECT h.seq, v_id.id AS instance, h.turn_no, h.previous, length(h.records) AS bytes,
        h.happened_at, strftime('%Y-%m-%dT%H:%M:%fZ', h.happened_at / 1000.0, 'unixepoch') AS happened
    FROM history AS h
    LEFT JOIN v_id ON v_id.id_order = h.id_order;

CREATE VIEW v_operation AS
    SELECT number, kind, actor, reason, happened_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', happened_at / 1000.0, 'unixepoch') AS happened
    FROM operation;

-- The first schema: everything several nodes keep together, in one database.
--
-- Why it looks like this: tables, columns and views are those of the SQLite store, so that documents
-- and queries hold for both. What differs is what PostgreSQL needs. No row is written by every commit:
-- each commit in flight has a row of `batch` to itself, so that commits never wait for each other.
-- Rows that turns rewrite leave room on their page (fillfactor), and no column that every turn changes
-- is in an index, so that the usual turn touches no index at all. Queues are vacuumed early, because
-- scans of their heads would walk over dead rows.
--
-- Conventions: an id is (`id_order`, `id_random`), both checked on every lookup. Instants are milliseconds
-- since 1970 (`_at`). bytea columns are CBOR with numbered fields unless a comment says otherwise.
-- Text that is looked up or sorted compares by bytes (collation C). No foreign keys: the fence of a
-- unit is its instance's turn number, and rows are removed by key.
--
-- Compatibility: the first release; nothing reads an older schema.

-- What must survive a restart and belongs to nobody: one row, rewritten when nodes come and go.
CREATE TABLE node (
    id integer PRIMARY KEY CHECK (id = 1),
    epoch bigint NOT NULL,          -- part of every lease token; a restore makes it larger
    paused boolean NOT NULL,        -- a copy that may not act yet
    clock_at bigint NOT NULL,       -- the latest time any commit of a node that is gone has seen
    last_seq bigint NOT NULL        -- the largest sequence number such a node has written
);
INSERT INTO node (id, epoch, paused, clock_at, last_seq) VALUES (1, 0, false, 0, 0);

-- Every process that uses the store gets a number, which is never used again.
CREATE SEQUENCE node_number;

-- Leases of node indexes, for processes that share the store. A free index has no row.
CREATE TABLE node_lease (
    number integer PRIMARY KEY CHECK (number >= 0 AND number < 64),
    lease_term bigint NOT NULL UNIQUE,  -- one tenure of the index, never used again
    until_at bigint NOT NULL        -- free from then on, unless it is renewed
);

-- Commits in flight: each process has some rows, and a commit uses one that no other uses. The number
-- says whether a commit took effect whose answer was lost. Once closed, its process commits nothing.
CREATE TABLE commit_row (
    lease_term bigint NOT NULL,
    row_number integer NOT NULL,
    batch bigint NOT NULL,          -- the last batch that was committed with this row
    clock_at bigint NOT NULL,       -- the latest time it has seen
    last_seq bigint NOT NULL,       -- the largest sequence number it wrote
    closed_at bigint,               -- its process has lost its lease, or is gone
    PRIMARY KEY (lease_term, row_number)
) WITH (fillfactor = 50);

-- What was done to the store as a whole.
CREATE TABLE operation (
    number bigint PRIMARY KEY,
    happened_at bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('copied', 'restored', 'resumed')),
    actor text NOT NULL,
    reason text NOT NULL
);

-- One row per instance. Columns that every turn rewrites are in no index.
CREATE TABLE instance (
    id_order bigint PRIMARY KEY,
    id_random bigint NOT NULL,
    turn_no bigint NOT NULL,        -- the arbiter of every write
    definition_id bigint NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint,
    deadline_at bigint,
    last_history bigint NOT NULL,   -- history.seq of its newest row; 0 is none
    parent_id_order bigint,              -- only children; the whole lineage is in `meta`
    state_format integer NOT NULL,
    phase text COLLATE "C" NOT NULL CHECK (phase IN
        ('starting', 'running', 'yielding', 'closing', 'completed', 'failed', 'cancelled')),
    key text COLLATE "C",
    open bytea,                     -- open timers, tasks, subscriptions; NULL is nothing
    meta bytea,                    -- what is rarely there; NULL is nothing
    state bytea NOT NULL,           -- opaque bytes of the notation
    CHECK ((phase IN ('completed', 'failed', 'cancelled')) = (ended_at IS NOT NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
-- Lists and counts of what runs, by definition. Ended instances leave it. Written so that only
-- statements that ask for it in these words use it: for others it would be a walk over all that live.
CREATE INDEX instance_live ON instance (definition_id, id_order) WHERE num_nulls(ended_at) = 1;
-- Few rows at any time or for ever: what goes on by itself after a restart, and what went wrong.
CREATE INDEX instance_unusual ON instance (phase, id_order)
    WHERE phase IN ('starting', 'yielding', 'failed', 'cancelled');
-- The lease_term of a business key (ended_at is NULL), and every instance that ever had it.
CREATE INDEX instance_key ON instance (key, ended_at) WHERE key IS NOT NULL;
-- Children of a parent: the live ones, to cancel them, and all, to remove a tree.
CREATE INDEX instance_child ON instance (parent_id_order, ended_at) WHERE parent_id_order IS NOT NULL;

-- Tags and attributes (`name=value`) to find instances by.
CREATE TABLE instance_tag (
    tag text COLLATE "C" NOT NULL,
    id_order bigint NOT NULL,
    PRIMARY KEY (tag, id_order)
);
-- Tags of an instance that is removed.
CREATE INDEX instance_tag_instance ON instance_tag (id_order);

-- Events that outlive a transaction, by their position in the instance's inbox.
CREATE TABLE inbox (
    id_order bigint NOT NULL,
    seq bigint NOT NULL,
    id_random bigint NOT NULL,
    arrived_at bigint NOT NULL,
    held_by bytea,                  -- the incident that holds it back (16 bytes of its id)
    origin bytea,                   -- the message it was made from
    event bytea NOT NULL,
    PRIMARY KEY (id_order, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- Armed timers, by due time: what can fire comes first.
CREATE TABLE timer (
    frozen boolean NOT NULL,
    ordinal bigint NOT NULL,
    due_at bigint NOT NULL,
    id_order bigint NOT NULL,
    turn_no bigint NOT NULL,
    id_random bigint NOT NULL,
    definition_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('timer', 'deadline', 'taskDeadline')),
    element text NOT NULL,
    PRIMARY KEY (frozen, due_at, id_order, turn_no, ordinal)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- Tasks that are not over, or are over and detached.
CREATE TABLE task (
    id_order bigint NOT NULL,
    turn_no bigint NOT NULL,
    id_random bigint NOT NULL,
    available_at bigint NOT NULL,
    created_at bigint NOT NULL,
    deadline_at bigint,
    definition_id bigint NOT NULL,
    lease_until bigint,             -- real time, unlike every other instant
    lease_timeout_at bigint,
    ordinal bigint NOT NULL,
    priority integer NOT NULL,
    claims bigint NOT NULL,         -- how often it was claimed: the fence of every report
    attempt bigint NOT NULL,
    expiries bigint NOT NULL,
    detached boolean NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('worker', 'engine', 'user')),
    state text COLLATE "C" NOT NULL CHECK (state IN ('ready', 'leased', 'held', 'done')),
    queue text COLLATE "C" NOT NULL, -- empty is the default queue
    name text COLLATE "C" NOT NULL,
    lease_worker text,
    assignee text,
    outcome bytea,
    spec bytea NOT NULL,
    PRIMARY KEY (id_order, turn_no, ordinal)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
-- What workers can claim: one seek per queue, type and priority.
CREATE INDEX task_ready ON task (queue, name, priority DESC, available_at, id_order, turn_no, ordinal)
    WHERE state = 'ready' AND kind = 'worker';
-- The task list of people, among many tasks of workers.
CREATE INDEX task_user ON task (id_order, turn_no, ordinal) WHERE kind = 'user';
-- Detached tasks that are over, by their end, until retention.
CREATE INDEX task_done ON task (available_at) WHERE state = 'done';

-- What happened: one packed row per turn, appended, each naming the instance's row before it.
CREATE TABLE history (
    seq bigint PRIMARY KEY,
    id_order bigint NOT NULL,
    id_random bigint NOT NULL,
    turn_no bigint NOT NULL,
    happened_at bigint NOT NULL,
    previous bigint NOT NULL,       -- 0 is none
    records bytea NOT NULL
);

-- Messages and signals that wait for somebody.
CREATE TABLE message (
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('signal', 'message', 'broadcast')),
    key text COLLATE "C" NOT NULL,  -- correlation key; of signals the instance's id
    name text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    expires_at bigint,              -- NULL is never
    payload text NOT NULL,          -- JSON
    PRIMARY KEY (kind, key, name, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
-- Messages that nobody took in time.
CREATE INDEX message_expiry ON message (expires_at) WHERE expires_at IS NOT NULL;

-- Those who wait for messages and broadcasts.
CREATE TABLE subscription (
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('signal', 'message', 'broadcast')),
    key text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    id_order bigint NOT NULL,
    id_random bigint NOT NULL,
    turn_no bigint NOT NULL,
    ordinal bigint NOT NULL,
    PRIMARY KEY (kind, key, name, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- Open incidents. Closed ones are in the history.
CREATE TABLE incident (
    id bytea PRIMARY KEY,           -- 16 bytes, increasing
    id_order bigint NOT NULL,
    id_random bigint NOT NULL,
    raised_at bigint NOT NULL,
    element text NOT NULL,
    code text NOT NULL,
    message text NOT NULL,
    data text,                      -- JSON
    cause bytea NOT NULL
);
-- An instance that ends closes its incidents.
CREATE INDEX incident_instance ON incident (id_order);

-- Deployed versions.
CREATE TABLE definition (
    id bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    notation text NOT NULL,
    label text,
    hash text NOT NULL,
    deployed_at bigint NOT NULL,
    retired boolean NOT NULL,
    source_name text NOT NULL,
    triggers bytea NOT NULL
);
CREATE UNIQUE INDEX definition_version ON definition (name, version);

-- Their sources, apart, so that looking up versions does not read them.
CREATE TABLE definition_source (
    definition_id bigint PRIMARY KEY,
    source bytea NOT NULL,          -- byte for byte
    files bytea NOT NULL
);

-- What messages and broadcasts start: the latest version of each name.
CREATE TABLE trigger_start (
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('message', 'broadcast')),
    name text COLLATE "C" NOT NULL,
    definition text COLLATE "C" NOT NULL,
    definition_id bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (kind, name, definition)
);
-- A deploy replaces all triggers of its name.
CREATE INDEX trigger_start_definition ON trigger_start (definition);

-- Remembered answers by idempotency key.
CREATE TABLE answer (
    key text COLLATE "C" PRIMARY KEY,
    request bigint NOT NULL,        -- a hash of the request
    id_order bigint NOT NULL,
    id_random bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX answer_expiry ON answer (expires_at);

-- Message ids that were seen.
CREATE TABLE message_id (
    id text COLLATE "C" PRIMARY KEY,
    expires_at bigint NOT NULL
);
CREATE INDEX message_id_expiry ON message_id (expires_at);

-- Views: stable names for people who query their own state. Columns are only ever added.

-- The text form of an instance's id, as the API prints it.
CREATE VIEW v_id AS
    SELECT id_order, 'in_' ||
        substr(a, (1 + ((id_order >> 61) & 31))::integer, 1) ||
        substr(a, (1 + ((id_order >> 56) & 31))::integer, 1) ||
        substr(a, (1 + ((id_order >> 51) & 31))::integer, 1) ||
        substr(a, (1 + ((id_order >> 46) & 31))::integer, 1) ||
        substr(a, (1 + ((id_order >> 41) & 31))::integer, 1) ||
        substr(a, (1 + ((id_order >> 36) & 31))::integer, 1) ||
        substr(a, (1 + ((id_order >> 31) & 31))::integer, 1) ||
        substr(a, (1 + ((id_order >> 26) & 31))::integer, 1) ||
        substr(a, (1 + ((id_order >> 21) & 31))::integer, 1) ||
        substr(a, (1 + ((id_order >> 16) & 31))::integer, 1) ||
        substr(a, (1 + ((id_order >> 11) & 31))::integer, 1) ||
        substr(a, (1 + ((id_order >> 6) & 31))::integer, 1) ||
        substr(a, (1 + ((id_order >> 1) & 31))::integer, 1) ||
        substr(a, (1 + (((id_order & 1) << 4) | ((id_random >> 60) & 15)))::integer, 1) ||
        substr(a, (1 + ((id_random >> 55) & 31))::integer, 1) ||
        substr(a, (1 + ((id_random >> 50) & 31))::integer, 1) ||
        substr(a, (1 + ((id_random >> 45) & 31))::integer, 1) ||
        substr(a, (1 + ((id_random >> 40) & 31))::integer, 1) ||
        substr(a, (1 + ((id_random >> 35) & 31))::integer, 1) ||
        substr(a, (1 + ((id_random >> 30) & 31))::integer, 1) ||
        substr(a, (1 + ((id_random >> 25) & 31))::integer, 1) ||
        substr(a, (1 + ((id_random >> 20) & 31))::integer, 1) ||
        substr(a, (1 + ((id_random >> 15) & 31))::integer, 1) ||
        substr(a, (1 + ((id_random >> 10) & 31))::integer, 1) ||
        substr(a, (1 + ((id_random >> 5) & 31))::integer, 1) ||
        substr(a, (1 + (id_random & 31))::integer, 1) AS id
    FROM instance, (SELECT '0123456789abcdefghjkmnpqrstvwxyz'::text AS a) AS alphabet;

CREATE VIEW v_instance AS
    SELECT v_id.id, d.name AS definition, d.version, i.phase, i.turn_no, i.key,
        i.started_at, to_char(timestamp 'epoch' + i.started_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS started,
        i.ended_at, to_char(timestamp 'epoch' + i.ended_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ended,
        i.deadline_at, to_char(timestamp 'epoch' + i.deadline_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS deadline,
        parent.id AS parent, length(i.state) AS state_bytes
    FROM instance AS i
    LEFT JOIN v_id ON v_id.id_order = i.id_order
    LEFT JOIN v_id AS parent ON parent.id_order = i.parent_id_order
    LEFT JOIN definition AS d ON d.id = i.definition_id;

CREATE VIEW v_timer AS
    SELECT v_id.id AS instance, t.turn_no, t.ordinal, t.kind, t.element, t.frozen,
        d.name AS definition, t.due_at,
        to_char(timestamp 'epoch' + t.due_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS due
    FROM timer AS t
    LEFT JOIN v_id ON v_id.id_order = t.id_order
    LEFT JOIN definition AS d ON d.id = t.definition_id;

CREATE VIEW v_task AS
    SELECT v_id.id AS instance, t.turn_no, t.ordinal, t.kind, t.queue, t.name, t.priority, t.state,
        t.detached, t.claims, t.attempt, t.lease_worker, t.assignee, d.name AS definition,
        t.available_at,
        to_char(timestamp 'epoch' + t.available_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS available,
        t.created_at, to_char(timestamp 'epoch' + t.created_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created
    FROM task AS t
    LEFT JOIN v_id ON v_id.id_order = t.id_order
    LEFT JOIN definition AS d ON d.id = t.definition_id;

CREATE VIEW v_incident AS
    SELECT encode(c.id, 'hex') AS incident, v_id.id AS instance, c.element, c.code, c.message, c.data,
        c.raised_at, to_char(timestamp 'epoch' + c.raised_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS raised
    FROM incident AS c
    LEFT JOIN v_id ON v_id.id_order = c.id_order;

CREATE VIEW v_history AS
    SELECT h.seq, v_id.id AS instance, h.turn_no, h.previous, length(h.records) AS bytes,
        h.happened_at, to_char(timestamp 'epoch' + h.happened_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS happened
    FROM history AS h
    LEFT JOIN v_id ON v_id.id_order = h.id_order;

CREATE VIEW v_operation AS
    SELECT number, kind, actor, reason, happened_at,
        to_char(timestamp 'epoch' + happened_at * interval '1 millisecond',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS happened
    FROM operation;

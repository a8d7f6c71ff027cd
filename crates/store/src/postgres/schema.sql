-- Generated: what all migrations make together. `UPDATE_EXPECT=1 cargo test -p meantime-store` writes it.

CREATE TABLE answer (
    key text COLLATE "C" NOT NULL,
    request bigint NOT NULL,
    id_order bigint NOT NULL,
    id_random bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (key)
);

CREATE TABLE commit_row (
    lease_term bigint NOT NULL,
    row_number integer NOT NULL,
    batch bigint NOT NULL,
    clock_at bigint NOT NULL,
    last_seq bigint NOT NULL,
    closed_at bigint,
    PRIMARY KEY (lease_term, row_number)
) WITH (fillfactor=50);

CREATE TABLE definition (
    id bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    notation text NOT NULL,
    label text,
    hash text NOT NULL,
    deployed_at bigint NOT NULL,
    retired boolean NOT NULL,
    source_name text NOT NULL,
    triggers bytea NOT NULL,
    paused bytea,
    PRIMARY KEY (id)
);

CREATE TABLE definition_source (
    definition_id bigint NOT NULL,
    source bytea NOT NULL,
    files bytea NOT NULL,
    PRIMARY KEY (definition_id)
);

CREATE TABLE history (
    seq bigint NOT NULL,
    id_order bigint NOT NULL,
    id_random bigint NOT NULL,
    turn_no bigint NOT NULL,
    happened_at bigint NOT NULL,
    previous bigint NOT NULL,
    records bytea NOT NULL,
    PRIMARY KEY (seq)
);

CREATE TABLE inbox (
    id_order bigint NOT NULL,
    seq bigint NOT NULL,
    id_random bigint NOT NULL,
    arrived_at bigint NOT NULL,
    held_by bytea,
    origin bytea,
    event bytea NOT NULL,
    PRIMARY KEY (id_order, seq)
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE incident (
    id bytea NOT NULL,
    id_order bigint NOT NULL,
    id_random bigint NOT NULL,
    raised_at bigint NOT NULL,
    element text NOT NULL,
    code text NOT NULL,
    message text NOT NULL,
    data text,
    cause bytea NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE instance (
    id_order bigint NOT NULL,
    id_random bigint NOT NULL,
    turn_no bigint NOT NULL,
    definition_id bigint NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint,
    deadline_at bigint,
    last_history bigint NOT NULL,
    parent_id_order bigint,
    state_format integer NOT NULL,
    phase text COLLATE "C" NOT NULL,
    key text COLLATE "C",
    open bytea,
    meta bytea,
    state bytea NOT NULL,
    PRIMARY KEY (id_order),
    CHECK (((phase = ANY (ARRAY['completed'::text, 'failed'::text, 'cancelled'::text])) = (ended_at IS NOT NULL))),
    CHECK ((phase = ANY (ARRAY['starting'::text, 'running'::text, 'yielding'::text, 'closing'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
) WITH (fillfactor=80, autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE instance_count (
    lease_term bigint NOT NULL,
    row_number integer NOT NULL,
    definition_id bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (lease_term, row_number, definition_id, status),
    CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
) WITH (fillfactor=50);

CREATE TABLE instance_tag (
    tag text COLLATE "C" NOT NULL,
    id_order bigint NOT NULL,
    PRIMARY KEY (tag, id_order)
);

CREATE TABLE message (
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    expires_at bigint,
    payload text NOT NULL,
    had text COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, key, name, seq),
    CHECK ((kind = ANY (ARRAY['signal'::text, 'message'::text, 'broadcast'::text])))
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE message_id (
    id text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE node (
    id integer NOT NULL,
    epoch bigint NOT NULL,
    paused boolean NOT NULL,
    clock_at bigint NOT NULL,
    last_seq bigint NOT NULL,
    PRIMARY KEY (id),
    CHECK ((id = 1))
);

CREATE TABLE node_lease (
    number integer NOT NULL,
    lease_term bigint NOT NULL,
    until_at bigint NOT NULL,
    session bigint,
    UNIQUE (lease_term),
    PRIMARY KEY (number),
    CHECK (((number >= 0) AND (number < 64)))
);

CREATE TABLE occurrence (
    id_order bigint NOT NULL,
    scheduled_at bigint NOT NULL,
    is_start boolean NOT NULL,
    id_random bigint NOT NULL,
    last_at bigint NOT NULL,
    count bigint NOT NULL,
    outcome text NOT NULL,
    reason text NOT NULL,
    run_id_order bigint,
    run_id_random bigint,
    decided_at bigint NOT NULL,
    PRIMARY KEY (id_order, scheduled_at, is_start),
    CHECK ((is_start = (outcome = 'started'::text))),
    CHECK ((last_at >= scheduled_at)),
    CHECK ((count > 0)),
    CHECK ((outcome = ANY (ARRAY['started'::text, 'skipped'::text, 'missed'::text, 'failed'::text])))
);

CREATE TABLE operation (
    number bigint NOT NULL,
    happened_at bigint NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (number),
    CHECK ((kind = ANY (ARRAY['copied'::text, 'restored'::text, 'resumed'::text])))
);

CREATE TABLE schema_migration (
    number integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at bigint NOT NULL,
    PRIMARY KEY (number)
);

CREATE TABLE subscription (
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    id_order bigint NOT NULL,
    id_random bigint NOT NULL,
    turn_no bigint NOT NULL,
    ordinal bigint NOT NULL,
    definition text COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, key, name, seq),
    CHECK ((kind = ANY (ARRAY['signal'::text, 'message'::text, 'broadcast'::text])))
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE task (
    id_order bigint NOT NULL,
    turn_no bigint NOT NULL,
    id_random bigint NOT NULL,
    available_at bigint NOT NULL,
    created_at bigint NOT NULL,
    deadline_at bigint,
    definition_id bigint NOT NULL,
    lease_until bigint,
    lease_timeout_at bigint,
    ordinal bigint NOT NULL,
    priority integer NOT NULL,
    claims bigint NOT NULL,
    attempt bigint NOT NULL,
    expiries bigint NOT NULL,
    detached boolean NOT NULL,
    kind text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    lease_worker text,
    assignee text,
    outcome bytea,
    spec bytea NOT NULL,
    PRIMARY KEY (id_order, turn_no, ordinal),
    CHECK ((kind = ANY (ARRAY['worker'::text, 'engine'::text, 'user'::text]))),
    CHECK ((state = ANY (ARRAY['ready'::text, 'leased'::text, 'held'::text, 'done'::text])))
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE timer (
    frozen boolean NOT NULL,
    ordinal bigint NOT NULL,
    due_at bigint NOT NULL,
    id_order bigint NOT NULL,
    turn_no bigint NOT NULL,
    id_random bigint NOT NULL,
    definition_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    element text NOT NULL,
    PRIMARY KEY (frozen, due_at, id_order, turn_no, ordinal),
    CHECK ((kind = ANY (ARRAY['timer'::text, 'deadline'::text, 'taskDeadline'::text])))
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE tree (
    id_order bigint NOT NULL,
    id_random bigint NOT NULL,
    live bigint NOT NULL,
    PRIMARY KEY (id_order)
);

CREATE TABLE trigger_start (
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    definition text COLLATE "C" NOT NULL,
    definition_id bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (kind, name, definition),
    CHECK ((kind = ANY (ARRAY['message'::text, 'broadcast'::text])))
);

CREATE INDEX answer_expiry ON answer USING btree (expires_at);

CREATE UNIQUE INDEX definition_version ON definition USING btree (name, version);

CREATE INDEX incident_code ON incident USING btree (code, id_order) WHERE (num_nulls(code) = 0);

CREATE INDEX incident_instance ON incident USING btree (id_order);

CREATE INDEX instance_child ON instance USING btree (parent_id_order, ended_at) WHERE (parent_id_order IS NOT NULL);

CREATE INDEX instance_ended ON instance USING btree (ended_at, id_order) WHERE (ended_at IS NOT NULL);

CREATE INDEX instance_key ON instance USING btree (key, ended_at) WHERE (key IS NOT NULL);

CREATE INDEX instance_live ON instance USING btree (definition_id, id_order) WHERE (num_nulls(ended_at) = 1);

CREATE INDEX instance_tag_instance ON instance_tag USING btree (id_order);

CREATE INDEX instance_unusual ON instance USING btree (phase, id_order) WHERE (phase = ANY (ARRAY['starting'::text, 'yielding'::text, 'failed'::text, 'cancelled'::text]));

CREATE INDEX message_expiry ON message USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX message_id_expiry ON message_id USING btree (expires_at);

CREATE UNIQUE INDEX node_lease_lease_term_key ON node_lease USING btree (lease_term);

CREATE INDEX occurrence_decided ON occurrence USING btree (decided_at);

CREATE INDEX subscription_definition ON subscription USING btree (kind, key, name, definition, seq);

CREATE INDEX task_done ON task USING btree (available_at) WHERE (state = 'done'::text);

CREATE INDEX task_ready ON task USING btree (queue, name, priority DESC, available_at, id_order, turn_no, ordinal) WHERE ((state = 'ready'::text) AND (kind = 'worker'::text));

CREATE INDEX task_user ON task USING btree (id_order, turn_no, ordinal) WHERE (kind = 'user'::text);

CREATE INDEX trigger_start_definition ON trigger_start USING btree (definition);

CREATE VIEW v_history AS
 SELECT h.seq,
    v_id.id AS instance,
    h.turn_no,
    h.previous,
    length(h.records) AS bytes,
    h.happened_at,
    to_char('1970-01-01 00:00:00'::timestamp without time zone + h.happened_at::double precision * '00:00:00.001'::interval, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text) AS happened
   FROM history h
     LEFT JOIN v_id ON v_id.id_order = h.id_order;

CREATE VIEW v_id AS
 SELECT instance.id_order,
    ((((((((((((((((((((((((('in_'::text || substr(alphabet.a, (1 + ((instance.id_order >> 61) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_order >> 56) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_order >> 51) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_order >> 46) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_order >> 41) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_order >> 36) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_order >> 31) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_order >> 26) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_order >> 21) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_order >> 16) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_order >> 11) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_order >> 6) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_order >> 1) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + (((instance.id_order & 1::bigint) << 4) | ((instance.id_random >> 60) & 15::bigint)))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_random >> 55) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_random >> 50) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_random >> 45) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_random >> 40) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_random >> 35) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_random >> 30) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_random >> 25) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_random >> 20) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_random >> 15) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_random >> 10) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + ((instance.id_random >> 5) & 31::bigint))::integer, 1)) || substr(alphabet.a, (1 + (instance.id_random & 31::bigint))::integer, 1) AS id
   FROM instance,
    ( SELECT '0123456789abcdefghjkmnpqrstvwxyz'::text AS a) alphabet;

CREATE VIEW v_incident AS
 SELECT encode(c.id, 'hex'::text) AS incident,
    v_id.id AS instance,
    c.element,
    c.code,
    c.message,
    c.data,
    c.raised_at,
    to_char('1970-01-01 00:00:00'::timestamp without time zone + c.raised_at::double precision * '00:00:00.001'::interval, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text) AS raised
   FROM incident c
     LEFT JOIN v_id ON v_id.id_order = c.id_order;

CREATE VIEW v_instance AS
 SELECT v_id.id,
    d.name AS definition,
    d.version,
    i.phase,
    i.turn_no,
    i.key,
    i.started_at,
    to_char('1970-01-01 00:00:00'::timestamp without time zone + i.started_at::double precision * '00:00:00.001'::interval, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text) AS started,
    i.ended_at,
    to_char('1970-01-01 00:00:00'::timestamp without time zone + i.ended_at::double precision * '00:00:00.001'::interval, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text) AS ended,
    i.deadline_at,
    to_char('1970-01-01 00:00:00'::timestamp without time zone + i.deadline_at::double precision * '00:00:00.001'::interval, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text) AS deadline,
    parent.id AS parent,
    length(i.state) AS state_bytes
   FROM instance i
     LEFT JOIN v_id ON v_id.id_order = i.id_order
     LEFT JOIN v_id parent ON parent.id_order = i.parent_id_order
     LEFT JOIN definition d ON d.id = i.definition_id;

CREATE VIEW v_occurrence AS
 SELECT schedule.id AS schedule,
    o.scheduled_at,
    to_char('1970-01-01 00:00:00'::timestamp without time zone + o.scheduled_at::double precision * '00:00:00.001'::interval, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text) AS occurrence,
    o.last_at,
    o.count,
    o.outcome,
    o.reason,
    run.id AS run,
    o.decided_at,
    to_char('1970-01-01 00:00:00'::timestamp without time zone + o.decided_at::double precision * '00:00:00.001'::interval, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text) AS decided
   FROM occurrence o
     LEFT JOIN v_id schedule ON schedule.id_order = o.id_order
     LEFT JOIN v_id run ON run.id_order = o.run_id_order;

CREATE VIEW v_operation AS
 SELECT operation.number,
    operation.kind,
    operation.actor,
    operation.reason,
    operation.happened_at,
    to_char('1970-01-01 00:00:00'::timestamp without time zone + operation.happened_at::double precision * '00:00:00.001'::interval, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text) AS happened
   FROM operation;

CREATE VIEW v_task AS
 SELECT v_id.id AS instance,
    t.turn_no,
    t.ordinal,
    t.kind,
    t.queue,
    t.name,
    t.priority,
    t.state,
    t.detached,
    t.claims,
    t.attempt,
    t.lease_worker,
    t.assignee,
    d.name AS definition,
    t.available_at,
    to_char('1970-01-01 00:00:00'::timestamp without time zone + t.available_at::double precision * '00:00:00.001'::interval, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text) AS available,
    t.created_at,
    to_char('1970-01-01 00:00:00'::timestamp without time zone + t.created_at::double precision * '00:00:00.001'::interval, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text) AS created
   FROM task t
     LEFT JOIN v_id ON v_id.id_order = t.id_order
     LEFT JOIN definition d ON d.id = t.definition_id;

CREATE VIEW v_timer AS
 SELECT v_id.id AS instance,
    t.turn_no,
    t.ordinal,
    t.kind,
    t.element,
    t.frozen,
    d.name AS definition,
    t.due_at,
    to_char('1970-01-01 00:00:00'::timestamp without time zone + t.due_at::double precision * '00:00:00.001'::interval, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text) AS due
   FROM timer t
     LEFT JOIN v_id ON v_id.id_order = t.id_order
     LEFT JOIN definition d ON d.id = t.definition_id;

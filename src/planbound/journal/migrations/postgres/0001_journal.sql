-- The journal: one row for each event, added at the end and never changed.
-- The schema is the search path's first; every name is made in it.

CREATE TABLE migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    applied timestamptz NOT NULL DEFAULT now()
);

-- Collation C: text is compared byte by byte, as SQLite and Python do.
CREATE TABLE journal (
    seq bigint PRIMARY KEY,
    plan text COLLATE "C" NOT NULL,
    plan_seq bigint NOT NULL,
    id text COLLATE "C" NOT NULL UNIQUE,
    timestamp text COLLATE "C" NOT NULL,
    latest text COLLATE "C" NOT NULL, -- the highest timestamp so far; clocks go back at times
    event text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    task_id text COLLATE "C",
    task_name text,
    task_number text COLLATE "C", -- details.number: what people call a task by
    details text NOT NULL,
    provenance text NOT NULL,
    redactions integer NOT NULL,
    prev text NOT NULL,
    hash text NOT NULL
);

CREATE INDEX journal_plan ON journal (plan, seq);
CREATE INDEX journal_event ON journal (event, seq);
CREATE INDEX journal_latest ON journal (latest, seq);
CREATE INDEX journal_late ON journal (timestamp, seq) WHERE timestamp < latest;
CREATE INDEX journal_task_id ON journal (task_id, seq) WHERE task_id IS NOT NULL;
CREATE INDEX journal_task_number ON journal (task_number, seq) WHERE task_number IS NOT NULL;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the journal is append-only: % is refused', TG_OP
        USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER journal_is_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON journal
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION check_place() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    last_seq bigint;
    last_hash text;
    last_latest text;
    last_plan_seq bigint;
BEGIN
    SELECT seq, hash, latest INTO last_seq, last_hash, last_latest FROM journal ORDER BY seq DESC LIMIT 1;
    SELECT plan_seq INTO last_plan_seq
        FROM journal WHERE plan = NEW.plan ORDER BY seq DESC LIMIT 1;
    IF NEW.seq IS DISTINCT FROM coalesce(last_seq, 0) + 1
        OR NEW.prev IS DISTINCT FROM coalesce(last_hash, repeat('0', 64))
        OR NEW.plan_seq IS DISTINCT FROM coalesce(last_plan_seq, 0) + 1
    THEN
        RAISE EXCEPTION 'the journal is append-only: a record goes to its end, once'
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.latest := greatest(last_latest COLLATE "C", NEW.timestamp);
    RETURN NEW;
END
$$;

CREATE TRIGGER journal_grows_at_its_end BEFORE INSERT ON journal
FOR EACH ROW EXECUTE FUNCTION check_place();

-- Who waits for events listens to the channel `<schema>_journal`.
CREATE FUNCTION tell_listeners() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify(TG_TABLE_SCHEMA || '_journal', '');
    RETURN NULL;
END
$$;

CREATE TRIGGER journal_tells_listeners AFTER INSERT ON journal
FOR EACH STATEMENT EXECUTE FUNCTION tell_listeners();

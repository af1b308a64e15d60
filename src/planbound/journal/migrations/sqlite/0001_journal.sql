-- The journal: one row for each event, added at the end and never changed.

CREATE TABLE migration (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);

-- No index but its own order: an append writes one page and syncs it.
CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    plan TEXT NOT NULL,
    plan_seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    event TEXT NOT NULL,
    version INTEGER NOT NULL,
    task_id TEXT,
    task_name TEXT,
    task_number TEXT, -- details.number: what people call a task by
    details TEXT NOT NULL,
    provenance TEXT NOT NULL,
    redactions INTEGER NOT NULL,
    prev TEXT NOT NULL,
    hash TEXT NOT NULL
);

CREATE TRIGGER journal_is_not_updated BEFORE UPDATE ON journal
BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only: UPDATE is refused');
END;

CREATE TRIGGER journal_is_not_deleted BEFORE DELETE ON journal
BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only: DELETE is refused');
END;

-- INSERT OR REPLACE deletes without asking the trigger above, so it is stopped here.
CREATE TRIGGER journal_grows_at_its_end BEFORE INSERT ON journal
WHEN
    NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM journal)
    OR NEW.prev IS NOT coalesce(
        (SELECT hash FROM journal ORDER BY seq DESC LIMIT 1),
        '0000000000000000000000000000000000000000000000000000000000000000'
    )
BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only: a record goes to its end, once');
END;

-- What questions are answered by: the journal without its last few hundred rows, which are looked
-- through one by one. It follows in bulk, as keeping six indexes at every append would take twice
-- the time. It holds nothing that the journal does not.
CREATE TABLE lookup (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    plan TEXT NOT NULL,
    event TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    latest TEXT NOT NULL, -- the highest timestamp so far; clocks go back at times
    task_id TEXT,
    task_number TEXT
);

-- An index ends with the row's number, which is `seq` here: each of these also gives the order.
CREATE INDEX lookup_id ON lookup (id);
CREATE INDEX lookup_plan ON lookup (plan);
CREATE INDEX lookup_event ON lookup (event);
CREATE INDEX lookup_latest ON lookup (latest);
CREATE INDEX lookup_late ON lookup (timestamp) WHERE timestamp < latest;
CREATE INDEX lookup_task_id ON lookup (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX lookup_task_number ON lookup (task_number) WHERE task_number IS NOT NULL;

CREATE TRIGGER lookup_is_not_updated BEFORE UPDATE ON lookup
BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only: UPDATE is refused');
END;

CREATE TRIGGER lookup_is_not_deleted BEFORE DELETE ON lookup
BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only: DELETE is refused');
END;

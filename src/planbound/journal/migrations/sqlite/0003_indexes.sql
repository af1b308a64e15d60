-- Questions are answered by indexes on the journal itself. The table that followed it in bulk made an
-- append no faster than the disk syncs, so it goes; it held nothing that the journal does not.

DROP TABLE lookup;

-- An index ends with the row's number, which is `seq` here: each of these also gives the order.
CREATE INDEX journal_id ON journal (id);
CREATE INDEX journal_plan ON journal (plan);
CREATE INDEX journal_event ON journal (event);
CREATE INDEX journal_timestamp ON journal (timestamp);
CREATE INDEX journal_task_id ON journal (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX journal_task_number ON journal (task_number) WHERE task_number IS NOT NULL;

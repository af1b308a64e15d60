-- Questions about times are answered by an index on the times themselves, as on SQLite. The column
-- `latest` is still filled, and asked by nobody.

DROP INDEX journal_latest;
DROP INDEX journal_late;
CREATE INDEX journal_timestamp ON journal (timestamp, seq);

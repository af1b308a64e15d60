-- Who runs which plan: one row for each plan that was ever run. It is never removed, as it remembers
-- the number, which grows with every acquisition.

CREATE TABLE lease (
    plan TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    held INTEGER NOT NULL, -- 0 or 1
    holder TEXT NOT NULL, -- who has it, or who had it last
    process TEXT,
    worktree TEXT NOT NULL,
    touches TEXT, -- a list in JSON; NULL: not declared
    boot TEXT NOT NULL, -- the start of the machine since which `expires` counts seconds
    expires REAL NOT NULL
) WITHOUT ROWID;

CREATE INDEX lease_held ON lease (plan) WHERE held;

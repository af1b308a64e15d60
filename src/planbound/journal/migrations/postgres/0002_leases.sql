-- Who runs which plan: one row for each plan that was ever run. It is never removed, as it remembers
-- the number, which grows with every acquisition.

CREATE TABLE lease (
    plan text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL,
    held boolean NOT NULL,
    holder text NOT NULL, -- who has it, or who had it last
    process text,
    worktree text NOT NULL,
    touches text, -- a list in JSON; NULL: not declared
    boot text NOT NULL, -- always empty: `expires` is by the clock of the server, in seconds since 1970
    expires double precision NOT NULL
);

CREATE INDEX lease_held ON lease (plan) WHERE held;

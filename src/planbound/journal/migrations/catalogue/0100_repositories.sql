-- Which repositories have a journal in this database, and in which schema each of them is.
-- The numbers begin at 100: a version for which a database has one repository knows 1 to 3 in this
-- place, and refuses what comes after.

CREATE TABLE migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    applied timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE repository (
    name text COLLATE "C" PRIMARY KEY,
    schema text COLLATE "C" NOT NULL, -- several names may stand for one journal
    place bigint GENERATED ALWAYS AS IDENTITY, -- the first name of a journal is the one of its queue
    made timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX repository_schema ON repository (schema, place);

"""What a role of workers may do in a database, as SQL for its owner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planbound.errors import UsageError
from planbound.journal.repository import CATALOGUE, QUEUE

WORKER_ROLE = "planbound_worker"
_MOST_BYTES = 63


def check_role(role: str) -> None:
    """Raise UsageError for what is no name of a role."""
    is_plain = role.strip() and role.isprintable() and "$" not in role
    if not is_plain or len(role.encode()) > _MOST_BYTES:
        raise UsageError(
            f"`--role` is {role!r}, expected a name of 1 to {_MOST_BYTES} bytes without `$`",
            hint=f"`planbound fleet grants --role {WORKER_ROLE}`",
        )


class Grants(NamedTuple):
    """The rights of one role in the journal of one repository, and in the queue of all."""

    role: str
    database: str
    schema: str
    has_queue: bool
    """Whether DBOS made its tables: nobody can have rights on them before."""

    def lines(self) -> Iterator[str]:
        """Yield the SQL; to run it twice does no harm."""
        role, schema = quoted(self.role), self.schema
        text = self.role.replace("'", "''")
        yield f"-- Rights of workers in the schema `{schema}`."
        yield "-- What is left to do by hand is how the role proves who it is, such as a password."
        yield "BEGIN;"
        yield f"DO $make$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{text}')"
        yield f"THEN CREATE ROLE {role} LOGIN; END IF; END $make$;"
        yield f"GRANT CONNECT ON DATABASE {quoted(self.database)} TO {role};"
        yield f"GRANT USAGE ON SCHEMA {CATALOGUE}, {schema} TO {role};"
        yield f"REVOKE ALL ON ALL TABLES IN SCHEMA {CATALOGUE}, {schema} FROM {role};"
        yield "-- which repositories there are, and which version made their tables"
        catalogue = f"{CATALOGUE}.migration, {CATALOGUE}.repository"
        yield f"GRANT SELECT ON {catalogue}, {schema}.migration TO {role};"
        yield "-- events: no UPDATE, DELETE, TRUNCATE or TRIGGER"
        yield f"GRANT SELECT, INSERT ON {schema}.journal TO {role};"
        yield "-- leases: a row is never removed, as it remembers the number"
        yield f"GRANT SELECT, INSERT, UPDATE ON {schema}.lease TO {role};"
        yield from self._queue_lines(role)
        yield "COMMIT;"

    def _queue_lines(self, role: str) -> Iterator[str]:
        if not self.has_queue:
            yield "-- The queue has no tables yet: run `planbound worker --once` as the owner, then"
            yield "-- `planbound fleet grants` again. Until then the role has no queue."
            return
        yield "-- the queue: what DBOS keeps is only how far a worker is; nothing is proved there"
        yield f"GRANT USAGE ON SCHEMA {QUEUE} TO {role};"
        yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {QUEUE} TO {role};"
        yield f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {QUEUE} TO {role};"
        yield f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {QUEUE} TO {role};"


def quoted(name: str) -> str:
    """Return a name as SQL has it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'

"""What is wrong with a database, and what helps: by what the driver says of it."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple


class Cure(NamedTuple):
    """What helps where the driver says this."""

    states: str
    """What the code of the error matches."""
    words: str
    """What its text matches; a connection that is refused has no code."""
    hint: str


_AGAIN = "then give the same command again: what was recorded stays, and nothing is recorded twice"

_CURES = (
    Cure(
        r"42501",
        r"permission denied",
        "the role {role} has no right to this: have the owner of the database run"
        " `planbound fleet grants --role {role}` in this repository, and apply what it prints",
    ),
    Cure(
        r"25006",
        r"read-only transaction",
        "this server takes no writes, as a standby does: name the one that does in"
        " `PLANBOUND_DATABASE_URL`, or name all of them and add"
        " `target_session_attrs=read-write`; reading goes on here",
    ),
    Cure(
        r"53300",
        r"too many clients|too many connections|remaining connection slots",
        "a worker has about 7 connections, and 5 more for each plan that it runs: raise"
        " `max_connections` of the server, or run fewer workers",
    ),
    Cure(r"53100", r"No space left", f"make room on that machine, {_AGAIN}"),
    Cure(
        r"42P01|3F000|42883",
        r"",
        "the tables were moved or removed while this process ran, perhaps by a newer version: give"
        " the command again, with the newest version",
    ),
    Cure(
        r"28...|3D000",
        r"authentication failed|role \S+ does not exist|database \S+ does not exist|pg_hba"
        r"|no password supplied",
        "look at user, password and database in `PLANBOUND_DATABASE_URL`",
    ),
    Cure(
        r"",
        r"SSL|certificate",
        "this is about TLS: look at `sslmode`, `sslrootcert`, `sslcert` and `sslkey` in"
        " `PLANBOUND_DATABASE_URL`",
    ),
    Cure(
        r"08...|57P0.",
        r"connection|server closed|could not translate|starting up|shutting down",
        f"look whether the server runs and can be reached from here, {_AGAIN}",
    ),
)


def cure(sqlstate: str | None, text: str, role: str) -> str | None:
    """Return what helps; None where the text has to speak for itself."""
    for each in _CURES:
        by_state = sqlstate is not None and each.states and re.fullmatch(each.states, sqlstate)
        if by_state or (each.words and not sqlstate and re.search(each.words, text)):
            return each.hint.format(role=shlex.quote(role))
    return None

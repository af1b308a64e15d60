"""Puts the parts together for an agent in the loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from planbound.errors import Refused
from planbound.ports.files import PlanFile
from planbound.store.lock import this_process
from planbound.usecases.loop.desk import LoopDesk, Probe
from planbound.usecases.loop.loop import Loop
from planbound.wiring.parts import Parts

if TYPE_CHECKING:
    from planbound.usecases.bench import Bench

PLAN_VARIABLE = "PLANBOUND_PLAN"
"""Names the plan that a session is bound to."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SECONDS = 10.0


def open_loop(
    *,
    workspace: str | None = None,
    state: str | None = None,
    session: str,
    name: str | None = None,
    probes: Mapping[str, Probe] | None = None,
) -> Loop:
    """Return the plan tools and the gate for a session; `probes` are verifiers of one's own."""
    return make_loop(Parts(workspace=workspace, state=state), session, name, probes or {})


def make_loop(parts: Parts, session: str, name: str | None, probes: Mapping[str, Probe]) -> Loop:
    """Return the plan tools and the gate for a session on a workspace."""
    from planbound.store.vault import Vault  # noqa: PLC0415 - start-up

    me = this_process()
    return Loop(
        LoopDesk(
            session=session,
            name=name or os.environ.get(PLAN_VARIABLE) or None,
            workspace=parts.tree,
            files=parts.files,
            folders=parts.real_files,
            vault=Vault(os.path.join(parts.state.folder, "vault.sqlite")),
            recorder=parts.recorder(),
            leases=parts.leases(),
            configuration=parts.configuration,
            bench=cache(partial(_bench, parts)),
            earlier=partial(_earlier, parts),
            holder=f"{session} ({me.name})",
            process=me.mark,
            surroundings=parts.surroundings,
            relative=parts.relative,
            refuse_misplaced=partial(_refuse_misplaced, parts),
            probes={"http_ok": http_ok, **probes},
        )
    )


def _bench(parts: Parts) -> Bench:
    from planbound.wiring.judging import make_bench  # noqa: PLC0415 - not every call judges

    return make_bench(parts)


def _refuse_misplaced(parts: Parts, file: PlanFile) -> None:
    from planbound.wiring.bound import at_worktree  # noqa: PLC0415 - not every call judges

    there = at_worktree(parts, file)
    if there is not parts:
        raise Refused(
            f"workspace-mismatch: `{file.slug}` belongs to {there.root}, and this session is in"
            f" {parts.root}",
            hint="work there, and open the session there",
        )


def _earlier(parts: Parts, slug: str) -> Callable[[str, str], frozenset[str]]:
    from planbound.wiring.judging import earlier_verdicts  # noqa: PLC0415 - not every call judges

    return earlier_verdicts(parts, slug)


def http_ok(url: str) -> str | None:
    """Say what is wrong with an address on this machine; None where it answers well."""
    import http.client  # noqa: PLC0415 - few plans look at services
    from urllib.parse import urlsplit  # noqa: PLC0415

    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or parts.hostname not in _LOOPBACK:
        return f"`{url}` is not on this machine: only loopback is asked"
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=_SECONDS)
    try:
        # Without redirections: they may lead elsewhere.
        connection.request("GET", f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"`{url}` does not answer: {error}"
    finally:
        connection.close()
    return None if 200 <= status < 300 else f"`{url}` answers {status}"

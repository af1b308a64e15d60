"""What ends the work of a run early: a person, a lost lease, a limit."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from planbound.agents.agent import Dispatch, Usage
from planbound.cells.cell import Cell, HostView, Outcome, Overseer, Request
from planbound.cells.isolation import Isolation
from planbound.judging.case import Case, Scope, covers
from planbound.judging.judges import Judges
from planbound.judging.reference import Frozen, judges_of, read_frozen
from planbound.plan.glob import parse_glob
from planbound.plan.model import Stream
from planbound.script.runners import RUNNERS
from planbound.workspace.home import narrow
from planbound.workspace.manifest import EntryType

if TYPE_CHECKING:
    from planbound.workspace.vault import Vault

# -- what ends the work of a run early: a person, a lost lease, a limit --------------------------


FLOODED = "flooded its output"
_LONGEST_LINE = 8 << 20
_MOST_PRINTED = 256 << 20
_MOST_LINES = 2_000_000


class StopSignal:
    """Says to all threads of a run whether they have to stop, and why."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def stop(self, reason: str) -> None:
        """Ask everything to end; the first reason counts."""
        if self.reason is None:
            self.reason = reason

    def stopped(self) -> str | None:
        """Return why everything has to end; None where it need not."""
        return self.reason


class AgentWatch:
    """Watches an agent: what it says, what it uses, and whether it has to end."""

    def __init__(
        self,
        control: StopSignal,
        hear: Callable[[Stream, bytes], Usage | None] | None,
        over: Callable[[Usage], str | None],
    ) -> None:
        self.control = control
        self.hear = hear
        self.over = over
        self.excess: str | None = None
        self._rest = {Stream.STDOUT: b"", Stream.STDERR: b""}
        self._dropping: set[Stream] = set()
        self._printed = self._lines = 0

    def saw(self, stream: Stream, data: bytes) -> None:
        """Take the output line by line."""
        self._printed += len(data)
        self._lines += data.count(b"\n")
        if self.excess is None and self._printed > _MOST_PRINTED:
            self.excess = f"{FLOODED}: more than {_MOST_PRINTED >> 20} MB"
        if self.excess is None and self._lines > _MOST_LINES:
            self.excess = f"{FLOODED}: more than {_MOST_LINES:,} lines"
        if self.hear is None or self.excess is not None:
            return
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        for line in lines:
            # The end of a line whose beginning was too long to be kept.
            if stream in self._dropping:
                self._dropping.discard(stream)
            else:
                self._heard(stream, line)
        if len(rest) > _LONGEST_LINE:
            self._dropping.add(stream)
        self._rest[stream] = b"" if stream in self._dropping else rest

    def finish(self) -> None:
        """Take what was printed last, without the end of a line."""
        for stream, rest in self._rest.items():
            if rest and self.hear is not None:
                self._heard(stream, rest)

    def _heard(self, stream: Stream, line: bytes) -> None:
        assert self.hear is not None
        usage = self.hear(stream, line.removesuffix(b"\r"))
        if usage is not None and self.excess is None:
            self.excess = self.over(usage)

    def stop(self) -> str | None:
        """Return why the agent has to end now."""
        return self.control.reason or self.excess


class _Stoppable:
    """Lets a contract end when everything has to."""

    def __init__(self, control: StopSignal) -> None:
        self.control = control

    def saw(self, stream: Stream, data: bytes) -> None:
        """Take no notice."""

    def stop(self) -> str | None:
        """Return why it has to end now."""
        return self.control.reason


class _Both:
    """Two who watch a command: either may end it."""

    def __init__(self, one: Overseer, other: Overseer) -> None:
        self.one, self.other = one, other

    def saw(self, stream: Stream, data: bytes) -> None:
        """Show it to both."""
        self.one.saw(stream, data)
        self.other.saw(stream, data)

    def stop(self) -> str | None:
        """Return why it has to end now."""
        return self.one.stop() or self.other.stop()


class ControlledCell:
    """A cell whose commands end when the run has to, and show a copy at the original's place."""

    def __init__(self, cell: Cell, control: StopSignal, shown_at: str | None = None) -> None:
        self.cell = cell
        self.overseer = _Stoppable(control)
        self.shown_at = shown_at

    @property
    def name(self) -> str:
        return self.cell.name

    @property
    def isolation(self) -> Isolation:
        return self.cell.isolation

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        if self.shown_at is not None:
            request = request._replace(shown_at=self.shown_at)
        both = self.overseer if overseer is None else _Both(overseer, self.overseer)
        return self.cell.run(request, both)


# -- what an agent's cell looks like: its workspace to write to, and nothing that judges it ------


ALWAYS = (".harness", "planbound.toml", ".git/config", ".git/hooks", ".git/info")
"""What no agent writes to, whatever `touches` says."""
# A mask looks like an empty file that is none. Python and pytest pass such a thing by; make, node
# and cargo would stumble over it, so what they would read is only looked at afterwards.
_MASKABLE = frozenset("sitecustomize.py usercustomize.py .envrc planbound.toml".split()).union(
    *(runner.maskable for runner in RUNNERS)
)
_MAX_MOUNTS = 400


class Protected(NamedTuple):
    """The part of a workspace that an agent may read and not write."""

    read_only: tuple[str, ...]
    absent: tuple[str, ...]
    """What is not there, and must not come to be."""


def protected(cases: Iterable[Case], frozen: Frozen, scope: Scope, vault: Vault) -> Protected:
    """Return what must stay as it is while an agent works on a step."""
    entries = frozen.manifest.entries
    judges = judges_of(cases, frozen.manifest, partial(read_frozen, frozen.manifest, vault))
    read_only = [path for path in ALWAYS if path.encode() in entries or path == ".harness"]
    if (pointer := entries.get(b".git")) is not None and pointer.type is EntryType.FILE:
        read_only.append(".git")  # says whose worktree this is
    read_only += _covering(judges, scope)
    named = {path for path in judges.names if path.rpartition("/")[2] in _MASKABLE}
    absent = {path for path in named if _key(path) not in entries}
    return Protected(
        read_only=tuple(dict.fromkeys(read_only))[:_MAX_MOUNTS],
        absent=tuple(
            sorted(
                path for path in absent if not covers(scope, path) and _has_folder(path, entries)
            )
        )[:_MAX_MOUNTS],
    )


def agent_request(
    dispatch: Dispatch,
    workspace: str,
    keep: Protected,
    masked: Sequence[str],
    exposed: Sequence[str],
    view: HostView,
) -> Request:
    """Return what the cell of an agent is asked to run."""
    shown = tuple(narrow(dispatch.shown, (view.home or "",)))
    own = (*dispatch.shared, *shown)
    return Request(
        command=dispatch.command,
        workspace=workspace,
        environment=dispatch.environment,
        limits=dispatch.limits,
        network=dispatch.network,
        egress=dispatch.egress,
        writable=True,
        read_only=keep.read_only,
        absent=keep.absent,
        masked=tuple(path for path in masked if path not in own),
        exposed=(*exposed, *narrow(dispatch.exposed, (workspace, view.home or ""))),
        view=view._replace(tools=(*view.tools, *shown), shared=dispatch.shared),
        kept_home=dispatch.kept_home,
        stdin=dispatch.stdin,
    )


def _covering(judges: Judges, scope: Scope) -> list[str]:
    """Return folders and files that together hold the judges which may not be touched."""
    folders = sorted(each for each in judges.directories if not _may_touch_below(each, scope))
    outer = [each for each in folders if not any(each.startswith(f"{other}/") for other in folders)]
    files = sorted(
        path
        for path in judges.files
        if not covers(scope, path) and not any(path.startswith(f"{each}/") for each in outer)
    )
    return [*outer, *files]


def _may_touch_below(folder: str, scope: Scope) -> bool:
    """Say whether something in a folder could be named by what may be changed."""
    tasks = scope.by_task
    patterns = (*tasks.named, *tasks.added) if scope.patterns is None else scope.patterns
    if not patterns:
        return False
    try:
        below = parse_glob(f"./{folder}/**")
    except ValueError:
        return True
    limits = (patterns,) if scope.also is None else (patterns, scope.also)
    return all(any(glob.intersects(below) for glob in limit) for limit in limits)


def _has_folder(path: str, entries: Container[bytes]) -> bool:
    folder = path.rpartition("/")[0]
    return not folder or _key(folder) in entries


def _key(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")

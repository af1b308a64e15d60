"""Doctor: looks at everything, says what is wrong and what cures it; it only looks."""

from __future__ import annotations

import enum
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from planbound.engine.readiness import dead_ends
from planbound.errors import PlanboundError
from planbound.journal.anchor import Anchor, AnchorState
from planbound.plan.model import Plan
from planbound.ports.files import Files, Shelf, Workspace
from planbound.ports.journal import Journal
from planbound.usecases.hosts.health import HookReport
from planbound.usecases.log import Anchors, check
from planbound.usecases.marks import wrong_marks
from planbound.usecases.overview import OpenJournal, Overview, overview, plan_infos
from planbound.usecases.resolve import MARKER, resolve_active_plan
from planbound.usecases.team.health import Finding

MAX_FAULTS = 5
"""So many faults of one kind are told one by one."""
MAX_NAMES = 20
"""So many plans are named one by one."""
NOT_CHECKED = "not checked"
_SHELVED = {Shelf.STAGED: " (staged)", Shelf.ARCHIVE: " (archived)"}


class Health(enum.Enum):
    """How it is with one thing."""

    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"


class Check(NamedTuple):
    """What was looked at, and what was found."""

    name: str
    health: Health
    message: str
    cure: str | None = None


class StateFolder(NamedTuple):
    """The state home as it lies on the disk."""

    path: str
    mode: int | None
    """Its permissions; None where it is not there yet."""
    is_own: bool = True
    """Whether it belongs to who asks."""
    size: str | None = None
    """How large it is, for people."""


class ContractTools(NamedTuple):
    """What contracts will use, and what they were to get and will not."""

    tools: str
    """Programs with their versions and places; empty where none has any."""
    cautions: tuple[str, ...] = ()
    fault: tuple[str, str] | None = None
    """Why the project's own programs cannot be used, and what to do about it."""
    missing: tuple[str, ...] = ()
    """Runners and interpreters that a contract calls, and that are not there."""


class Probes(NamedTuple):
    """What the use case cannot look at by itself; None: not checked."""

    anchors: Callable[[], Anchors] | None = None
    """Returns where the head of the journal is noted."""
    guarded: Callable[[], bool | None] | None = None
    """Returns whether what protects the journal still stands."""
    state: Callable[[], StateFolder] | None = None
    configuration: Callable[[], str | None] | None = None
    """Returns where the configuration was read from; raises ConfigurationError."""
    receivers: Callable[[], Sequence[str]] | None = None
    """Returns what is wrong with those who are told of events."""
    tools: Mapping[str, bool] | None = None
    """For each tool whether it is there."""
    environment: Callable[[Sequence[Plan]], ContractTools] | None = None
    """Looks at what the contracts of plans will use."""
    hooks: Callable[[], HookReport] | None = None
    """Looks at the hooks in the settings of agent hosts, and asks them."""
    worktrees: Callable[[], Sequence[Finding]] | None = None
    """Looks at the worktrees of plans."""
    disks: Callable[[], Sequence[Finding]] | None = None
    """Looks at the disks that are written to."""
    left: Callable[[], Sequence[Finding]] | None = None
    """Looks for what killed processes left behind."""


_TOOL_USES = {
    "git": ("worktrees and the diff of a plan", "install git"),
    "bash": ("contracts", "install bash"),
    "bwrap": ("keeping agents in a sandbox", "install bubblewrap"),
}
_ANCHOR = {
    AnchorState.INTACT: (Health.OK, "the journal holds what was noted about it"),
    AnchorState.UNANCHORED: (Health.OK, "nothing was noted yet"),
}


def doctor(
    workspace: Workspace, files: Files, open_journal: OpenJournal, probes: Probes
) -> list[Check]:
    """Return every check; one that breaks down is a FAIL, and the others go on."""
    checks: list[Check] = []
    journal, opened = _open(open_journal)
    plans: list[Plan] = []
    try:
        seen = overview(workspace, files, lambda: journal)
    except PlanboundError as error:
        checks.append(_failed("plans", error))
    else:
        checks += _plans(seen, _folder(workspace))
        checks += _dependencies(seen)
        checks += _conflicts(seen, _folder(workspace))
        checks += _drift(seen)
        plans += (line.plan for line in seen.lines if line.plan is not None)
    checks.insert(len([c for c in checks if c.name == "plans"]), _binding(workspace))
    checks.append(opened)
    readable = opened.health is Health.OK
    checks += _journal(journal, probes, readable=readable)
    checks += _worktrees(probes, readable=readable)
    checks.append(_state(probes))
    checks += _storage(probes)
    checks.append(_configuration(probes))
    checks += _receivers(probes)
    checks += _tools(probes)
    checks += _environment(probes, plans)
    checks += _hooks(probes)
    return checks


def is_well(checks: list[Check]) -> bool:
    """Say whether nothing failed; a warning is no failure."""
    return all(check.health is not Health.FAIL for check in checks)


def _failed(name: str, error: PlanboundError) -> Check:
    return Check(name, Health.FAIL, error.message, error.hint or "mend what it names")


def _folder(workspace: Workspace) -> str:
    return workspace.place(Shelf.ACTIVE, "PLAN.md").path.rsplit("/", 1)[0]


def _plans(seen: Overview, folder: str) -> Iterator[Check]:
    if not seen.lines:
        where = f"{folder}, {Shelf.STAGED.value}/ and {Shelf.ARCHIVE.value}/ in it"
        yield Check("plans", Health.OK, f"found nothing; looked in {where}")
        return
    sound = []
    for line in seen.lines:
        if line.is_empty:
            cure = "write the plan, or remove the file"
            yield Check("plans", Health.WARN, f"`{line.file.shown}` is empty: no plan", cure)
        elif line.problem is not None:
            cure = f"make `{line.file.shown}` a readable file, or remove it"
            yield Check("plans", Health.FAIL, line.problem, cure)
        elif line.plan is not None and line.plan.faults:
            found = f"`{line.file.shown}` has {_faults(len(line.plan.faults))}"
            cure = f"`planbound verify {shlex.quote(line.file.shown)}` tells them all"
            yield Check("plans", Health.WARN, found, cure)
        elif not line.steps:
            # No plan at all, or one that is only begun: `verify` says the same.
            found = f"`{line.file.shown}` has no steps: no plan"
            cure = f"`planbound verify {shlex.quote(line.file.shown)}` tells what is missing"
            yield Check("plans", Health.WARN, found, cure)
        else:
            sound.append(f"{line.file.slug}{_SHELVED.get(line.shelf, '')}")
    if sound:
        plans = sum(line.problem is not None or line.steps > 0 for line in seen.lines)
        of_all = f"{len(sound)} of {plans}" if len(sound) < plans else f"{plans}"
        names = ", ".join(sound[:MAX_NAMES])
        names += f", and {len(sound) - MAX_NAMES} more" if len(sound) > MAX_NAMES else ""
        yield Check("plans", Health.OK, f"{of_all} read without a fault, in {folder}: {names}")


def _dependencies(seen: Overview) -> Iterator[Check]:
    infos = plan_infos(seen, [])
    if not any(info.depends_on for info in infos):
        return
    found = dead_ends(infos)
    for message in found:
        cure = "take one of them out of a `depends_on`, or write the plan that is missing"
        yield Check("dependencies", Health.FAIL, message, cure)
    if not found:
        yield Check("dependencies", Health.OK, "every plan that is waited for is there")


def _faults(number: int) -> str:
    return f"{number} fault{'' if number == 1 else 's'}"


def _binding(workspace: Workspace) -> Check:
    try:
        if workspace.marker() is None:
            return Check("binding", Health.OK, f"no marker `{MARKER}`")
        binding = resolve_active_plan(None, workspace)
    except PlanboundError as error:
        cure = error.hint or f"correct `{MARKER}`, or remove it"
        return Check("binding", Health.WARN, error.message, cure)
    slug = binding.plan.slug if binding else ""
    return Check("binding", Health.OK, f"the marker names `{slug}`")


def _conflicts(seen: Overview, folder: str) -> Iterator[Check]:
    found = [shown for line in seen.lines for shown in line.conflicts]
    found += [copy.shown for copy in seen.conflicts]
    if not found:
        yield Check("conflict copies", Health.OK, f"found nothing; looked in {folder}")
    for shown in found:
        cure = "bring it together with the original, then remove it"
        yield Check("conflict copies", Health.WARN, f"`{shown}` is a conflict copy", cure)


def _drift(seen: Overview) -> Iterator[Check]:
    name = "file against journal"
    if not seen.has_journal:
        yield Check(name, Health.OK, f"{NOT_CHECKED}: there is no journal that can be read")
        return
    cure = "the journal is right: `planbound doctor --fix` puts the marks in the file right"
    found = False
    for line in seen.lines:
        look = line.look
        for what in islice(wrong_marks(look) if look else (), MAX_FAULTS):
            found = True
            yield Check(name, Health.WARN, f"`{line.file.slug}`: {what}", cure)
    if not found:
        yield Check(name, Health.OK, "they agree about every active plan")


def _open(open_journal: OpenJournal) -> tuple[Journal | None, Check]:
    try:
        journal = open_journal()
        if journal is None:
            return None, Check("database", Health.OK, "there is no journal yet")
        head = journal.head()
    except PlanboundError as error:
        return None, _failed("database", error)
    return journal, Check("database", Health.OK, f"reachable; {head.seq} events")


class _Nowhere:
    """Where no head is noted."""

    def read(self) -> Anchor | None:
        """Return nothing."""
        return None


def _journal(journal: Journal | None, probes: Probes, *, readable: bool) -> Iterator[Check]:
    chain, anchor = "journal chain", "journal anchor"
    if not readable:
        yield Check(chain, Health.OK, f"{NOT_CHECKED}: the journal cannot be read")
        yield Check(anchor, Health.OK, f"{NOT_CHECKED}: the journal cannot be read")
        return
    try:
        anchors = probes.anchors() if probes.anchors else _Nowhere()
        found = check(journal, anchors, guarded=probes.guarded)
    except PlanboundError as error:
        yield _failed(chain, error)
        return
    tells = "`planbound log --verify` tells more"
    if not found.faults:
        sound = "every record follows the one before it" if journal else "there is no record"
        yield Check(chain, Health.OK, sound)
    for fault in found.faults[:MAX_FAULTS]:
        yield Check(chain, Health.FAIL, fault.message, f"trust nothing from there on; {tells}")
    if probes.anchors is None:
        yield Check(anchor, Health.OK, NOT_CHECKED)
    elif found.anchor in _ANCHOR:
        yield Check(anchor, *_ANCHOR[found.anchor])
    else:
        cure = f"put the journal back from a backup; {tells}"
        yield Check(anchor, Health.FAIL, f"the journal was {found.anchor.value}", cure)


def _worktrees(probes: Probes, *, readable: bool) -> Iterator[Check]:
    name = "worktrees"
    if not readable or probes.worktrees is None:
        why = NOT_CHECKED if readable else f"{NOT_CHECKED}: the journal cannot be read"
        yield Check(name, Health.OK, why)
        return
    try:
        found = probes.worktrees()
    except PlanboundError as error:
        yield Check(name, Health.WARN, error.message, error.hint or "mend what it names")
        return
    if not found:
        yield Check(name, Health.OK, "none")
    for finding in found:
        health = Health.OK if finding.cure is None else Health.WARN
        yield Check(name, health, finding.message, finding.cure)


def _state(probes: Probes) -> Check:
    name = "state home"
    if probes.state is None:
        return Check(name, Health.OK, NOT_CHECKED)
    try:
        folder = probes.state()
    except PlanboundError as error:
        return _failed(name, error)
    return _permissions(name, folder)


def _permissions(name: str, folder: StateFolder) -> Check:
    if folder.mode is None:
        return Check(name, Health.OK, f"not made yet; looked for {folder.path}")
    if not folder.is_own:
        cure = f"choose another with `--state`, or `chown` {folder.path}"
        return Check(name, Health.FAIL, f"{folder.path} belongs to somebody else", cure)
    private = f"chmod 700 {folder.path}"
    if folder.mode & 0o022:
        message = f"{folder.path} can be written by others ({folder.mode:04o})"
        return Check(name, Health.FAIL, message, private)
    if folder.mode & 0o055:
        message = f"{folder.path} can be read by others ({folder.mode:04o})"
        return Check(name, Health.WARN, message, private)
    size = f", and has {folder.size}" if folder.size else ""
    return Check(name, Health.OK, f"{folder.path} is private{size}")


def _storage(probes: Probes) -> Iterator[Check]:
    looks = (("disk", Health.FAIL, probes.disks), ("left behind", Health.WARN, probes.left))
    for name, bad, look in looks:
        try:
            found = look() if look is not None else ()
        except PlanboundError as error:
            yield _failed(name, error)
            continue
        for finding in found:
            health = Health.OK if finding.cure is None else bad
            yield Check(name, health, finding.message, finding.cure)


def _configuration(probes: Probes) -> Check:
    name = "configuration"
    if probes.configuration is None:
        return Check(name, Health.OK, NOT_CHECKED)
    try:
        path = probes.configuration()
    except PlanboundError as error:
        return _failed(name, error)
    if path is None:
        looked = "looked for `planbound.toml` and `[tool.planbound]` in `pyproject.toml`"
        return Check(name, Health.OK, f"found nothing, the defaults hold; {looked}")
    return Check(name, Health.OK, f"read from {path}")


def _receivers(probes: Probes) -> Iterator[Check]:
    if probes.receivers is None:  # nobody is told of anything
        return
    name = "notify"
    try:
        found = probes.receivers()
    except PlanboundError as error:
        yield _failed(name, error)
        return
    if not found:
        yield Check(name, Health.OK, "everybody takes what they are told")
    cure = "mend the receiver, then `planbound notify`; `planbound log` has what it missed"
    for trouble in found[:MAX_FAULTS]:
        yield Check(name, Health.WARN, trouble, cure)


def _tools(probes: Probes) -> Iterator[Check]:
    if probes.tools is None:
        yield Check("tools", Health.OK, NOT_CHECKED)
        return
    for tool, found in probes.tools.items():
        use, cure = _TOOL_USES.get(tool, ("", f"install {tool}"))
        if found:
            yield Check("tools", Health.OK, f"`{tool}` is there")
        else:
            message = f"`{tool}` is not on the PATH; it is for {use}" if use else f"no `{tool}`"
            yield Check("tools", Health.WARN, message, cure)


_MISSING = (
    "install it where the project has its environment (`.venv`), or name its folder in"
    " `[contracts] path`"
)


def _environment(probes: Probes, plans: Sequence[Plan]) -> Iterator[Check]:
    name = "contracts"
    if probes.environment is None:
        return
    try:
        found = probes.environment(plans)
    except PlanboundError as error:
        yield Check(name, Health.WARN, error.message, error.hint or "mend what it names")
        return
    if found.fault is not None:
        yield Check(name, Health.WARN, *found.fault)
    elif found.tools:
        yield Check(name, Health.OK, f"they use {found.tools}")
    for word in found.missing if found.fault is None else ():
        yield Check(name, Health.WARN, f"one calls `{word}`, which they do not find", _MISSING)
    for caution in found.cautions:
        yield Check(name, Health.WARN, caution, "put it right, or take it out of the configuration")


def _hooks(probes: Probes) -> Iterator[Check]:
    name = "hooks"
    try:
        report = probes.hooks() if probes.hooks else HookReport((), ())
    except PlanboundError as error:
        yield _failed(name, error)
        return
    for finding in report.findings:
        yield Check(name, Health.WARN, finding.problem, finding.cure)
    if not report.installed:
        yield Check(name, Health.OK, "none installed")
    elif not report.findings:
        yield Check(name, Health.OK, f"installed, and they answer: {', '.join(report.installed)}")

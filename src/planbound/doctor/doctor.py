"""What the doctor says of what was found: each check with its health, and what cures it."""

from __future__ import annotations

import enum
import os
import shlex
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from planbound.disk.files import Files, Shelf
from planbound.disk.space import size_text
from planbound.doctor.gc import disk_findings, left_findings, size_of
from planbound.errors import FileProblem, PlanboundError
from planbound.journal.chain import AnchorState
from planbound.journal.log import Checked, check
from planbound.journal.record import Journal
from planbound.judging.tools import tools_of_plans
from planbound.judging.unrunnable import ContractTools
from planbound.plan.model import Plan
from planbound.session.hosts.health import HookReport, hook_findings
from planbound.team.health import HealthFinding, worktree_findings
from planbound.workspace.context import Context
from planbound.workspace.locate import MARKER, resolve_active_plan
from planbound.workspace.marks import wrong_marks
from planbound.workspace.overview import PlanOverview, overview, plan_infos
from planbound.workspace.readiness import dead_ends

if TYPE_CHECKING:
    from planbound.workspace.tree import Workspace


# -- what the doctor says of what was found: each check with its health, and what cures it -------


MAX_FAULTS = 5
"""So many faults of one kind are told one by one."""
MAX_NAMES = 20
"""So many plans are named one by one."""
NOT_CHECKED = "not checked"
STATE = "state home"
CHAIN, ANCHOR = "journal chain", "journal anchor"
CONFIGURATION, NOTIFY, CONTRACTS, HOOKS = "configuration", "notify", "contracts", "hooks"
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
    closed: str | None = None
    """The folder above that it cannot be made in."""


_TOOL_USES = {
    "git": ("worktrees and the diff of a plan", "install git"),
    "bash": ("contracts", "install bash"),
    "bwrap": ("keeping agents in a sandbox", "install bubblewrap"),
}
_ANCHOR = {
    AnchorState.INTACT: (Health.OK, "the journal holds what was noted about it"),
    AnchorState.UNANCHORED: (Health.OK, "nothing was noted yet"),
}


def failed(name: str, error: PlanboundError, health: Health = Health.FAIL) -> Check:
    """Return the check of what could not be looked at."""
    return Check(name, health, error.message, error.hint or "mend what it names")


def is_well(checks: list[Check]) -> bool:
    """Say whether nothing failed; a warning is no failure."""
    return all(check.health is not Health.FAIL for check in checks)


def plan_checks(
    workspace: Workspace, files: Files, journal: Journal | None
) -> tuple[list[Check], list[Plan]]:
    """Look at the plans, the marker, and the marks in the files; return also what can be read."""
    checks: list[Check] = []
    plans: list[Plan] = []
    try:
        seen = overview(workspace, files, lambda: journal)
    except PlanboundError as error:
        checks.append(failed("plans", error))
    else:
        checks += _plans(seen, _folder(workspace))
        checks += _dependencies(seen)
        checks += _conflicts(seen, _folder(workspace))
        checks += _drift(seen)
        plans += (line.plan for line in seen.lines if line.plan is not None)
    checks.insert(len([c for c in checks if c.name == "plans"]), _binding(workspace))
    return checks, plans


def _folder(workspace: Workspace) -> str:
    return workspace.place(Shelf.ACTIVE, "PLAN.md").path.rsplit("/", 1)[0]


def _plans(seen: PlanOverview, folder: str) -> Iterator[Check]:
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


def _dependencies(seen: PlanOverview) -> Iterator[Check]:
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


def _conflicts(seen: PlanOverview, folder: str) -> Iterator[Check]:
    found = [shown for line in seen.lines for shown in line.conflicts]
    found += [copy.shown for copy in seen.conflicts]
    if not found:
        yield Check("conflict copies", Health.OK, f"found nothing; looked in {folder}")
    for shown in found:
        cure = "bring it together with the original, then remove it"
        yield Check("conflict copies", Health.WARN, f"`{shown}` is a conflict copy", cure)


def _drift(seen: PlanOverview) -> Iterator[Check]:
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


def journal_checks(found: Checked) -> Iterator[Check]:
    """Say what a walk along the chain found; see `journal.log.check`."""
    tells = "`planbound log --verify` tells more"
    if not found.faults:
        sound = "every record follows the one before it"
        sound = sound if found.head.seq else "there is no record"
        yield Check(CHAIN, Health.OK, sound)
    for fault in found.faults[:MAX_FAULTS]:
        yield Check(CHAIN, Health.FAIL, fault.message, f"trust nothing from there on; {tells}")
    if found.anchor in _ANCHOR:
        yield Check(ANCHOR, *_ANCHOR[found.anchor])
    else:
        cure = f"put the journal back from a backup; {tells}"
        yield Check(ANCHOR, Health.FAIL, f"the journal was {found.anchor.value}", cure)


def findings_checks(
    name: str, found: Sequence[HealthFinding], bad: Health = Health.WARN
) -> Iterator[Check]:
    """Return what was found; where it has no cure, nothing is wrong with it."""
    for finding in found:
        health = Health.OK if finding.cure is None else bad
        yield Check(name, health, finding.message, finding.cure)


def state_check(folder: StateFolder) -> Check:
    """Say who can reach the state home."""
    name = STATE
    if folder.closed is not None:
        message = f"{folder.path} cannot be made: nothing may be written in {folder.closed}"
        cure = "plans can be looked at; to approve and run them, choose another with `--state`"
        return Check(name, Health.WARN, message, cure)
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


def configuration_check(path: str | None) -> Check:
    """Say where the configuration was read from."""
    if path is None:
        looked = "looked for `planbound.toml` and `[tool.planbound]` in `pyproject.toml`"
        return Check(CONFIGURATION, Health.OK, f"found nothing, the defaults hold; {looked}")
    return Check(CONFIGURATION, Health.OK, f"read from {path}")


def receiver_checks(troubles: Sequence[str]) -> Iterator[Check]:
    """Say what is wrong with those who are told of events."""
    if not troubles:
        yield Check(NOTIFY, Health.OK, "everybody takes what they are told")
    cure = "mend the receiver, then `planbound notify`; `planbound log` has what it missed"
    for trouble in troubles[:MAX_FAULTS]:
        yield Check(NOTIFY, Health.WARN, trouble, cure)


def tool_checks(tools: Mapping[str, bool]) -> Iterator[Check]:
    for tool, found in tools.items():
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


def contract_checks(found: ContractTools) -> Iterator[Check]:
    """Say what the contracts of plans will use, and what they will not find."""
    name = CONTRACTS
    if found.fault is not None:
        yield Check(name, Health.WARN, *found.fault)
    elif found.tools:
        yield Check(name, Health.OK, f"they use {found.tools}")
    for word in found.missing if found.fault is None else ():
        yield Check(name, Health.WARN, f"one calls `{word}`, which they do not find", _MISSING)
    for caution in found.cautions:
        yield Check(name, Health.WARN, caution, "put it right, or take it out of the configuration")


def hook_checks(report: HookReport) -> Iterator[Check]:
    """Say whether the hooks of agent hosts are there, and answer."""
    for finding in report.findings:
        yield Check(HOOKS, Health.WARN, finding.problem, finding.cure)
    if not report.installed:
        yield Check(HOOKS, Health.OK, "none installed")
    elif not report.findings:
        yield Check(HOOKS, Health.OK, f"installed, and they answer: {', '.join(report.installed)}")


# -- doctor: looks at everything, says what is wrong and what cures it; it only looks ------------


TOOLS = ("git", "bash", "bwrap")


def doctor(context: Context) -> list[Check]:
    """Return every check; one that breaks down is a FAIL, and the others go on."""
    journal, opened = _open(context)
    readable = opened.health is Health.OK
    # Files without locks: those of a broken workspace may have no place.
    checks, plans = plan_checks(context.tree, Files(), journal)
    checks.append(opened)
    if readable:
        checks += _look(CHAIN, lambda: _journal(context, journal))
        checks += _look("worktrees", lambda: _worktrees(context), Health.WARN)
    else:
        why = f"{NOT_CHECKED}: the journal cannot be read"
        checks += [Check(name, Health.OK, why) for name in (CHAIN, ANCHOR, "worktrees")]
    checks += _look(STATE, lambda: [state_check(_state(context.state.folder))])
    checks += _look("disk", lambda: findings_checks("disk", disk_findings(context), Health.FAIL))
    checks += _look("left behind", lambda: findings_checks("left behind", left_findings(context)))
    checks += _look(CONFIGURATION, lambda: [configuration_check(context.configuration.path)])
    checks += _receivers(context)
    checks += tool_checks({tool: shutil.which(tool) is not None for tool in TOOLS})
    checks += _look(CONTRACTS, lambda: _contracts(context, plans), Health.WARN)
    checks += _look(HOOKS, lambda: hook_checks(hook_findings(context.root, os.environ)))
    return checks


def _look(
    name: str, look: Callable[[], Iterable[Check]], health: Health = Health.FAIL
) -> list[Check]:
    """Return what a look comes to; where it breaks down, that is what was found."""
    try:
        return list(look())
    except PlanboundError as error:
        return [failed(name, error, health)]


def _open(context: Context) -> tuple[Journal | None, Check]:
    try:
        journal = context.existing_journal()
        if journal is None:
            return None, Check("database", Health.OK, "there is no journal yet")
        head = journal.head()
    except PlanboundError as error:
        return None, failed("database", error)
    return journal, Check("database", Health.OK, f"reachable; {head.seq} events")


def _journal(context: Context, journal: Journal | None) -> Iterable[Check]:
    noted, folder = context.anchors().read(), context.state.folder
    return journal_checks(check(journal, noted, guarded=context.guards_stand, folder=folder))


def _worktrees(context: Context) -> Iterable[Check]:
    found = worktree_findings(context)
    return findings_checks("worktrees", found) if found else [Check("worktrees", Health.OK, "none")]


def _contracts(context: Context, plans: list[Plan]) -> Iterable[Check]:
    return contract_checks(tools_of_plans(context, plans))


def _receivers(context: Context) -> list[Check]:
    try:
        if not context.configuration.notify:
            return []
    except PlanboundError:  # told by another check
        return []
    from planbound.workspace.receivers import receiver_troubles  # noqa: PLC0415 - most have none

    return _look(NOTIFY, lambda: receiver_checks(receiver_troubles(context)))


def _state(folder: str) -> StateFolder:
    try:
        found = os.stat(folder)
    except FileNotFoundError:
        above = folder
        while not os.path.lexists(above):
            above = os.path.dirname(above)
        is_open = os.access(above, os.W_OK | os.X_OK)
        return StateFolder(folder, None, closed=None if is_open else above)
    except OSError as error:
        raise FileProblem(f"cannot look at {folder}: {error.strerror}") from error
    own = found.st_uid == os.geteuid()
    return StateFolder(folder, stat.S_IMODE(found.st_mode), own, size_text(size_of(folder)))

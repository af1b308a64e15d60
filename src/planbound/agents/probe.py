"""Try whether an agent can do anything at all: start, edit a file, and be stopped."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import shutil
import threading
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from msgspec.structs import replace

from planbound.agents.agent import Agent, Usage
from planbound.agents.conversation import Conversation, TalkPlace, trouble_of
from planbound.agents.kind import Kind, all_kinds, find_kind, logins_of, make_agent
from planbound.agents.program import Program
from planbound.agents.signs import is_credential
from planbound.cells.cell import CommandEnding, Request
from planbound.cells.copies import WorkspaceCopies
from planbound.cells.isolation import Isolation
from planbound.cells.orders import is_below
from planbound.cells.scratch import held, mark
from planbound.disk.extras import install_extra
from planbound.errors import CellProblem, ConfigurationError, FileProblem, Refused
from planbound.judging.context import JudgingContext, judging_context
from planbound.workspace.agents import AgentRules, Home
from planbound.workspace.context import Context
from planbound.workspace.environment import agent_variables
from planbound.workspace.state_home import AgentHomes

# -- try whether an agent can do anything at all: start, edit a file, and be stopped -------------


FILE = "probe.txt"
_EDIT = """\
Write the one word `{word}` into the file `{file}` in this folder, with an end of line, and do
nothing else. The file is not there yet.
"""
_WAIT = """\
Run the command `sleep 600` in this folder, wait until it has ended, and then say that it has.
"""
_STOP_AFTER = 4.0


class ProbeResult(NamedTuple):
    """One part of a probe."""

    what: str
    """`speaks`, `starts`, `edits` or `stops`."""
    trouble: str | None
    """None: it can."""
    note: str = ""


class Probed(NamedTuple):
    """What came of probing one agent."""

    name: str
    findings: tuple[ProbeResult, ...]
    usage: Usage
    proposed: tuple[str, ...] = ()
    """Lines for its table in the configuration with which it could do more."""

    @property
    def is_fit(self) -> bool:
        """Whether it can be given a step."""
        return all(finding.trouble is None for finding in self.findings)


def probe(agent: Agent, place: TalkPlace, word: str, *, briefly: bool = False) -> Probed:
    """Try an agent in a scratch repository: it writes a word into a file there."""
    talk = Conversation(agent, place)
    findings = tuple(_findings(talk, word, briefly=briefly))
    refused = sorted({each.name for each in talk.traffic if each.refused and not each.connections})
    network = ", ".join(f'"{name}"' for name in refused)
    proposed = (f"network = [..., {network}]",) if refused else ()
    return Probed(agent.name, findings, talk.spent, proposed)


def _findings(talk: Conversation, word: str, *, briefly: bool) -> Iterator[ProbeResult]:
    try:
        worked = talk.work(_EDIT.format(word=word, file=FILE))
    except Refused as problem:
        yield ProbeResult("starts", problem.message)
        return
    outcome = worked.outcome
    if outcome.ending is CommandEnding.NOT_STARTED:
        yield ProbeResult("starts", outcome.reason)
        return
    yield ProbeResult("starts", None, f"{outcome.duration:.1f} s")
    found = _read(os.path.join(talk.place.copy, FILE))
    if found is None or found.split() != [word.encode()]:
        trouble = trouble_of(worked) or "it ended without an error"
        what = "is not there" if found is None else "holds something else"
        yield ProbeResult("edits", f"{trouble}, and `{FILE}` {what}")
        return
    yield ProbeResult("edits", None)
    if not briefly:
        yield _stop(talk)


def _stop(talk: Conversation) -> ProbeResult:
    """Give it something long to do, and end it in the middle."""
    timer = threading.Timer(_STOP_AFTER, talk.control.stop, ["the probe is over"])
    timer.daemon = True
    timer.start()
    try:
        outcome = talk.work(_WAIT).outcome
    finally:
        timer.cancel()
    if outcome.ending is CommandEnding.STOPPED:
        return ProbeResult("stops", None, f"after {outcome.duration:.1f} s, nothing of it is left")
    if outcome.ending is CommandEnding.EXITED:
        return ProbeResult("stops", None, f"it ended by itself after {outcome.duration:.1f} s")
    return ProbeResult("stops", outcome.reason or outcome.ending.value)


# -- the copy of the workspace in which an agent is talked to without a plan ---------------------


TALK = "talk-"
"""How its name begins."""


def talk_name() -> str:
    """Return a name for the copy in which this process lets an agent talk, and for its home."""
    return f"{TALK}{mark()}-{secrets.token_hex(4)}"


@contextlib.contextmanager
def talk_at(copies: WorkspaceCopies, homes: AgentHomes, copy: str) -> Iterator[None]:
    """Have a copy for the time of a talk."""
    try:
        with held(copy):
            yield
    finally:
        homes.remove(os.path.basename(copy))
        copies.remove(copy)


# -- what is known about agents without asking them: installed, configured, ready; and the probe -


_PROBE_SECONDS = 180.0


class Installed(NamedTuple):
    """A kind, and whether this machine has what it needs."""

    kind: Kind
    program: str | None
    """Where its program is; None: it has none, or it is not there."""
    missing: str | None
    """What has to be installed first; None: nothing."""
    credentials: tuple[str, ...]
    """Those of its variables that are set."""


class AgentReadiness(NamedTuple):
    """A configured agent, and whether it could be given a step."""

    rules: AgentRules
    roles: tuple[str, ...]
    program: str | None
    problems: tuple[str, ...]


def installed_kinds() -> Iterator[Installed]:
    """Yield every kind with what this machine has of it."""
    for kind in all_kinds():
        program = shutil.which(kind.command[0]) if kind.command else None
        missing = _not_importable(kind)
        if missing is None and kind.command and program is None:
            missing = f"`{kind.command[0]}` is not on PATH"
        found = tuple(name for name in kind.credentials if os.environ.get(name))
        yield Installed(kind, program, missing, found)


def configured_agents(context: Context) -> Iterator[AgentReadiness]:
    """Yield every configured agent."""
    configuration = context.configuration
    variables = agent_variables(configuration, context.root, os.environ)
    for name, rules in configuration.agents.items():
        roles = configuration.roles_of(name)
        program, problems = _look(rules, context.root, variables)
        yield AgentReadiness(rules, roles, program, tuple(problems))


def probe_agents(context: Context, names: tuple[str, ...]) -> Iterator[Probed]:
    """Try agents one after the other, each in a scratch repository of its own."""
    agents = context.configuration.agents
    for name in names:
        if name not in agents:
            known = ", ".join(agents) or "none"
            raise Refused(f"there is no agent `{name}`", hint=f"configured are: {known}")
    for name in names or tuple(agents):
        try:
            yield _probe(context, agents[name])
        except (CellProblem, ConfigurationError, FileProblem) as problem:
            yield Probed(name, (ProbeResult("starts", problem.message),), Usage())


def _probe(context: Context, rules: AgentRules) -> Probed:
    kind = find_kind(rules.kind)
    rules = _from_elsewhere(rules, context.root)
    seen = kind.examine(rules, os.environ) if kind is not None and kind.examine else None
    if seen is not None and seen.trouble is not None:
        return Probed(rules.name, (seen,), Usage())
    judging = judging_context(context)
    found, left = _tried(context, judging, rules)
    if not found.is_fit and found.findings[-1].what == "edits":
        found = _with_lines(context, judging, rules, found, left)
    return found if seen is None else found._replace(findings=(seen, *found.findings))


def _from_elsewhere(rules: AgentRules, root: str) -> AgentRules:
    """Return rules whose command names files of the workspace by their whole paths."""
    places = ((word, os.path.join(root, word)) for word in rules.command)
    words = (path if os.sep in word and os.path.exists(path) else word for word, path in places)
    return replace(rules, command=tuple(words))


def _tried(
    context: Context, judging: JudgingContext, rules: AgentRules, *, briefly: bool = False
) -> tuple[Probed, list[str]]:
    """Try an agent; also return what it left in its home."""
    agent = make_agent(rules, agent_variables(context.configuration, context.root, os.environ))
    folder = context.state.folder
    copies = WorkspaceCopies(os.path.join(folder, "copies"))
    homes = AgentHomes(os.path.join(folder, "homes"))
    name = talk_name()
    scratch = copies.make_empty(name)
    with talk_at(copies, homes, scratch):
        git = shutil.which("git", path=os.environ.get("PATH"))
        if git is not None:
            environment = {"HOME": "{home}", "PATH": os.path.dirname(git)}
            words = (git, "init", "--quiet", "--template=")
            judging.cell.run(Request(words, scratch, environment, writable=True))
        place = TalkPlace(
            cell=judging.cell,
            copy=scratch,
            shown_at=scratch,
            homes=homes,
            masked=judging.hidden_from_agents,
            exposed=judging.exposed,
            view=judging.view,
            seconds=rules.seconds or _PROBE_SECONDS,
            max_cost=rules.max_cost,
        )
        word = f"probe-{secrets.token_hex(4)}"
        found = probe(agent, place, word, briefly=briefly)
        return found, list(_left(homes.of(os.path.basename(scratch))))


# -- what an agent needs of the home, found out by trying ----------------------------------------


_SHELVES = (".config", ".local", ".local/share", ".local/state", ".cache")
"""Folders of a home in which every program has its own."""
_FORMS = (
    ".{}", ".{}.json", ".{}.toml", ".{}.yml", ".{}.yaml", ".{}rc", ".config/{}", ".local/share/{}",
    ".local/state/{}",
)  # fmt: skip
_MOST_TRIED = 8


def _with_lines(
    context: Context, judging: JudgingContext, rules: AgentRules, found: Probed, left: list[str]
) -> Probed:
    """Try an agent that could not do its task with more of the home; propose what it needed."""
    home = judging.view.home
    if home is None or not judging.cell.isolation.reaches(Isolation.I2):
        return found
    wanted = [name for name in _candidates(rules, left) if os.path.exists(f"{home}/{name}")]
    known = (*judging.view.tools, *judging.view.caches)
    wanted = [
        name
        for name in wanted
        # There already, or the folder of what is.
        if not any(is_below(path, f"{home}/{name}") for path in known)
    ][:_MOST_TRIED]
    spent = [found.usage]

    def does(names: list[str]) -> bool:
        more = replace(rules, shown=(*rules.shown, *(f"~/{name}" for name in names)))
        tried, _ = _tried(context, judging, more, briefly=True)
        spent.append(tried.usage)
        return tried.is_fit

    if not wanted or not does(wanted):
        return found._replace(usage=_sum(spent))
    for name in list(wanted):
        fewer = [each for each in wanted if each != name]
        if fewer and does(fewer):
            wanted = fewer
    usage = _sum(spent)
    return found._replace(usage=usage, proposed=(*found.proposed, _home_line(rules, wanted)))


def _home_line(rules: AgentRules, names: list[str]) -> str:
    """Return what to write: a log-in is passed, so that what the agent renews in it stays."""
    logins = logins_of(rules.kind)
    words = [f"~/{name}" for name in names if name not in logins]
    if len(words) < len(names):
        words.insert(0, Home.PASS.value)
    if words == [Home.PASS.value] and not rules.shown:
        return f'home = "{Home.PASS.value}"'
    return f"home = [{', '.join(json.dumps(word) for word in (*words, *rules.shown))}]"


def _candidates(rules: AgentRules, left: list[str]) -> Iterator[str]:
    """Yield what an agent may look for in a home: its log-in, what it made anew, its name."""
    kind = find_kind(rules.kind)
    named = [] if kind is None else [*(kind.logins or ()), *left]
    words = rules.command or (() if kind is None else kind.command)
    names = (os.path.splitext(os.path.basename(word))[0] for word in words)
    named += [form.format(name) for name in names if name.isidentifier() for form in _FORMS]
    yield from dict.fromkeys(named)


def _left(home: str) -> Iterator[str]:
    """Yield what an agent made in its home, by the names that belong to one program."""
    for shelf in ("", *_SHELVES):
        try:
            names = sorted(os.listdir(os.path.join(home, shelf)))
        except OSError:
            continue
        found = (os.path.join(shelf, name) for name in names)
        yield from (name for name in found if name not in _SHELVES and shelf != ".cache")


def _sum(spent: list[Usage]) -> Usage:
    tokens = [each.tokens for each in spent if each.tokens is not None]
    dollars = [each.dollars for each in spent if each.dollars is not None]
    return Usage(sum(tokens) if tokens else None, sum(dollars, Decimal(0)) if dollars else None)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(1000)
    except OSError:
        return None


def _look(
    rules: AgentRules, workspace: str, variables: Mapping[str, str]
) -> tuple[str | None, list[str]]:
    problems: list[str] = []
    try:
        kind = find_kind(rules.kind)
        make_agent(rules, variables)
    except ConfigurationError as error:
        return None, [error.message]
    assert kind is not None
    if (missing := _not_importable(kind)) is not None:
        problems.append(missing)
    program = None
    words = rules.command or kind.command
    if words:
        program = Program(rules, variables).find(words[0], workspace)
        if program is None:
            problems.append(f"`{words[0]}` is not installed")
    problems += [
        f"`{name}` is not set"
        for name in rules.env
        if is_credential(name) and not os.environ.get(name)
    ]
    if not words:
        problems += _no_credential(rules, kind)
    return program, problems


def _no_credential(rules: AgentRules, kind: Kind) -> Iterator[str]:
    """Yield that a service which usually wants a credential would be asked without one."""
    provider = (rules.model or "").partition(":")[0].partition("-")[0].upper()
    usual = [name for name in kind.credentials if provider and name.startswith(provider)]
    named = rules.base_url is not None or any(is_credential(name) for name in rules.env)
    if usual and not named and not any(os.environ.get(name) for name in kind.credentials):
        yield f"`{usual[0]}` is not set"


def _not_importable(kind: Kind) -> str | None:
    for module in kind.modules:
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            return f"`{install_extra(str(kind.extra))}`"
    return None

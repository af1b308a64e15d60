"""Every agent that speaks the Agent Client Protocol: opencode, goose, Gemini CLI and many more.

What is launched in the cell is a client of ours, which starts the agent as its child and has one
turn with it: see `planbound.agents.acp`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from planbound.agents.acp.transcript import AcpTranscript, Job, Permissions
from planbound.agents.agent import Assignment, Usage, Worked
from planbound.agents.cli import CliCall, PrintedLines, refuse_options, with_cut_off
from planbound.agents.control import ALWAYS
from planbound.agents.kind import Kind
from planbound.agents.program import Program, not_installed, surroundings
from planbound.cells.cell import CommandEnding, Outcome
from planbound.errors import ConfigurationError
from planbound.plan.model import Stream
from planbound.workspace.agents import AgentRules

_MODULES = ("acp",)
_PACKAGES = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
)
# Isolated: nothing that lies in the workspace, or that a variable names, is imported.
_CLIENT = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from planbound.agents.acp.client import main; sys.exit(main())"
)


class AcpAgent:
    """An agent that is spoken with over the protocol."""

    def __init__(self, rules: AgentRules, environment: Mapping[str, str]) -> None:
        if not rules.command:
            raise ConfigurationError(
                f"`agents.{rules.name}` has no `command`",
                hint='write what starts the agent, such as `command = ["opencode", "acp"]`',
            )
        refuse_options(rules, "permissions", "authentication", "mode", "usage")
        self.rules = rules
        self.program = Program(rules, environment)
        self.permissions = Permissions(_choice(rules, "permissions", "policy", "allow", "reject"))
        self.authentication = _name(rules, "authentication", "gemini-api-key")
        self.mode = _name(rules, "mode", "yolo")
        _choice(rules, "usage", "turn", "session")

    @property
    def name(self) -> str:
        """Return how the configuration calls it."""
        return self.rules.name

    def work(self, assignment: Assignment) -> Worked:
        """Have one turn with it, in the session of the attempt before where it can go on."""
        if (trouble := self.program.trouble() or _package_missing()) is not None:
            return trouble
        word = self.rules.command[0]
        path = self.program.find(word, assignment.workspace)
        if path is None:
            return not_installed(word)
        job = Job(
            command=(path, *self.rules.command[1:]),
            prompt=assignment.prompt,
            follow_up=assignment.follow_up,
            session=assignment.session,
            model=self.rules.model,
            mode=self.mode,
            authentication=self.authentication,
            permissions=self.permissions,
            protected=ALWAYS,
            commands=None if assignment.role is None else assignment.role.commands,
        )
        transcript = self._transcript(assignment)
        outcome = self._launch(assignment, job, transcript)
        transcript.end(outcome)
        told = job.follow_up if transcript.goes_on else job.prompt
        return Worked(
            outcome,
            usage=with_cut_off(transcript.used(assignment.session_usage), transcript, outcome)
            if transcript.is_prompted
            else Usage(),
            error=transcript.error,
            session=transcript.session if transcript.is_worth_going_on else None,
            said=transcript.said or None,
            told=told if transcript.is_prompted else "",
            plan=transcript.plan,
        )

    def _transcript(self, assignment: Assignment) -> AcpTranscript:
        call = CliCall(
            rules=self.rules,
            prompt=assignment.prompt,
            session=assignment.session,
            attempt=assignment.attempt,
            workspace=assignment.workspace,
            seconds=assignment.seconds,
        )
        transcript = AcpTranscript(call, assignment.note)
        transcript.printed = PrintedLines(assignment.printed)
        return transcript

    def _launch(self, assignment: Assignment, job: Job, transcript: AcpTranscript) -> Outcome:
        def hear(stream: Stream, line: bytes) -> Usage | None:
            heard = transcript.hear(stream, line)
            return transcript.used(assignment.session_usage) if heard else None

        agent = job.command[0]
        dispatch = self.program.dispatch(
            assignment,
            (sys.executable, "-I", "-c", _CLIENT, _PACKAGES),
            own={},
            stdin=job.to_json(),
            exposed=(
                *(sys.prefix, sys.base_prefix, _PACKAGES),
                *surroundings(agent),
            ),
            hear=hear,
        )
        return assignment.launch(dispatch._replace(kept_home=assignment.home()))


def _choice(rules: AgentRules, option: str, *known: str) -> str:
    """Return what an option says; the first of all that it can say where it says nothing."""
    value = rules.options.get(option, known[0])
    if value in known:
        return str(value)
    raise ConfigurationError(
        f"`agents.{rules.name}.options.{option}` is {value!r}",
        hint=f"write {', '.join(f'`{each}`' for each in known[:-1])} or `{known[-1]}`",
    )


def _name(rules: AgentRules, option: str, example: str) -> str | None:
    value = rules.options.get(option)
    if value is None or (isinstance(value, str) and value):
        return value
    raise ConfigurationError(
        f"`agents.{rules.name}.options.{option}` is {value!r}",
        hint=f"write the agent's own name for it, such as `{example}`",
    )


def _package_missing() -> Worked | None:
    """Return how an attempt ends where the protocol's package is not installed."""
    from importlib.util import find_spec  # noqa: PLC0415 - start-up

    if all(find_spec(module) is not None for module in _MODULES):
        return None
    reason = "the package `agent-client-protocol` is not installed: install `planbound[acp]`"
    return Worked(Outcome(CommandEnding.NOT_STARTED, reason=reason), error="not-installed")


KIND = Kind(
    "acp",
    "any agent that speaks the Agent Client Protocol",
    AcpAgent,
    extra="acp",
    modules=_MODULES,
)

"""`planbound integrate`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from planbound.cli.live import live_line
from planbound.cli.running import signals
from planbound.cli.terminal import Terminal
from planbound.engine.team.integration import (
    HeldBack,
    Integrated,
    Landed,
    Result,
    StopKind,
    Stopped,
)
from planbound.errors import ExitCode, NothingToDo
from planbound.source.visible import visible
from planbound.wiring.integrating import Hooks, Integrating
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts

if TYPE_CHECKING:
    from planbound.wiring.resolving import Resolution


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "plans", nargs="*", metavar="NAME", help="the plans (default: all that are proved)"
    )
    parser.add_argument(
        "--into",
        metavar="BRANCH",
        help="where to (default: `[worktrees] into`, else the main worktree's branch)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be merged; nothing is judged"
    )
    parser.add_argument(
        "--resolve",
        action="store_true",
        help="make a plan of one step of every conflict, with the same judges, for an agent",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Merge proved plans, each judged once more on the merged files."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    parts.told = live_line(quiet=arguments.json).judging
    face = _Face(
        terminal,
        quiet=arguments.json,
        foreseen=arguments.dry_run,
        resolves=arguments.resolve,
    )
    hooks = Hooks(saw=face.saw, say=face.say)
    integrating = Integrating(parts, arguments.plans or None, arguments.into, hooks)
    if arguments.dry_run:
        done = integrating.foresee()
        for result in done.results:
            face.saw(result)
        if not done.results and not arguments.json:
            raise NothingToDo(f"no proved plan waits to be merged into `{done.into}`")
    else:
        with signals(integrating):
            try:
                done = integrating.execute()
            except NothingToDo as nothing:
                if not arguments.json:
                    raise
                branch = integrating.branch()
                terminal.note(f"nothing to do: {nothing.message}")
                done = Integrated(branch.name, branch.commit, branch.commit, ())
    resolutions = _hand_over(parts, done) if arguments.resolve and not arguments.dry_run else []
    if arguments.json:
        terminal.json(_data(done) | {"resolutions": [each._asdict() for each in resolutions]})
    else:
        face.end(done)
        face.handed_over(resolutions)
    if len(resolutions) == len(done.stopped) > 0 and not done.interrupted:
        return ExitCode.WAITING
    return _exit_code(done)


def _hand_over(parts: Parts, done: Integrated) -> list[Resolution]:
    from planbound.wiring.resolving import hand_over  # noqa: PLC0415 - seldom

    stopped = [each for each in done.stopped if each.kind is StopKind.CONFLICT]
    return [hand_over(parts, each, done.into) for each in stopped]


class _Face:
    """Shows one integration as it goes."""

    def __init__(self, terminal: Terminal, *, quiet: bool, foreseen: bool, resolves: bool) -> None:
        self.terminal = terminal
        self.resolves = resolves
        self.quiet = quiet
        self.foreseen = foreseen

    def say(self, text: str) -> None:
        """Write a line about it."""
        self.terminal.note(visible(text))

    def saw(self, result: Result) -> None:
        """Show what became of a plan."""
        if self.quiet:
            return
        style = self.terminal.style
        name = style(visible(result.plan), "bold")
        match result:
            case Landed():
                self.terminal.out(f"{style('✓', 'green')} {name}  {self._landed(result)}")
            case Stopped():
                said = f"{result.kind.value}: {visible(result.reason)}"
                self.terminal.out(f"{style('✗', 'red')} {name}  {said}")
            case HeldBack():
                self.terminal.out(f"{style('…', 'yellow')} {name}  {visible(result.reason)}")
        sys.stdout.flush()

    def _landed(self, landed: Landed) -> str:
        note = visible(landed.note)
        if self.foreseen:
            return note or "merges cleanly; nothing was judged"
        if not landed.contracts and note:
            return f"{note}: {(landed.commit or '')[:12]}"
        count = f"{landed.contracts} contract{'' if landed.contracts == 1 else 's'}"
        said = f"merged as {(landed.commit or '')[:12]} ({count})"
        return f"{said}; {note}" if note else said

    def end(self, done: Integrated) -> None:
        """Say what to do now."""
        if done.interrupted:
            self.terminal.note("interrupted; go on with `planbound integrate`")
        elif done.stopped and not self.foreseen:
            self.terminal.note(
                f"nothing moved for what was stopped, and its branch stays: `planbound inbox`"
                f" shows more; when it is mended,"
                f" `planbound integrate {shlex.quote(done.stopped[0].plan)}`"
            )
            if any(each.kind is StopKind.CONFLICT for each in done.stopped) and not self.resolves:
                self.terminal.note("`planbound integrate --resolve` hands conflicts to an agent")
        elif done.landed and not self.foreseen:
            self.terminal.note(f"`{visible(done.into)}` is at {done.after[:12]} now")

    def handed_over(self, resolutions: Sequence[Resolution]) -> None:
        """Say who resolves conflicts, and what a person has to do for that."""
        for each in resolutions:
            name = self.terminal.style(visible(each.plan), "bold")
            self.terminal.out(f"→ {name}  resolves the conflict of {visible(each.of)}")
            self.terminal.note(
                f"look at it, then let it run: `planbound approve {shlex.quote(each.plan)}`,"
                f" `planbound run {shlex.quote(each.plan)}`, `planbound integrate`"
            )


def _exit_code(done: Integrated) -> ExitCode:
    if done.interrupted:
        return ExitCode.INTERRUPTED
    if done.stopped or (done.held_back and done.landed):
        return ExitCode.FAILED
    if done.held_back:
        return ExitCode.USAGE
    return ExitCode.DONE if done.landed else ExitCode.NOTHING_TO_DO


def _data(done: Integrated) -> dict[str, object]:
    return {
        "into": done.into,
        "before": done.before,
        "after": done.after,
        "merged": [_merged(each) for each in done.landed],
        "stopped": [_stopped(each) for each in done.stopped],
        "held_back": [each._asdict() for each in done.held_back],
        "interrupted": done.interrupted,
    }


def _merged(landed: Landed) -> dict[str, object]:
    data: dict[str, object] = {"plan": landed.plan, "commit": landed.commit}
    return data | {"note": landed.note} if landed.note else data


def _stopped(stopped: Stopped) -> dict[str, object]:
    data: dict[str, object] = {
        "plan": stopped.plan,
        "kind": stopped.kind.value,
        "reason": stopped.reason,
    }
    if stopped.files:
        data["files"] = list(stopped.files)
    if stopped.verdicts:
        data["verdicts"] = dict(stopped.verdicts)
    if stopped.about is not None:
        data["about"] = stopped.about
    return data

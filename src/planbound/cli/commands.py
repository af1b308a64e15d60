"""The one table of commands: for the program, its help, completion and the reference."""

import importlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from types import ModuleType

    from planbound.cli.terminal import Terminal

    Configure = Callable[[argparse.ArgumentParser], None]
    Run = Callable[[argparse.Namespace, Terminal], int]


class CommandRow(NamedTuple):
    """What is known of a command without importing it."""

    group: str
    module: str
    """Below `planbound`; it has `configure_NAME` and `run_NAME`."""
    sentence: str


GROUPS = {
    "plans": "write plans, and look at them",
    "gate": "decide whether a plan may run",
    "run": "run plans, and see where they are",
    "people": "what waits for a person",
    "team": "several plans, several workers",
    "agents": "who works, and in which program",
    "trust": "what contracts notice, receipts, this machine, and what is kept on it",
    "help": "what there is",
}
FIRST_HOUR = ("init", "new", "verify", "approve", "run", "status")
"""What somebody needs who begins, in this order."""

COMMANDS = {
    "init": CommandRow(
        "plans", "cli.init", "find out how the project is tested; make `.harness/` and a plan"
    ),
    "new": CommandRow("plans", "cli.plans", "begin a new named plan"),
    "draft": CommandRow(
        "plans", "cli.drafting", "let a model write a plan for a goal; it stays a draft"
    ),
    "redraft": CommandRow(
        "plans", "cli.drafting", "let a model write a plan again, for a reason; proved steps stay"
    ),
    "review": CommandRow(
        "plans", "cli.drafting", "ask a model for comments on a plan: advice, never an approval"
    ),
    "import": CommandRow("plans", "cli.plans", "make a draft from a task list of another tool"),
    "show": CommandRow("plans", "cli.show", "show what a plan says"),
    "list": CommandRow("plans", "cli.plans", "list the plans of the workspace"),
    "verify": CommandRow(
        "plans", "cli.verify", "report everything that is wrong with a plan; run nothing"
    ),
    "fmt": CommandRow(
        "plans", "cli.rewrite", "repair how a plan is written, and show the difference"
    ),
    "expand": CommandRow(
        "plans", "cli.rewrite", "write a template such as `3–N` out as numbered steps"
    ),
    "explain": CommandRow(
        "plans", "cli.verify", "explain what a diagnostic means and what to write instead"
    ),
    "resolve-active-plan": CommandRow(
        "plans", "cli.plans", "print the paths of the plan that this worktree is bound to"
    ),
    "stage": CommandRow("plans", "cli.plans", "write a draft into the queue"),
    "activate": CommandRow(
        "plans", "cli.plans", "copy a plan from the queue to where it is worked on"
    ),
    "archive": CommandRow("plans", "cli.plans", "put a finished plan away"),
    "baseline": CommandRow(
        "gate", "cli.judging", "freeze the tree before any work, and say which contracts are red"
    ),
    "judge": CommandRow(
        "gate", "cli.judging", "run the contracts on the workspace as it is, without an agent"
    ),
    "gate": CommandRow("gate", "cli.decisions", "decide about a plan in a dialogue"),
    "approve": CommandRow(
        "gate", "cli.gate", "show what a plan would run, and approve exactly that"
    ),
    "reject": CommandRow("gate", "cli.decisions", "refuse a plan, with the reason"),
    "ask": CommandRow("gate", "cli.decisions", "ask about a plan before deciding"),
    "decide": CommandRow(
        "gate",
        "cli.decisions",
        "do what somebody says about a plan, such as `approved, but skip task 2`",
    ),
    "amend": CommandRow(
        "gate", "cli.people", "change the steps of an approved plan that are not proved yet"
    ),
    "run": CommandRow(
        "run", "cli.run", "run an approved plan, or go on at the first unproved step"
    ),
    "resume": CommandRow("run", "cli.run", "go on with a run that was stopped, cut off, or failed"),
    "submit": CommandRow(
        "run", "cli.workers", "put an approved plan into the queue of the workers"
    ),
    "worker": CommandRow(
        "run", "cli.workers", "take plans from the queue and run them, until told to stop"
    ),
    "status": CommandRow(
        "run", "cli.status", "show where a plan is: its steps, what waits, who drives it"
    ),
    "attach": CommandRow("run", "cli.workers", "follow a run that goes on elsewhere"),
    "cancel": CommandRow("run", "cli.workers", "end a run"),
    "page": CommandRow(
        "run", "cli.page", "watch, understand and decide in a browser on this machine"
    ),
    "log": CommandRow("run", "cli.log", "read, follow and check the journal"),
    "inbox": CommandRow("people", "cli.inbox", "list what waits for a person"),
    "answer": CommandRow(
        "people", "cli.people", "answer a question of a run: retry, skip, abort, revise"
    ),
    "waive": CommandRow(
        "people", "cli.people", "go on without a pass of a step, which is shown as waived for ever"
    ),
    "attest": CommandRow("people", "cli.people", "sign the statement of a step or condition"),
    "release": CommandRow(
        "people", "cli.people", "take a plan away from its worker; what is not done stays undone"
    ),
    "notify": CommandRow(
        "people", "cli.inbox", "deliver what `[[notify]]` in the configuration asks for"
    ),
    "claims": CommandRow(
        "team", "cli.team", "show who works on which plan, and which files are reserved for it"
    ),
    "ready": CommandRow(
        "team", "cli.team", "show which plans can start, and which of them at the same time"
    ),
    "spawn": CommandRow("team", "cli.worktrees", "make a worktree and a branch for a plan"),
    "fleet": CommandRow(
        "team",
        "cli.fleet",
        "spawn and run the plans that are safe together, then those that build on them",
    ),
    "prune": CommandRow(
        "team",
        "cli.worktrees",
        "remove worktrees and branches whose work is all merged; say why others stay",
    ),
    "merge-order": CommandRow("team", "cli.team", "show in which order finished plans are merged"),
    "integrate": CommandRow(
        "team", "cli.worktrees", "merge proved plans, each judged once more on the merged files"
    ),
    "queue-status": CommandRow(
        "team", "cli.team", "show one line for each plan with its last progress"
    ),
    "standup": CommandRow(
        "team", "cli.team", "show what is being built, mergeable, idle or waiting for a person"
    ),
    "watch": CommandRow(
        "team", "cli.watch", "watch what runs, what waits for whom, and what was found"
    ),
    "agents": CommandRow(
        "agents", "cli.agents", "show which agents are configured and installed, and try them"
    ),
    "mcp": CommandRow(
        "agents", "cli.hosts", "offer the plan tools to a client of the Model Context Protocol"
    ),
    "hook": CommandRow(
        "agents",
        "session.hooks.command",
        "answer an event of an agent host, as JSON; `planbound install` sets it up",
    ),
    "install": CommandRow(
        "agents",
        "cli.hosts",
        "set up the hooks, plan tools and skill in an agent host, or remove them",
    ),
    "control": CommandRow(
        "trust",
        "cli.control",
        "try defects in what was changed, and say which the contracts do not notice",
    ),
    "receipt": CommandRow(
        "trust", "cli.receipts", "write what a run did, signed, for somebody else to check"
    ),
    "check-receipt": CommandRow(
        "trust", "cli.check_receipt", "check a receipt: no journal is needed, and no network"
    ),
    "replay": CommandRow(
        "trust", "cli.replay", "judge again what a receipt claims, in the cells of this machine"
    ),
    "keys": CommandRow("trust", "cli.receipts", "show, make, change and hand out the signing key"),
    "report": CommandRow(
        "trust", "cli.report", "write plans with all of their evidence as one page of HTML"
    ),
    "costs": CommandRow(
        "trust", "cli.costs", "say what agents used, on what, and how sure that is"
    ),
    "publish": CommandRow(
        "trust", "cli.publish", "put proved work and its receipt into a pull request"
    ),
    "selftest": CommandRow("trust", "cli.trust", "try to break out of the cells of this machine"),
    "gc": CommandRow(
        "trust", "cli.trust", "remove from the state home what no run and no approval needs"
    ),
    "doctor": CommandRow(
        "trust", "cli.trust", "say what is wrong with this workspace, and how to cure it"
    ),
    "help": CommandRow(
        "help", "cli.help", "list the commands of a group, or show the help of a command"
    ),
    "completion": CommandRow(
        "help", "cli.completion", "print a script that lets your shell complete commands and plans"
    ),
}

ALIASES = {"serve": "page"}
"""Other words for a command, which no list shows."""


def commands_in(group: str) -> list[str]:
    """Return the commands of a group, in the order of the table."""
    return [name for name, command in COMMANDS.items() if command.group == group]


def module_of(name: str) -> "ModuleType":
    """Import the module of a command: start-up is paid by every call, so no other one."""
    return importlib.import_module(f"planbound.{COMMANDS[name].module}")


def configure_of(name: str) -> "Configure":
    """Return what adds a command's arguments to a parser."""
    configure: Configure = getattr(module_of(name), f"configure_{name.replace('-', '_')}")
    return configure


def run_of(name: str) -> "Run":
    """Return what runs a command."""
    run: Run = getattr(module_of(name), f"run_{name.replace('-', '_')}")
    return run

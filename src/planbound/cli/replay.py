"""`planbound replay`: judge again what a receipt claims."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence

from planbound.cells.isolation import Isolation, refuse_in_cell
from planbound.cli.check_receipt import ReceiptCheck, list_of_keys
from planbound.cli.progress import live_line
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.disk.files import write_whole
from planbound.errors import ExitCode, UsageError
from planbound.journal.event import VerdictKind
from planbound.plan.model import Evidence
from planbound.receipts.check import CheckRules, shown_line
from planbound.receipts.doors import read_receipt_file
from planbound.receipts.replay import Replay, Replaying, ReplayTerms
from planbound.receipts.replay_gate import Replayable, open_receipt
from planbound.receipts.replay_receipt import (
    OwnKey,
    ReplayFacts,
    own_key,
    replay_lines,
    replay_statement,
    sha256_of,
)
from planbound.receipts.replay_tree import replay_clone
from planbound.receipts.replayed import PlanReplay, ReplayedItem, ReplayOutcome
from planbound.receipts.ssh_signature import fingerprint
from planbound.source import visible
from planbound.workspace.configuration import Configuration
from planbound.workspace.context import Context


class ItemReplayed(JsonObject, frozen=True):
    """An item of the receipt, and what became of it here."""

    kind: str
    """`step`, `precondition` or `postcondition`."""
    number: str
    title: str
    recorded: str
    """What the receipt says: `proved`, `holds`, `claimed`, `attested`, `waived`, ..."""
    recorded_evidence: Evidence | None
    outcome: ReplayOutcome
    reason: str
    verdict: VerdictKind | None
    """What was found here; null where nothing was judged."""
    evidence: Evidence | None
    isolation: Isolation | None
    laid: list[str]
    """Judges of the receipt that the judged files did not have, or had otherwise."""
    missing: list[str]
    """Judges that are not to be had here."""


class ReceiptReplayed(JsonObject, frozen=True):
    """What came of judging a receipt again."""

    slug: str
    receipt: str
    """The SHA-256 of the receipt's file."""
    checks: list[ReceiptCheck]
    """What was looked at in the receipt itself."""
    ran: bool
    """Whether anything was judged: nothing is, of a receipt that does not check."""
    same: bool
    """Whether all that it calls proved or holding passes here, too."""
    independent: bool
    """Whether another key signs this than signed the receipt, behind walls of I2 or more."""
    tree: str | None
    """The tree that was judged."""
    recorded_tree: str | None
    """The tree of the receipt."""
    isolation: Isolation | None
    tools: list[str]
    not_given: list[str]
    """What the receipt names that contracts did not get here."""
    items: list[ItemReplayed]
    path: str | None
    """The receipt of the replay."""
    signed: str | None
    """The fingerprint of the key that signed it."""


def configure_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a receipt, `-` for standard input")
    parser.add_argument("--step", action="append", metavar="N", help="only this step; repeatable")
    parser.add_argument(
        "--tree",
        metavar="REV",
        help="judge these files by the judges of the receipt (default: the receipt's own tree)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where the receipt of the replay goes (default: NAME.replay.jsonl)",
    )
    parser.add_argument(
        "--signers", metavar="FILE", help="who may sign, as `man ssh-keygen` has it"
    )
    parser.add_argument("--revoked", metavar="FILE", help="keys that may not any more")
    parser.add_argument(
        "--unsigned",
        action="store_true",
        help="run contracts of a receipt that does not check, behind walls of I2",
    )
    parser.add_argument(
        "--as-recorded",
        action="store_true",
        help="give contracts the variables and the network that the receipt names",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_replay(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Judge a receipt again, on this machine."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    # What the clone says about itself is not obeyed: neither in what judges, nor in who signs.
    context.configuration = Configuration()
    context.on_stage = live_line(quiet=arguments.json).judging
    opened = open_receipt(
        read_receipt_file(arguments.file),
        context.root,
        CheckRules(
            signers=list_of_keys(arguments.signers), revoked=list_of_keys(arguments.revoked)
        ),
        unsigned=arguments.unsigned,
    )
    face = _ReplayScreen(arguments, opened, terminal)
    face.checks()
    if not opened.may_run:
        return face.refused()
    if arguments.as_recorded and not opened.is_vouched:
        raise UsageError(
            "`--as-recorded` gives variables of this machine, and the network, to contracts of a"
            " receipt that nobody here vouches for",
            hint="`--signers FILE` says whose receipts are believed",
        )
    terms = ReplayTerms(
        steps=tuple(dict.fromkeys(arguments.step or ())),
        revision=arguments.tree,
        as_recorded=arguments.as_recorded,
        isolation=Isolation.I0 if opened.is_vouched else Isolation.I2,
    )
    output = _output(arguments.output, opened)
    replay = Replay(replay_clone(context), opened.run, opened.subjects, terms)
    begun: list[Replaying] = []

    def begin(replaying: Replaying) -> None:
        begun.append(replaying)
        face.begun(replay, replaying)

    found = list(replay.judged(begin))
    key = own_key(context)
    facts = ReplayFacts(opened.run, opened.said(), opened.keys, terms, begun[0])
    said = replay_statement(context, facts, found, key)
    lines = replay_lines(said, key)
    write_whole(output, lines)
    return face.end(said, key, output)


def _output(given: str | None, opened: Replayable) -> str:
    """Return where the receipt of the replay goes; refuse to write over something else."""
    path = given if given is not None else f"{opened.run.plan.slug}.replay.jsonl"
    if os.path.isdir(path) or not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise UsageError(f"`{path}` is no place for a file", hint="`-o FILE` names another one")
    if not os.path.isfile(path):
        return path
    with open(path, "rb") as file:
        if file.read(len(_BEGINS)) not in {b"", _BEGINS}:
            raise UsageError(
                f"`{path}` is there, and is no receipt", hint="`-o FILE` names another file"
            )
    return path


_BEGINS = b'{"payloadType":'
_MARKS = {
    ReplayOutcome.SAME: ("✓", "green"),
    ReplayOutcome.NOT_JUDGED: ("-", "dim"),
    ReplayOutcome.DIFFERS: ("✗", "red"),
}


class _ReplayScreen:
    """Shows one replay, to people or to programs."""

    def __init__(
        self, arguments: argparse.Namespace, opened: Replayable, terminal: Terminal
    ) -> None:
        self.json = arguments.json
        self.opened = opened
        self.terminal = terminal

    def checks(self) -> None:
        """Say what does not hold of the receipt itself, and who signed it."""
        for line in self.opened.checks:
            told = line.holds is False or line.name in {"signature", "signer"}
            if told and not self.json:
                self.terminal.out(shown_line(line))

    def refused(self) -> ExitCode:
        """Say that nothing was run."""
        if self.json:
            self.terminal.json(self._shown(None, None, None))
        else:
            self.terminal.note(
                "nothing was run: the receipt does not check"
                if self.opened.failing
                else "nothing was run: nobody signed the receipt"
            )
            self.terminal.note("hint: `--unsigned` judges it all the same, behind walls of I2")
        return ExitCode.FAILED

    def begun(self, replay: Replay, replaying: Replaying) -> None:
        """Say what is judged, where, and what contracts will not get."""
        if self.json:
            return
        tree = f"tree {replaying.tree.own[:12]}"
        same = ", that of the receipt" if replay.is_recorded_tree else ", not that of the receipt"
        self.terminal.out(f"{tree}{same}; {replaying.cell.name}, {replaying.cell.isolation.value}")
        if replaying.tools:
            self.terminal.out(f"contracts use {visible(', '.join(replaying.tools))}")
        for note in _notes(replaying):
            self.terminal.note(f"note: {note}")

    def end(self, said: PlanReplay, key: OwnKey, path: str) -> ExitCode:
        """Say what came of it."""
        if self.json:
            self.terminal.json(self._shown(said, key, path))
            return ExitCode.DONE if said.same else ExitCode.FAILED
        for item in said.items:
            for line in item_lines(item, self.terminal):
                self.terminal.out(line)
        self.terminal.out(conclusion(said, self.terminal))
        if key.signer is None:
            self.terminal.note(f"note: the receipt of this replay is not signed: {key.why}")
        elif key.signer.is_new:
            self.terminal.note(f"note: made a key that signs receipts: {key.signer.path}")
        self.terminal.note(f"wrote {visible(path)}")
        return ExitCode.DONE if said.same else ExitCode.FAILED

    def _shown(
        self, said: PlanReplay | None, key: OwnKey | None, path: str | None
    ) -> ReceiptReplayed:
        opened, run = self.opened, self.opened.run
        signer = None if key is None else key.signer
        isolations = [item.isolation for item in said.items if item.isolation] if said else []
        return ReceiptReplayed(
            slug=run.plan.slug,
            receipt=sha256_of(opened.data),
            checks=[ReceiptCheck(*line) for line in opened.checks],
            ran=said is not None,
            same=said is not None and said.same,
            independent=said is not None and said.independent,
            tree=None if said is None else said.tree.git_tree,
            recorded_tree=run.tree.git_tree,
            isolation=Isolation(isolations[0]) if isolations else None,
            tools=[] if said is None else list(said.tools),
            not_given=[] if said is None else list(said.not_given),
            items=[] if said is None else [_item_shown(item) for item in said.items],
            path=path,
            signed=None if signer is None else fingerprint(signer.key),
        )


def _notes(replaying: Replaying) -> Iterator[str]:
    """Yield what contracts of the receipt depended on, and do not find here."""
    for what in replaying.settings.not_given:
        yield f"contracts do not get {visible(what)}, which the receipt names"
    for path in replaying.submodules:
        yield f"`{visible(path)}` is another repository, and is empty here"
    for path in replaying.copied:
        yield f"`{visible(path)}` is as this clone has it installed"
    if replaying.base is None:
        yield (
            "the files that the work began with are not here: that contracts were red before is"
            " not seen again"
        )


def item_lines(item: ReplayedItem, terminal: Terminal) -> Iterator[str]:
    """Yield an item for people: what the receipt says, and what was found."""
    outcome = ReplayOutcome(item.outcome)
    mark, colour = _MARKS.get(outcome, ("?", "yellow"))
    recorded = " ".join(filter(None, (item.recorded, item.recorded_evidence)))
    if item.verdict is None:
        found = item.outcome
    else:
        found = f"{item.verdict} {item.evidence}"
        if outcome.value != item.verdict and outcome is not ReplayOutcome.SAME:
            found += f": {item.outcome}"
    title = f"{item.kind} {item.number}. {visible(item.title)}"
    yield f"{terminal.style(mark, colour)} {title}: {recorded} -> {terminal.style(found, colour)}"
    if outcome is not ReplayOutcome.SAME:
        yield f"    {visible(item.reason)}"
    laid = [judge.path for judge in item.judges if judge.laid]
    if laid:
        yield f"    judged by the receipt's: {visible(', '.join(laid))}"
    if outcome in {ReplayOutcome.DIFFERS, ReplayOutcome.FLAKY} and item.output is not None:
        yield from (f"    | {visible(line)}" for line in item.output.end.splitlines()[-_SHOWN:])


_SHOWN = 8


def conclusion(said: PlanReplay, terminal: Terminal) -> str:
    """Return one line about all of it."""
    judged = [each for each in said.items if each.outcome != ReplayOutcome.NOT_JUDGED.value]
    same = sum(each.outcome == ReplayOutcome.SAME.value for each in judged)
    text = f"{same} of {len(judged)} pass here, too"
    if len(judged) < len(said.items):
        text += f"; {len(said.items) - len(judged)} not judged"
    if said.same and said.independent:
        text += "; an independent verdict: another key signs it"
    return terminal.style(text, "green" if said.same else "red")


def _item_shown(item: ReplayedItem) -> ItemReplayed:
    return ItemReplayed(
        kind=item.kind,
        number=item.number,
        title=item.title,
        recorded=item.recorded,
        recorded_evidence=_evidence(item.recorded_evidence),
        outcome=ReplayOutcome(item.outcome),
        reason=item.reason,
        verdict=None if item.verdict is None else VerdictKind(item.verdict),
        evidence=_evidence(item.evidence),
        isolation=None if item.isolation is None else Isolation(item.isolation),
        laid=[judge.path for judge in item.judges if judge.laid],
        missing=[judge.path for judge in item.judges if not judge.found],
    )


def _evidence(name: str | None) -> Evidence | None:
    known: Sequence[Evidence] = tuple(Evidence)
    return next((each for each in known if each.value == name), None)


SHAPES: dict[str, Shapes] = {
    "replay": {"": ReceiptReplayed},
}

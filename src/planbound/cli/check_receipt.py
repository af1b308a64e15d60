"""`planbound check-receipt`."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping
from typing import Any

from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.receipts.check import (
    CheckLine,
    CheckRules,
    check,
    holds,
    read_receipt,
    required,
    shown_line,
)
from planbound.receipts.doors import doors, read_receipt_file
from planbound.receipts.envelope import ReceiptError


class ReceiptCheck(JsonObject, frozen=True):
    """One thing that was looked at."""

    name: str
    holds: bool | None
    """Null: it cannot be told here, or there is nothing to tell."""
    words: str


class ReceiptChecked(JsonObject, frozen=True):
    holds: bool
    """Whether nothing fails."""
    slug: str
    revision: int
    outcome: str
    """`proved`, `holds`, `settled` or `unfinished`: by the receipt's own word. Of the receipt of
    a replay `same` or `differs`."""
    tree: str | None
    git_tree: str | None
    signed: str | None
    """The fingerprint of the key that the receipt names."""
    checks: list[ReceiptCheck]


def configure_check_receipt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the receipt; `-` is standard input")
    parser.add_argument(
        "--signers", metavar="FILE", help="who may sign, a line each, as `man ssh-keygen` says"
    )
    parser.add_argument("--revoked", metavar="FILE", help="keys that may not sign any more")
    parser.add_argument(
        "--tree",
        metavar="REV",
        help="the revision here whose files are to be those that were judged",
    )
    parser.add_argument(
        "--previous", metavar="FILE", help="an earlier receipt, which this one is to continue"
    )
    parser.add_argument(
        "--require",
        metavar="WORDS",
        default="",
        help="what it must come to, such as `E3,I2,signed,proof,no-waiver,proved`",
    )
    parser.add_argument(
        "--markdown", action="store_true", help="show what it says, and each check, as Markdown"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_check_receipt(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Check a receipt by what is in it; no journal, no state home and no configuration is read."""
    if arguments.json and arguments.markdown:
        raise UsageError("`--json` and `--markdown` do not go together")
    data = read_receipt_file(arguments.file)
    previous = read_receipt_file(arguments.previous) if arguments.previous else None
    try:
        rules = CheckRules(
            signers=list_of_keys(arguments.signers),
            revoked=list_of_keys(arguments.revoked),
            tree=arguments.tree,
            require=required(arguments.require),
            earlier=previous,
        )
        lines = check(data, doors(arguments.workspace or os.getcwd()), rules)
        run = read_receipt(data).run
    except ReceiptError as error:
        raise UsageError(str(error)) from error
    if arguments.json:
        key = run["harness"]["key"]
        plan = run.get("plan", run)  # the receipt of a replay names it at its top
        terminal.json(
            ReceiptChecked(
                holds=holds(lines),
                slug=plan["slug"],
                revision=plan["revision"],
                outcome=run["outcome"] if "outcome" in run else _outcome(run),
                tree=run["tree"].get("tree"),
                git_tree=run["tree"]["git_tree"],
                signed=key["fingerprint"] if key else None,
                checks=[ReceiptCheck(*line) for line in lines],
            )
        )
    elif arguments.markdown:
        shown = _said(arguments, data) if "plan" in run else ""  # a replay has no comment
        terminal.raw(shown + _checks(lines))
    else:
        for line in lines:
            terminal.out(shown_line(line))
    return ExitCode.DONE if holds(lines) else ExitCode.FAILED


def _said(arguments: argparse.Namespace, data: bytes) -> str:
    from planbound.receipts.comment import receipt_comment  # noqa: PLC0415 - only for Markdown
    from planbound.receipts.publish import read_run  # noqa: PLC0415 - the same

    where = f" --tree {shlex.quote(arguments.tree)}" if arguments.tree else ""
    check = f"planbound check-receipt {shlex.quote(arguments.file)}{where}"
    return f"{receipt_comment(read_run(data), commit=None, check=check)}\n"


def _checks(lines: list[CheckLine]) -> str:
    from planbound.receipts.comment import checks_table  # noqa: PLC0415 - only for Markdown

    return checks_table(lines, hold=holds(lines))


def _outcome(replay: Mapping[str, Any]) -> str:
    return "same" if replay["same"] else "differs"


def list_of_keys(path: str | None) -> str | None:
    """Return where a list of keys is, from wherever it is asked; refuse one that is not there."""
    if path is not None and not os.path.isfile(path):
        raise UsageError(f"there is no file `{path}`")
    return None if path is None else os.path.abspath(path)


SHAPES: dict[str, Shapes] = {"check-receipt": {"": ReceiptChecked}}

"""`planbound receipt` and `keys`."""

from __future__ import annotations

import argparse
import shlex
import sys

from planbound.cli.progress import waiting
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.disk.files import write_whole
from planbound.errors import ExitCode, UsageError
from planbound.receipts.collect import collect, which_plan
from planbound.receipts.keep import find_kept, kept_content
from planbound.receipts.keys import HARNESS, KeyFolder, KnownKey, signer_of
from planbound.receipts.receipt import MadeReceipt, make_receipt
from planbound.receipts.ssh_signature import fingerprint
from planbound.source import visible
from planbound.workspace.context import Context

# -- `planbound receipt` --------------------------------------------------------------------------


class ReceiptWritten(JsonObject, frozen=True):
    """A receipt that was written to a file."""

    slug: str
    path: str
    sha256: str
    size: int
    """In bytes."""
    outcome: str
    """`proved`, `holds`, `settled` or `unfinished`."""
    tree: str | None
    """The digest of the files that were judged."""
    git_tree: str | None
    """The id that git has for them."""
    deviations: list[str]
    """What kinds of deviations it tells, each once."""
    signed: str | None
    """The fingerprint of the key; null where it is not signed."""


class ReceiptKept(JsonObject, frozen=True):
    """A receipt that the repository has."""

    ref: str
    """`git show REF` prints it."""
    tree: str
    """The tree of git that it is kept below."""
    sha256: str
    """Of the file; commits name it so."""


class ReceiptsKept(JsonObject, frozen=True):
    kept: list[ReceiptKept]


def configure_receipt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a plan's name or file")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write it to a file, whole or not at all"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--markdown", action="store_true", help="write the comment of a pull request instead"
    )
    form.add_argument("--unsigned", action="store_true", help="leave the signature out")
    form.add_argument(
        "--html", action="store_true", help="write a page for people instead, which nobody signs"
    )
    form.add_argument(
        "--kept",
        metavar="REV",
        nargs="?",
        const="",
        help="list the receipts that the repository has, of a commit or of all; with `-o` write it",
    )
    parser.add_argument(
        "--json", action="store_true", help="with `--output`: tell programs what was written"
    )


def run_receipt(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Write the receipt of a plan: to standard output, or to a file."""
    if arguments.html:
        return _write_html(arguments, terminal)
    if arguments.kept is not None:
        return _show_kept(arguments, terminal)
    if arguments.json and arguments.output is None:
        raise UsageError(
            "`--json` needs `--output FILE`", hint="without it the receipt itself is printed"
        )
    given = Context(workspace=arguments.workspace, state=arguments.state)
    context, slug = which_plan(given, arguments.plan)
    if arguments.markdown:
        return _write_markdown(context, slug, arguments, terminal)
    with waiting("collecting", f"what happened to `{slug}`", quiet=arguments.json):
        made = make_receipt(context, slug, unsigned=arguments.unsigned)
    if arguments.output is None:
        terminal.raw(made.data.decode("ascii"))
        sys.stdout.flush()  # what nobody got is no receipt that the next one continues
    else:
        write_whole(arguments.output, made.data)
    made.note()
    _tell_key(made, terminal)
    if arguments.json:
        terminal.json(_written(made, slug, arguments.output))
    elif arguments.output is not None:
        for line in receipt_lines(made, arguments.output):
            terminal.out(line)
    return ExitCode.DONE


def _write_html(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    from planbound.cli.report import refuse_terminal, write_page  # noqa: PLC0415 - only for a page
    from planbound.receipts.report import receipt_page  # noqa: PLC0415 - the same

    if arguments.json:
        raise UsageError("`--html` is a page for people, and has no `--json`")
    refuse_terminal(arguments.output)
    context, slug = which_plan(
        Context(workspace=arguments.workspace, state=arguments.state), arguments.plan
    )
    return write_page(receipt_page(context, slug), arguments.output, terminal)


def _write_markdown(
    context: Context, slug: str, arguments: argparse.Namespace, terminal: Terminal
) -> ExitCode:
    from planbound.receipts.comment import receipt_comment  # noqa: PLC0415 - only for a comment
    from planbound.receipts.publish import find_work  # noqa: PLC0415 - the same

    if arguments.json:
        raise UsageError("`--markdown` is a comment for people, and has no `--json`")
    run = collect(context, slug).run
    file = shlex.quote(f"{slug}.receipt.jsonl")
    work = find_work(context, run)
    commit = work.commit if work is not None else None
    where = f" --tree {commit[:12]}" if commit else ""
    text = receipt_comment(run, commit=commit, check=f"planbound check-receipt {file}{where}")
    if arguments.output is None:
        terminal.raw(text)
    else:
        write_whole(arguments.output, text.encode())
    return ExitCode.DONE


def _show_kept(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """List receipts that are kept; write the only one to a file, where one is named."""
    if arguments.plan is not None:
        raise UsageError("`--kept` lists receipts that are there: no plan goes with it")
    context = Context(workspace=arguments.workspace, state=arguments.state)
    found = find_kept(context, arguments.kept or None)
    if arguments.output is not None:
        contents = {each.sha256: each for each in found}
        if len(contents) != 1:
            raise UsageError(
                f"{len(contents)} receipts are kept, and one is to be written",
                hint="`planbound receipt --kept` lists them, `git show REF` prints one",
            )
        write_whole(arguments.output, kept_content(context, found[0]))
        terminal.note(f"wrote {visible(arguments.output)}")
    if arguments.json:
        kept = [ReceiptKept(ref=each.ref, tree=each.tree, sha256=each.sha256) for each in found]
        terminal.json(ReceiptsKept(kept=kept))
    elif arguments.output is None:
        for each in found:
            terminal.out(each.ref)
    if not found:
        of = f" of `{arguments.kept}`" if arguments.kept else ""
        terminal.note(f"nothing to do: no receipt{of} is kept here")
        return ExitCode.NOTHING_TO_DO
    return ExitCode.DONE


def _tell_key(made: MadeReceipt, terminal: Terminal) -> None:
    if made.signer is None:
        terminal.note("note: the receipt is not signed: whoever has it can change it")
    elif made.signer.is_new:
        terminal.note(f"note: made a key that signs receipts: {made.signer.path}")
        terminal.note("note: `planbound keys export` prints its line for a list of signers")


def _written(made: MadeReceipt, slug: str, path: str) -> ReceiptWritten:
    return ReceiptWritten(
        slug=slug,
        path=path,
        sha256=made.sha256,
        size=len(made.data),
        outcome=made.run.outcome,
        tree=made.run.tree.tree,
        git_tree=made.run.tree.git_tree,
        deviations=_kinds(made),
        signed=fingerprint(made.signer.key) if made.signer else None,
    )


def _kinds(made: MadeReceipt) -> list[str]:
    """Return the kinds of deviations, in their order."""
    tags = (str(each.__struct_config__.tag) for each in made.run.deviations)
    return list(dict.fromkeys(tags))


def receipt_lines(made: MadeReceipt, path: str) -> list[str]:
    """Return what people are told of a receipt that was written."""
    run, counts = made.run, made.run.counts
    green = f"{counts.proved} proved, {counts.holds} hold"
    lines = [f"{run.plan.slug}: {run.outcome}, {green}, of {counts.items}"]
    if run.deviations:
        lines.append(f"  it says: {', '.join(_kinds(made))}")
    signed = f"signed by {fingerprint(made.signer.key)}" if made.signer else "not signed"
    lines.append(f"wrote {visible(path)}: {len(made.data):,} bytes, {signed}")
    return lines


# -- `planbound keys` -----------------------------------------------------------------------------


class KeyShown(JsonObject, frozen=True):
    """A key that signs receipts, or did."""

    fingerprint: str
    owner: str
    """`harness` or `person`."""
    since: str | None
    """When it was made, in UTC; null of a person's."""
    until: str | None
    """When another one took its place; null while it signs."""
    signs: bool
    """Whether the next receipt is signed by it."""
    line: str
    """For a list of signers."""


class KeysShown(JsonObject, frozen=True):
    keys: list[KeyShown]
    path: str
    """Where the harness's key is."""


_ACTIONS = ("show", "new", "rotate", "export")


def configure_keys(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=_ACTIONS,
        default="show",
        metavar="ACTION",
        help="`show` (as without it), `new`, `rotate`, or `export` for a list of signers",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_keys(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Show, make, change and hand out the key that signs receipts."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    folder = KeyFolder(context)
    if arguments.action == "new":
        folder.make()
    elif arguments.action == "rotate":
        folder.rotate()
    keys = shown_keys(context, folder)
    if arguments.json:
        terminal.json(KeysShown(keys=keys, path=folder.path))
    elif arguments.action == "export":
        for key in keys:
            terminal.out(key.line)
    else:
        for key in keys:
            terminal.out(_key_line(key))
    if not keys:
        terminal.note("note: there is no key yet: `planbound keys new`, or the first receipt")
        return ExitCode.NOTHING_TO_DO
    return ExitCode.DONE


def _key_line(key: KeyShown) -> str:
    times = f"since {key.since}" if key.since else ""
    times += f" until {key.until}" if key.until else ""
    word = "signs" if key.signs else "earlier" if key.until else "unused"
    return f"{word.ljust(7)}  {key.fingerprint}  {key.owner}  {times}".rstrip()


def shown_keys(context: Context, folder: KeyFolder) -> list[KeyShown]:
    """Return every key, the one that signs first."""
    known = folder.known()
    configured = context.configuration.receipts.key is not None
    found = [_shown(each, HARNESS, signs=not each.until and not configured) for each in known]
    if configured:
        signer = signer_of(context)
        mine = KnownKey(signer.owner, signer.key, "", "")
        found.append(_shown(mine, signer.owner, signs=True))
    return sorted(found, key=_place)


def _place(key: KeyShown) -> bool:
    return not key.signs


def _shown(key: KnownKey, owner: str, *, signs: bool) -> KeyShown:
    return KeyShown(
        fingerprint=fingerprint(key.key),
        owner=owner,
        since=key.since or None,
        until=key.until or None,
        signs=signs,
        line=key.line,
    )


SHAPES: dict[str, Shapes] = {
    "receipt": {"": ReceiptWritten, "--kept": ReceiptsKept},
    "keys": {"": KeysShown},
}

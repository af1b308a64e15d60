"""`planbound import`."""

from __future__ import annotations

import argparse
import shlex

from planbound.cli.journalling import note_created
from planbound.cli.terminal import Terminal
from planbound.engine.adopt.formats import Format
from planbound.errors import ExitCode
from planbound.source.visible import visible
from planbound.usecases.adopt import adopt, write_adopted
from planbound.wiring.parts import Parts
from planbound.workspace.task_list import find_task_list


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="a task list, or a folder that holds one")
    parser.add_argument(
        "--from",
        dest="kind",
        choices=[kind.value for kind in Format],
        help="the format (default: told from the file, where it is beyond doubt)",
    )
    parser.add_argument(
        "--name", metavar="NAME", help="name of the plan (default: by the file's name)"
    )
    parser.add_argument("--tag", metavar="TAG", help="taskmaster: the tag to read")
    parser.add_argument("--stdout", action="store_true", help="print the draft, write nothing")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Write a draft with a step for each task; none of them counts as done."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    adopted = adopt(
        find_task_list(arguments.file, parts.reader),
        kind=Format(arguments.kind) if arguments.kind else None,
        name=arguments.name,
        tag=arguments.tag,
    )
    for remark in adopted.draft.remarks:
        terminal.note(f"note: {visible(remark)}")
    if arguments.stdout:
        terminal.raw(adopted.draft.text)
        return ExitCode.DONE
    file = write_adopted(adopted, workspace=parts.tree, files=parts.files, folders=parts.real_files)
    note_created(parts, file, terminal, origin="import")
    draft = adopted.draft
    steps = "1 step" if draft.steps == 1 else f"{draft.steps} steps"
    made = f"{steps} from {adopted.kind.value}, {draft.unproved} without a contract"
    terminal.out(f"wrote {file.shown}: {made}")
    terminal.note(
        f"next: `planbound verify {shlex.quote(file.slug)}` says what each step still needs"
    )
    return ExitCode.DONE

"""Where plans are, for whoever looks at them; who is the first to see one changed says so."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from planbound.errors import PlanboundError
from planbound.plan.model import Plan
from planbound.ports.files import PlanFile, Shelf
from planbound.usecases.marks import Look, is_news, look_at, notice, put_right, show_status
from planbound.usecases.overview import Overview, PlanLine, overview
from planbound.wiring.parts import Parts


def look(parts: Parts, file: PlanFile, data: bytes) -> Look:
    """Return where a plan is, by the journal and by what its file means now."""
    journal = parts.existing_journal() if parts.holds(file.path) else None
    found = look_at(journal, file, data)
    if found.state is None:
        see(parts, file, found.plan)
    return notice(parts.recorder(), parts.files, found) if is_news(found) else found


def show(parts: Parts, file: PlanFile) -> None:
    """Write where a plan is into its file, after it was decided about."""
    with suppress(PlanboundError):  # the journal has it, and `doctor` says where they disagree
        journal = parts.existing_journal()
        show_status(parts.files, look_at(journal, file, parts.reader.read(file.path)))


def put_all_right(parts: Parts) -> tuple[list[str], list[str]]:
    """Write the marks of every plan in work as they should be; return what was wrong with them.

    The second list is what could not be written.
    """
    mended, failed = [], []
    look_at_all(parts)
    # Read again: to see a plan changed writes its mark.
    for line in overview(parts.tree, parts.files, parts.existing_journal).lines:
        found = line.look
        try:
            wrong = put_right(parts.files, found) if found is not None else []
            mended += [f"`{line.file.slug}`: {what}" for what in wrong]
        except PlanboundError as error:
            failed.append(f"`{line.file.slug}`: {error.message}")
    return mended, failed


def look_at_all(parts: Parts) -> Overview:
    """Return where all plans are."""
    seen = overview(parts.tree, parts.files, parts.existing_journal)
    notice_lines(parts, seen.lines)
    return seen


def see(parts: Parts, file: PlanFile, plan: Plan) -> None:
    """Note a plan that was written by hand, where that can be written: who looks goes on."""
    with suppress(PlanboundError):
        parts.see(file, plan, only_look=True)


def notice_lines(parts: Parts, lines: Iterable[PlanLine]) -> None:
    """Put on record, and into the files, which plans somebody wrote or changed."""
    for line in lines:
        found = line.look
        if line.shelf is Shelf.ACTIVE and line.plan is not None and line.state is None:
            see(parts, line.file, line.plan)
        if found is not None and is_news(found):
            notice(parts.recorder(), parts.files, found)

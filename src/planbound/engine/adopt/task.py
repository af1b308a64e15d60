"""What a task list of another tool says, whatever its format."""

from __future__ import annotations

from typing import NamedTuple


class SourceFile(NamedTuple):
    """A file of a task list: its path as people write it, and its text."""

    path: str
    text: str

    @property
    def name(self) -> str:
        """The last component of its path."""
        return self.path.rsplit("/", 1)[-1]


class ForeignTask(NamedTuple):
    """One task as its source has it."""

    id: str
    """What other tasks refer to it by."""
    title: str
    text: str = ""
    """All that the source says about it, as Markdown."""
    place: str = ""
    """The heading that it stands under."""
    whole: str = ""
    """The task that it is a part of."""
    depends: tuple[str, ...] | None = None
    """Ids; None where the source says nothing, and the order of the list counts."""
    touches: tuple[str, ...] = ()
    command: str | None = None
    """A command of the source that shows whether the task is done."""
    status: str = ""
    """`ticked`, or the word of the source for a task that somebody began or gave up."""
    named: bool = True
    """Whether the id is the source's own, and not one that we made to refer to the task."""


class TaskList(NamedTuple):
    """All tasks of a source, in its order."""

    tasks: tuple[ForeignTask, ...]
    objective: str = ""
    context: str = ""
    remarks: tuple[str, ...] = ()
    """What the reader of the source left out or could not make sense of."""

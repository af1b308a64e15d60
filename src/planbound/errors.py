"""Refusals and breakdowns of the harness.

A fault *in a plan* is never an exception: it is a diagnostic (`planbound.source`).

    PlanboundError
    ├── UsageError              the command line asks for something that is not there
    │   └── NoSuchPlan          there is no plan of that name
    ├── ConfigurationError      the configuration cannot be used
    ├── NothingToDo             everything asked for is there already
    ├── Refused                 the harness will not do this, and says why
    │   ├── NotApproved         nobody approved the plan
    │   ├── FaultyPlan          the plan has errors, which its diagnostics tell
    │   ├── AlreadyExists       something is at the path that would be written
    │   ├── Claimed             another plan that somebody runs is in the way
    │   ├── ConcurrentModification  the file is not the one that was read
    │   │   └── LeaseLost       somebody else runs the plan now
    │   └── BindingError        which plan is meant cannot be told
    │       └── NothingBound    there is no harness folder at all
    ├── FileProblem             a file cannot be read or written
    ├── CellProblem             nothing can be run apart from everything else, as demanded
    ├── GitProblem              git cannot do what is asked of it
    ├── GitHubProblem           GitHub cannot be asked, or does not do what is asked of it
    ├── NoPlanProposed          a model that was asked for a plan wrote none
    ├── IncompletePlan          an agent ended, and its plan is not done (in `loop.gate`)
    └── JournalProblem          the journal cannot be read or written
        ├── Stale               somebody else appended first: read again
        └── CodecError          a record that cannot be read (in `journal.codec`)
"""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """What a process of ours says when it ends."""

    DONE = 0
    """Done, or clean."""
    FAILED = 1
    """Failed, refused by a contract, incomplete, or nothing to resolve."""
    USAGE = 2
    """Usage, configuration, loud refusal."""
    NOTHING_TO_DO = 3
    """Everything that was asked for is there already."""
    WAITING = 4
    """Waits for a person."""
    BUG = 70
    """A bug of ours, with a report file."""
    INTERRUPTED = 130
    """Interrupted."""


INTERRUPTED = "interrupted"
"""Why work ends that a person has stopped."""


class PlanboundError(Exception):
    """The root: `message` says what was found, `hint` what to do about it."""

    code = "error"
    """One short word for programs; it never changes."""
    exit_code = ExitCode.USAGE

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(PlanboundError):
    """The command line asks for something that is not there."""

    code = "usage"


class NoSuchPlan(UsageError):  # noqa: N818 - named for what was found
    """There is no plan of that name, and no such file."""

    code = "no-such-plan"


class ConfigurationError(PlanboundError):
    """The configuration cannot be used."""

    code = "configuration"


class NothingToDo(PlanboundError):  # noqa: N818 - it is an answer, not an error
    """Everything that was asked for is there already."""

    code = "nothing-to-do"
    exit_code = ExitCode.NOTHING_TO_DO


class Refused(PlanboundError):  # noqa: N818 - named for what the harness did
    """The harness will not do this, and says why."""

    code = "refused"


class NotApproved(Refused):
    """Nobody approved the plan."""

    code = "not-approved"


class FaultyPlan(Refused):
    """The plan has errors, which its diagnostics tell."""

    code = "faulty-plan"
    exit_code = ExitCode.FAILED


class AlreadyExists(Refused):
    """Something is at the path that would be written."""

    code = "already-exists"


class Claimed(Refused):
    """Another plan that somebody runs is in the way: it is safe when that one has ended."""

    code = "claimed"

    def __init__(self, message: str, *, plan: str, worktree: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.plan = plan
        """The plan in the way, and where it is run."""
        self.worktree = worktree


class ConcurrentModification(Refused):
    """The file is not the one that was read."""

    code = "changed-meanwhile"


class LeaseLost(ConcurrentModification):
    """Somebody else runs the plan now, or may: nothing was written."""

    code = "lease-lost"


class BindingError(Refused):
    """Which plan is meant cannot be told."""

    code = "no-plan-bound"


class NothingBound(BindingError):  # noqa: N818 - named for what was found
    """There is no harness folder, so there is nothing that could be meant."""

    code = "no-harness"
    exit_code = ExitCode.FAILED


class FileProblem(PlanboundError):  # noqa: N818 - the file's problem, not ours
    """A file cannot be read or written."""

    code = "file"


class CellProblem(PlanboundError):  # noqa: N818 - named as its siblings are
    """No cell could be made, or none as strong as is demanded: nothing was run."""

    code = "cell"


class GitProblem(PlanboundError):  # noqa: N818 - git's problem, not ours
    """Git cannot do what is asked of it, or cannot be read."""

    code = "git"


class GitHubProblem(PlanboundError):  # noqa: N818 - named as its siblings are
    """GitHub cannot be asked by `gh`, or does not do what is asked of it."""

    code = "github"


class NoPlanProposed(PlanboundError):  # noqa: N818 - named for what was found
    """A model that was asked for a plan wrote none."""

    code = "no-plan-proposed"
    exit_code = ExitCode.FAILED


class JournalProblem(PlanboundError):  # noqa: N818 - the journal's problem, not ours
    """The journal cannot be read or written."""

    code = "journal"


class Stale(JournalProblem):
    """Somebody else appended first: read again."""

    code = "stale"

"""The events of several workers on one repository."""

from __future__ import annotations

from planbound.journal.detail import (
    BY,
    DIGEST,
    DURATION,
    REASON,
    REVISION,
    TREE,
    DetailType,
    EventSpec,
    may,
    must,
    spec,
)
from planbound.journal.kind import EventKind

_TEXT = DetailType.TEXT
_TEXTS = DetailType.TEXTS
_EXACT = DetailType.EXACT
_EXACTS = DetailType.EXACTS
_EXACT_OBJECT = DetailType.EXACT_OBJECT
_BRANCH = must("branch", _EXACT, "the branch of the plan, as it was recorded when it was made")
_INTO = must("into", _EXACT, "the branch that plans are brought together in")
_TARGET = must("target", _EXACT, "the commit that this branch led to")
_TIP = must("tip", _EXACT, "the commit that the plan's branch led to")
_SLOT = (
    must("path", _EXACT, "the worktree's folder"),
    _BRANCH,
    must("base", _EXACT, "the commit that it begins with"),
    may("workspace", _EXACT, "the folder in it that is worked in, where that is another"),
    may("machine", _EXACT, "the machine that it is on"),
    may("builds_on", _EXACTS, "the plans whose work it begins with; they are merged before it"),
    BY,
)

TEAM_EVENTS: dict[EventKind, EventSpec] = {
    EventKind.WORKTREE_REQUESTED: spec(
        "A worktree is about to be made for a plan; recorded before anything happened.", *_SLOT
    ),
    EventKind.WORKTREE_SPAWNED: spec(
        "A plan has a worktree and a branch of its own: git confirms it, and the marker is there.",
        *_SLOT,
        may("copied", _EXACTS, "the names, never the contents, of the files that were copied"),
        may("made", _EXACTS, "what its setup made and git does not ignore; never committed"),
        may("merges", _EXACT, "the commit whose conflicts are to be resolved in it"),
    ),
    EventKind.WORKTREE_REMOVED: spec(
        "A plan's worktree is gone: pruned, or its making was undone.",
        must("path", _EXACT, "the worktree's folder"),
        may("branch", _EXACT, "the branch that was deleted with it"),
        may("tip", _EXACT, "the commit that the branch led to"),
        may("survived", _TEXTS, "what could not be undone, or was left on purpose"),
        *(REASON, BY),
    ),
    EventKind.WORK_COMMITTED: spec(
        "The harness committed what the contracts of a proved plan saw.",
        must("commit", _EXACT, "the commit"),
        _BRANCH,
        *(TREE, DIGEST, REVISION),
        may("merges", _EXACT, "the commit that it brings in beside its work"),
    ),
    EventKind.INTEGRATION_STARTED: spec(
        "A proved plan is about to be merged, in a scratch worktree.", *(_INTO, _TARGET, _TIP)
    ),
    EventKind.INTEGRATION_JUDGED: spec(
        "Everything holds on the merged tree; the branch is about to move.",
        *(_INTO, _TARGET, _TIP),
        must("commit", _EXACT, "the merge"),
        may("verdicts", _EXACT_OBJECT, "what was judged, each with its verdict"),
        DURATION,
    ),
    EventKind.INTEGRATION_STOPPED: spec(
        "A plan was not merged, and nothing moved.",
        _INTO,
        must("kind", _EXACT, "`conflict`, `red`, `inconclusive`, `moving` or `in the way`"),
        must("reason", _TEXT, "why"),
        may("target", _EXACT, "the commit that the branch led to"),
        may("tip", _EXACT, "the commit that the plan's branch led to"),
        may("files", _TEXTS, "the files in which both sides changed the same"),
        may("verdicts", _EXACT_OBJECT, "what was judged, each with its verdict"),
        may("about", _EXACT, "the plan whose contract does not hold, where that is another one"),
        may("output_tail", _TEXT, "the end of what the contract or git printed"),
    ),
    EventKind.PLAN_INTEGRATED: spec(
        "A plan's work is in the branch that plans are brought together in.",
        *(_INTO, _TIP),
        must("before", _EXACT, "the commit that the branch led to before"),
        must("commit", _EXACT, "the merge"),
        may("with", _EXACT, "the plan that brought it in, where that resolved its conflicts"),
    ),
}

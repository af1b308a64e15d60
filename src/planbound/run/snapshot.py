"""What took a run long to make, kept for who goes on with it: a cache, and never a truth.

Two things are kept in the state home, of large plans only: the plan as it was read from its file,
and its state as it was folded from the journal. Each stands beside a key that says of what and by
which code it was made. Where anything differs, it is made anew: a plan from its bytes, a state
from its first event. A plan that is found here has to have the digest that was approved, as any
other; a state has to belong to a record that is in the journal, by its hash, which covers all
records before it, and the journal has to tell its approval and the end of each step that is done.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import pickle
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

from planbound.disk.own_code import own_code
from planbound.journal.event import EventKind
from planbound.journal.record import Head, Journal, Provenance, Query
from planbound.plan.model import Plan
from planbound.plan.parse import parse
from planbound.source import Source
from planbound.state.approval import KINDS as OF_APPROVAL
from planbound.state.item import EarlierItems, EarlierTexts
from planbound.state.plan import PlanState, plan_state
from planbound.state.session import LoopState

WORTH = 200
"""A plan of fewer steps is read and folded in a moment."""
_PARTS = ("plan", "state", "journal", "run")
"""The features whose values are kept: other code of theirs makes other values."""
_FRESH = ".fresh"
_SETTLING = (
    EventKind.TASK_COMPLETED,
    EventKind.TASK_SKIPPED,
    EventKind.WAIVED,
    EventKind.ATTESTED,
)
"""The events by which a step is done, or need not be."""
_OF_STEPS = frozenset({EventKind.TASK_STARTED, EventKind.TASK_COMPLETED})
_DECIDING = tuple(kind for kind in OF_APPROVAL if kind not in _OF_STEPS)
"""The events by which an approval is given, used and taken back."""
_PLAIN = (Source, LoopState, EarlierItems, EarlierTexts)
_ELSEWHERE = {
    ("collections", "deque"),
    ("decimal", "Decimal"),
    ("datetime", "datetime"),
    ("datetime", "timezone"),
    ("datetime", "timedelta"),
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("msgspec._utils", "rebuild"),
}
"""Types of Python, and what makes a value of a class whose fields have names only."""

V = TypeVar("V", Plan, PlanState)


class _Key(NamedTuple):
    """Of what a value was made, by which code, and the digest of the value as it is kept."""

    made_of: str
    code: str
    content: str


class Snapshots:
    """What is kept of one plan."""

    def __init__(self, folder: str, slug: str, *, worth: int = WORTH) -> None:
        name = hashlib.sha256(slug.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._folder = folder
        self._slug = slug
        self._worth = worth
        self._plan = os.path.join(folder, f"{name}.plan")
        self._state = os.path.join(folder, f"{name}.state")
        self._kept: tuple[Plan, _Key] | None = None
        """The plan that is kept, as this process has it."""
        self._folded = 0
        """The last record of the state that is kept."""

    # -- the plan --------------------------------------------------------------------------------

    def parse(self, data: bytes, *, path: str) -> Plan:
        """Return the plan in a file's content: as it was kept, or read now."""
        key = _read_key(f"{self._plan}.key")
        if key is None or key.made_of != _digest(data):
            return parse(data, path=path)
        found = _load(self._plan, key, Plan)
        if found is None or found.source.path != path:
            return parse(data, path=path)
        self._kept = found, key
        return found

    def keep_plan(self, plan: Plan, data: bytes) -> None:
        """Keep a plan that a file says, whose marks may be others than when it was read."""
        if len(plan.steps) < self._worth:
            return
        with contextlib.suppress(OSError):  # it is only a cache
            if self._kept is not None and self._kept[0] is plan:
                key = self._kept[1]._replace(made_of=_digest(data))
                _write(f"{self._plan}.key", json.dumps(key).encode("ascii"))
            else:
                key = self._keep(self._plan, _digest(data), plan)
            self._kept = plan, key

    # -- the state -------------------------------------------------------------------------------

    def fold(self, journal: Journal) -> PlanState | None:
        """Return the state of the plan: what was kept, with all that happened since.

        None where nothing is kept that belongs to this journal.
        """
        key = _read_key(f"{self._state}.key")
        if key is None:
            return None
        seq = key.made_of.partition(" ")[0]
        if not seq.isascii() or not seq.isdigit():
            return None
        query = Query(plan=self._slug, after=int(seq) - 1)
        records = journal.read(query)
        first = next(records, None)
        if first is None or _place(Head(first.seq, first.hash)) != key.made_of:
            return None
        state = _load(self._state, key, PlanState)
        if state is None or (state.slug, state.seq) != (self._slug, first.seq):
            return None
        self._folded = state.seq
        for record in records:
            if record.draft.provenance is Provenance.LIVE:
                state.apply(record)
        return state if _is_told(state, journal) else None

    def keep_state(self, state: PlanState, last: Head) -> None:
        """Keep a state, where much happened since; `last` is the last record that is in it."""
        is_news = state.seq - self._folded > self._worth
        if len(state.steps) < self._worth or state.seq != last.seq or not is_news:
            return
        with contextlib.suppress(OSError):
            self._keep(self._state, _place(last), state)
            self._folded = state.seq

    def forget(self) -> None:
        """Remove everything: nobody goes on with a run that is over."""
        for path in (self._plan, self._state):
            for each in (f"{path}.key", path, f"{path}.key{_FRESH}", f"{path}{_FRESH}"):
                with contextlib.suppress(OSError):
                    os.unlink(each)

    # -- files -----------------------------------------------------------------------------------

    def _keep(self, path: str, made_of: str, value: Plan | PlanState) -> _Key:
        data = _dumped(value)
        key = _Key(made_of, own_code(*_PARTS), _digest(data))
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        _write(path, data)
        _write(f"{path}.key", json.dumps(key).encode("ascii"))
        return key


def _is_told(state: PlanState, journal: Journal) -> bool:
    """Say whether the journal tells what matters most: the approval, and every step that is done.

    Nobody can put there what was never approved, or never judged.
    """
    # What becomes of a step decides nothing about the approval, and nearly every event tells that.
    if not any(_approval_is(state, journal, kinds) for kinds in (_DECIDING, OF_APPROVAL)):
        return False
    ends = journal.read(Query(plan=state.slug, events=_SETTLING))
    known = {each.draft.task_id for each in ends if each.draft.provenance is Provenance.LIVE}
    return all(name in known for name, step in state.steps.items() if step.status.is_settled)


def _approval_is(state: PlanState, journal: Journal, kinds: tuple[EventKind, ...]) -> bool:
    told = plan_state(journal, state.slug, kinds) or PlanState(state.slug)
    return told.approval == state.approval


def _load(path: str, key: _Key, kind: type[V]) -> V | None:
    """Return what is kept, where it is what the key says, and of this code."""
    if key.code != own_code(*_PARTS):
        return None
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    if _digest(data) != key.content:
        return None
    try:
        value = _ValueReader(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, LookupError, TypeError, ValueError):
        return None  # somebody else's, with a key that fits it
    except (AttributeError, ImportError):
        return None
    return value if isinstance(value, kind) else None


def _read_key(path: str) -> _Key | None:
    try:
        with open(path, encoding="ascii") as file:
            found: object = json.loads(file.read(1000))
    except (OSError, ValueError):
        return None
    if isinstance(found, list) and len(found) == 3 and all(isinstance(each, str) for each in found):
        return _Key(*found)
    return None


def _write(path: str, data: bytes) -> None:
    fresh = f"{path}{_FRESH}"  # who holds the lease is the only one who writes
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
    os.replace(fresh, path)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _place(head: Head) -> str:
    return f"{head.seq} {head.hash}"


# -- values as bytes: those of the plan, the state and the journal, and nothing else -------------


def _dumped(value: Plan | PlanState) -> bytes:
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, protocol=5)
    pickler.dispatch_table = {MappingProxyType: _reduced}
    pickler.dump(value)
    return buffer.getvalue()


def _reduced(view: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return read_only, (dict(view),)


def read_only(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    """Return a view of a dictionary, as some values of a state have it."""
    return MappingProxyType(values)


class _ValueReader(pickle.Unpickler):
    """Makes values, and calls nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (__name__, read_only.__name__):
            return read_only
        if (module, name) in _ELSEWHERE:
            return super().find_class(module, name)
        _, _, part = module.partition("planbound.")
        if part.partition(".")[0] in {*_PARTS, "source"} and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and issubclass(found, (Struct, tuple, Enum, *_PLAIN)):
                return found
        raise pickle.UnpicklingError(f"`{module}.{name}` is no value of a plan or its state")

"""Each test of a judge has to fail once: at its own end, where no equality made it fail.

A test that passes all the same did not run its own body, or its failure did not arrive.
"""

import os
import sys

from planbound.judging.inside.notes import FORKED, PID, SEEN, STATE, note

LEFT = set()
"""Tests of which a part was left by a failure."""
SKIPS = ("SkipTest", "Skipped")


class Failing:
    """Stands around the body of a test, or around a part of it."""

    def __init__(self, line, is_whole):
        self.line, self.is_whole = line, is_whole

    def __enter__(self):
        if self.is_whole:
            LEFT.discard(STATE["test"])

    def __exit__(self, kind, value, trace):
        name = STATE["test"]
        if name is None:
            return
        if kind is not None:
            if stops(kind, trace):
                note("stopped", name)
            if kind.__name__ not in SKIPS:
                LEFT.add(name)
            return
        if not self.is_whole or name in LEFT:
            return
        _kept, changed, held = SEEN.get(name, (0, 0, 0))
        if changed <= FORKED.get(name, 0) and not held:
            raise AssertionError(os.urandom(8).hex())
        if os.getpid() != PID:
            # Nobody else writes down what a copy of the process came to.
            note("seen", [name, 0, changed, held, 0])


def stops(kind, trace):
    """Say whether a test is ended by what unittest alone may raise: nobody would report it."""
    if not any((each.__module__, each.__name__) == STOP for each in kind.__mro__):
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_globals is not vars(sys.modules["unittest.case"])


STOP = ("unittest.case", "_ShouldStop")

"""Decoders are made by many threads at once, and used by all."""

from __future__ import annotations

import subprocess
import sys

THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Annotated

from msgspec import defstruct

from planbound.disk.decoders import json_decoder

sys.setswitchinterval(1e-6)
fields = [(f"f{at}", Annotated[str | None, "told"], None) for at in range(30)]
with ThreadPoolExecutor(4) as pool:
    for _ in range(100):
        inner = defstruct("Inner", fields)
        kinds = [defstruct(f"Outer{at}", [("inner", inner), *fields]) for at in range(4)]
        together = Barrier(4)

        def read(kind):
            together.wait()
            return json_decoder(kind).decode('{"inner": {"f29": "x"}, "f0": "y"}').inner.f29

        assert set(pool.map(read, kinds)) == {"x"}
"""


def test_threads_that_make_decoders_of_the_same_classes_at_once_do_not_end_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], check=False, timeout=300)
    assert done.returncode == 0

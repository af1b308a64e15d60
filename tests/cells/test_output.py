"""Output of a command: any bytes, any amount, both ends kept and the whole of it known."""

from __future__ import annotations

import hashlib
import random

import pytest

from planbound.cells.cell import Captured, CommandEnding, Limits
from planbound.cells.host import HEAD, TAIL, BoundedOutput
from tests.cells import cell_bench
from tests.cells.cell_bench import Bench, cells, told
from tests.tables import one_fact

pytestmark = pytest.mark.requirement("shell.output")

bench = cell_bench.bench


def _expected(data: bytes, found: frozenset[bytes] = frozenset()) -> Captured:
    return Captured(
        head=data[:HEAD],
        tail=data[HEAD:][-TAIL:],
        length=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        found=found,
    )


def test_any_byte_is_kept_and_the_two_streams_are_apart(bench: Bench) -> None:
    content = bytes(range(256)) * 3 + b"\xff\xfe\0\0no end of line"
    bench.write("bytes", content)
    outcome = bench.run("cat bytes; tac -s '' bytes >&2 || rev bytes >&2; echo error >&2")
    assert outcome.stdout == _expected(content)
    assert outcome.stderr.head.endswith(b"error\n")
    assert b"error" not in outcome.stdout.head


def test_no_output_is_the_empty_stream(bench: Bench) -> None:
    outcome = bench.run("true")
    assert outcome.stdout == outcome.stderr == Captured() == _expected(b"")


@pytest.mark.parametrize("size", [HEAD, HEAD + 1, HEAD + TAIL, HEAD + TAIL + 1, 3_000_001])
@cells("namespaces", "copy")
def test_head_tail_length_and_hash_are_those_of_the_stream(bench: Bench, size: int) -> None:
    content = random.Random(size).randbytes(size)
    bench.write("bytes", content)
    outcome = bench.run("cat bytes")
    assert outcome.stdout == _expected(content)
    assert outcome.stdout.dropped == max(0, size - HEAD - TAIL)


@cells("namespaces", "copy")
def test_both_streams_are_read_at_once_whatever_is_written_first(bench: Bench) -> None:
    outcome = bench.run("head -c 5M /dev/zero >&2; head -c 6M /dev/zero; head -c 5M /dev/zero >&2")
    assert (outcome.stdout.length, outcome.stderr.length) == (6 << 20, 10 << 20)


@pytest.mark.thorough
@cells("namespaces", "landlock")
def test_a_line_of_two_hundred_megabytes_is_one_line(bench: Bench) -> None:
    size = 200 << 20
    outcome = bench.run(f"head -c {size} /dev/zero; echo; echo end")
    digest = hashlib.sha256()
    for _ in range(200):
        digest.update(bytes(1 << 20))
    digest.update(b"\nend\n")
    assert outcome.stdout.length == size + 5
    assert outcome.stdout.sha256 == digest.hexdigest()
    assert outcome.stdout.tail == bytes(TAIL - 5) + b"\nend\n"


@cells("namespaces", "copy")
def test_needles_are_found_in_what_is_not_kept(bench: Bench) -> None:
    outcome = bench.run(
        "head -c 1M /dev/zero; printf secret; head -c 1M /dev/zero; echo other >&2",
        needles=(b"secret", b"other", b"missing"),
    )
    assert outcome.stdout.found == {b"secret"}
    assert outcome.stderr.found == {b"other"}
    assert b"secret" not in outcome.stdout.head + outcome.stdout.tail


@cells("namespaces")
def test_a_needle_that_comes_in_pieces_is_found(bench: Bench) -> None:
    outcome = bench.run(
        "for c in s e c r e t; do printf $c; sleep 0.01; done", needles=(b"secret",)
    )
    assert outcome.stdout.found == {b"secret"}


@one_fact("seed", range(20))
def test_how_a_stream_is_cut_makes_no_difference(seed: int) -> None:
    generator = random.Random(seed)
    content = bytearray(generator.randbytes(generator.randrange(1_000_000)))
    needles = tuple(generator.randbytes(generator.randrange(1, 400)) for _ in range(4))
    for needle in needles[:3]:
        place = generator.randrange(len(content))
        content[place:place] = needle
    ring = BoundedOutput(needles)
    place = 0
    while place < len(content):
        size = generator.choice((1, 7, 4096, 65536, 200_000, 1 << 20))
        ring.feed(bytes(content[place : place + size]))
        place += size
    found = frozenset(needle for needle in needles if needle in content)
    assert ring.captured() == _expected(bytes(content), found)


def test_a_needle_across_every_border_is_found() -> None:
    for border in range(1, 6):
        ring = BoundedOutput((b"secret", b"a much longer needle than the other"))
        ring.feed(b"xx" + b"secret"[:border])
        ring.feed(b"secret"[border:] + b"yy")
        assert ring.captured().found == {b"secret"}


@pytest.mark.thorough
@cells("namespaces")
def test_three_gigabytes_pass_through_a_small_harness(bench: Bench) -> None:
    with bench.harness("head -c 3G /dev/zero", limits=Limits(seconds=60)) as process:
        assert process.stdout is not None
        result = told(process.stdout.read())
    assert result.outcome is not None, result.problem
    assert result.outcome.ending is CommandEnding.EXITED
    assert result.outcome.stdout.length == 3 << 30
    assert result.grown < 50 << 10

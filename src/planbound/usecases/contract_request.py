"""What a contract's cell is asked to run, and what it sees."""

from __future__ import annotations

import os
from collections.abc import Iterator

from planbound.engine.bounds import contract_seconds
from planbound.engine.judging.caches import is_cache_file
from planbound.engine.judging.case import Case
from planbound.engine.judging.meaning import needles
from planbound.engine.manifest import Manifest, path_text
from planbound.plan.command import Script, read_script
from planbound.plan.model import Command
from planbound.ports.cell import Laid, Limits, Request
from planbound.usecases.bench import Bench

_BASH = ("/bin/bash", "--noprofile", "--norc", "-e")
_MAX_ARGUMENT = 100_000


def contract_request(
    bench: Bench,
    case: Case,
    command: Command,
    *,
    before: Manifest,
    lay: tuple[Laid, ...],
    remove: tuple[str, ...],
) -> Request:
    """Return the request for one contract on one tree."""
    contracts = bench.configuration.contracts
    words: tuple[str, ...] = (*_BASH, "-c", command.text)
    if len(command.text) > _MAX_ARGUMENT:
        name = f".planbound-contract-{os.urandom(6).hex()}"
        lay = (*lay, Laid(name, command.text.encode("utf-8", "surrogateescape")))
        words = (*_BASH, name)
    return Request(
        command=words,
        workspace=bench.tree.root,
        environment=bench.environment,
        limits=Limits(
            seconds=contract_seconds(case.seconds, contracts),
            memory=contracts.memory,
            processes=contracts.processes,
            file_size=contracts.file_size,
            temporary=contracts.temporary,
        ),
        network=contracts.network,
        lay=lay,
        remove=(*remove, *_caches(before)),
        masked=bench.masked,
        exposed=() if bench.bare else (*bench.exposed, *_programs(read_script(command.text))),
        needles=needles([item.value for item in command.expectations]),
    )


def _caches(manifest: Manifest) -> tuple[str, ...]:
    """Return the caches of a tree: a contract makes its own."""
    files = (path for path in manifest.entries if is_cache_file(path.rpartition(b"/")[2]))
    return tuple(path_text(path) for path in sorted({*manifest.left_out, *files}))


def _programs(script: Script) -> Iterator[str]:
    """Yield programs that the contract calls by their absolute path, and what they belong to."""
    for call in script.calls:
        for word in (call.word, *call.wrappers):
            if word is not None and word.value and word.value.startswith("/"):
                yield word.value.rpartition("/")[0].removesuffix("/bin")
                yield word.value

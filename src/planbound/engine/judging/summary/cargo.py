"""What `cargo test` says: a line `test result:` for each binary, and one for the doc tests."""

from __future__ import annotations

import re

from planbound.engine.judging.summary.model import COUNT, Summary, added
from planbound.source.pattern import lazy_pattern

_LAST = lazy_pattern(
    rf"^test result: (?:ok|FAILED)\. ({COUNT}) passed; ({COUNT}) failed; ({COUNT}) ignored; "
    rf"({COUNT}) measured; ({COUNT}) filtered out(?:; finished in [0-9.]{{1,20}}s)?$",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what `cargo test` says, all binaries together."""
    runs = (
        Summary("cargo test", int(passed) + int(measured), int(failed), int(ignored), int(filtered))
        for passed, failed, ignored, measured, filtered in _LAST.findall(text)
    )
    return added("cargo test", runs)

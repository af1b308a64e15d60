"""What takes long to find out, kept from one call of a hook to the next."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable

from planbound.usecases.loop.guarding import Kept


def kept_in(folder: str | None) -> Kept:
    """Return what looks into a folder before it makes a list anew."""

    def kept(key: str, make: Callable[[], list[str]]) -> list[str]:
        if folder is None:
            return make()
        path = os.path.join(folder, f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json")
        with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
            found = json.load(file)
            if isinstance(found, list):
                return [str(each) for each in found]
        made = make()
        with contextlib.suppress(OSError):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            beside = f"{path}.{os.getpid()}"
            with open(beside, "w", encoding="utf-8") as file:
                json.dump(made, file)
            os.replace(beside, path)
        return made

    return kept

"""Decoders of typed values: each is made once, and one at a time.

While msgspec makes a decoder, another thread that makes one of the same classes gets a half of
what is known of them, and reading with that ends the process. What is made may be used by all.
"""

from __future__ import annotations

from _thread import allocate_lock  # every command starts here, and `threading` takes a while
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_MADE: dict[tuple[Callable[..., Any], type], Any] = {}
_MAKING = allocate_lock()


def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return what reads values of a kind from JSON."""
    decoder: msgspec.json.Decoder[T] = _made(msgspec.json.Decoder, kind)
    return decoder


def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]:
    """Return what reads values of a kind from MessagePack."""
    decoder: msgspec.msgpack.Decoder[T] = _made(msgspec.msgpack.Decoder, kind)
    return decoder


def _made(make: Callable[..., Any], kind: type) -> Any:
    found = _MADE.get((make, kind))
    if found is None:
        with _MAKING:
            found = _MADE.get((make, kind)) or make(kind)
            _MADE[make, kind] = found
    return found

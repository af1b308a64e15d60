"""Checks what a receipt says of the journal: the checkpoint, and the proofs about it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from planbound.receipts.claims import FAILS, OK, OPEN, Checked
from planbound.receipts.merkle import is_consistent, read_checkpoint, root_by_path


def check_journal(run: Mapping[str, Any]) -> Iterator[Checked]:
    """Yield each check: its name, whether it holds, and why."""
    journal = run["journal"]
    try:
        origin, size, root = read_checkpoint(journal["checkpoint"])
        nodes = [_node(node) for node in journal["nodes"]]
    except ValueError as error:
        yield "journal", FAILS, str(error)
        return
    yield "journal", OK, f"{origin}, {size} events"
    yield "events", *_cited_events(journal["events"], nodes, size, root)
    yield "earlier", *_earlier_checkpoint(journal["earlier"], size, root)


def _node(text: str) -> bytes:
    found = base64.b64decode(text.encode("ascii"), validate=True)
    if len(found) != 32 or base64.b64encode(found).decode("ascii") != text:
        raise ValueError("a hash is not the base64 of 32 bytes")
    return found


def _cited_events(
    events: list[Mapping[str, Any]], nodes: list[bytes], size: int, root: bytes
) -> tuple[bool, str]:
    used: set[int] = set()
    numbers = [event["seq"] for event in events]
    if numbers != sorted(set(numbers)):
        return FAILS, "they are not in their order"
    for event in events:
        if not all(0 <= place < len(nodes) for place in event["path"]):
            return FAILS, f"the proof of event {event['seq']} is not whole"
        try:
            leaf = bytes.fromhex(event["hash"])
        except ValueError:
            leaf = b""
        path = [nodes[place] for place in event["path"]]
        if len(leaf) != 32 or root_by_path(leaf, event["seq"] - 1, size, path) != root:
            return FAILS, f"event {event['seq']} is not in the journal of the checkpoint"
        used.update(event["path"])
    if len(used) != len(nodes):
        return FAILS, "there are hashes that no proof uses"
    return OK, f"{len(events)} that are cited are in the journal of the checkpoint"


def _earlier_checkpoint(
    earlier: Mapping[str, Any] | None, size: int, root: bytes
) -> tuple[bool | None, str]:
    if earlier is None:
        return OPEN, "no receipt was made before this one"
    try:
        before = (earlier["size"], _node(earlier["root"]))
        proof = [_node(node) for node in earlier["proof"]]
    except ValueError as error:
        return FAILS, str(error)
    if is_consistent(before, (size, root), proof):
        return OK, f"the {before[0]} events of the receipt before are still what they were"
    return FAILS, "the journal is not the one of the receipt before"

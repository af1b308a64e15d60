"""What a form brings back: sealed for a session and an action, compared with what is there."""

from __future__ import annotations

import pytest

from planbound.page.nonce import (
    ShownState,
    differences,
    judge_differences,
    judges_digest,
    read_nonce,
    write_nonce,
)

KEY = b"k" * 32
SHOWN = ShownState(
    plan="hello", digest="a" * 64, judges="b" * 64, configuration="v2:c", seq=7, question=""
)


def sealed(key: bytes = KEY, session: str = "s", action: str = "/plan/hello/approve") -> str:
    return write_nonce(key, session, action, SHOWN)


@pytest.mark.requirement("page.decides")
def test_a_form_is_of_one_session_and_one_action() -> None:
    action = "/plan/hello/approve"
    assert read_nonce(KEY, "s", action, sealed()) == SHOWN
    assert read_nonce(KEY, "other", action, sealed()) is None
    assert read_nonce(KEY, "s", "/plan/hello/reject", sealed()) is None
    assert read_nonce(b"x" * 32, "s", action, sealed()) is None
    text, _, mac = sealed().rpartition(".")
    for wrong in (
        "",
        ".",
        mac,
        f"{text}.",
        f"{text}A.{mac}",
        f"{text}.{mac}x",
        "é.x",
        "x" * 30_000,
    ):
        assert read_nonce(KEY, "s", action, wrong) is None, wrong


@pytest.mark.requirement("page.decides")
def test_each_thing_that_is_another_one_now_is_named() -> None:
    assert differences(SHOWN, SHOWN) == ()
    now = ShownState(plan="hello", digest="d" * 64, judges="b" * 64, configuration="v2:e", seq=9)
    found = {each.what: (each.then, each.now) for each in differences(SHOWN, now)}
    assert found == {
        "the digest of what the plan means": ("a" * 12, "d" * 12),
        "the configuration that contracts run under": ("v2:c", "v2:e"),
        "the last decision in the journal": ("event #7", "event #9"),
    }


@pytest.mark.requirement("page.decides")
def test_judges_are_compared_one_by_one() -> None:
    then, now = {"a": "1", "b": "2", "c": "3"}, {"b": "2", "c": "4", "d": "5"}
    assert [(each.what, each.then, each.now) for each in judge_differences(then, now)] == [
        ("the judge a", "1", "none"), ("the judge c", "3", "4"), ("the judge d", "none", "5"),
    ]  # fmt: skip
    assert judges_digest(then) != judges_digest(now)
    assert judges_digest({"x": "1", "y": "2"}) == judges_digest({"y": "2", "x": "1"})

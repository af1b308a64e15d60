"""What there is to do for a publication, decided from what is wanted and what stands there."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from planbound.git.github import IssueComment, PullRequest
from planbound.receipts.comment import first_line
from planbound.receipts.predicate import ClaimedItem, UnsettledItem
from planbound.receipts.publication import (
    Change,
    Published,
    WantedPublication,
    by_word,
    not_proved,
    own_comment,
    publish_steps,
    request_body,
    request_title,
    same_claims,
)
from tests.receipts.test_comment import item, run_of

WANTED = WantedPublication(
    slug="alpha", repository="octo/lending", commit="c" * 40, branch="planbound/alpha",
    base="main", title="Do it", comment="said\n", receipt="refs/planbound/receipts/t/s",
)  # fmt: skip
REQUEST = PullRequest(12, "https://github.com/octo/lending/pull/12")
COMMENT = IssueComment(100, "", 7, "said\r\n")


@pytest.mark.parametrize(
    ("found", "changes"),
    [
        (None, "unknown unknown unknown unknown"),
        (Published(None, receipt=False, request=None, comment=None), "create create create create"),
        (Published("b" * 40, receipt=True, request=REQUEST, comment=None),
         "update none none create"),
        (Published("c" * 40, receipt=False, request=REQUEST, comment=COMMENT),
         "none create none none"),
        (Published("c" * 40, receipt=True, request=REQUEST, comment=COMMENT._replace(body="x")),
         "none none none update"),
    ],
)  # fmt: skip
def test_what_is_done_follows_from_what_stands_there(found: Published | None, changes: str) -> None:
    steps = publish_steps(WANTED, found)
    assert [step.change for step in steps] == [Change[word.upper()] for word in changes.split()]


def test_what_nobody_judged_or_is_not_done_keeps_a_run_from_being_published() -> None:
    run = run_of(item("1"), item("2", "Say \u202eso", result="claimed"), outcome="settled")
    claimed = replace(run, deviations=(ClaimedItem(item="step 2", seq=3),))
    assert not_proved(claimed) == [
        "step 2 (Say \\u202eso) is claimed by the agent, and judged by nobody"
    ]
    failed = UnsettledItem(item="step 1", result="failed", reason="exit 1")
    assert not_proved(replace(run, deviations=(failed,))) == [
        "step 1 (Round once) is failed: exit 1"
    ]
    begun = run_of(item("1"), outcome="unfinished", status="in-progress")
    assert not_proved(begun) == ["the plan is in-progress, and not done"]
    assert not_proved(run_of(item("1"), outcome="holds")) == []


def test_what_people_took_on_is_listed() -> None:
    results = ("proved", "waived", "attested", "skipped", "holds")
    items = [item(str(number), result=result) for number, result in enumerate(results)]
    assert by_word(run_of(*items)) == [
        "step 1 is waived", "step 2 is attested", "step 3 is skipped",
    ]  # fmt: skip


def test_receipts_that_differ_in_time_and_key_alone_tell_the_same() -> None:
    run = run_of(item("1"))
    later = replace(
        run, made="2026-11-20T00:00:00Z", journal=replace(run.journal, checkpoint="another")
    )
    assert same_claims(run, later)
    assert not same_claims(run, replace(run, items=(item("1", result="waived"),)))
    assert not same_claims(run, replace(run, approval=None))


def test_only_a_comment_of_the_account_with_the_whole_first_line_is_its_own() -> None:
    line = first_line("alpha")
    mine = IssueComment(5, "", 7, f"{line}\r\nold\r\n")
    others = [
        IssueComment(1, "", 8, f"{line}\nforged"),
        IssueComment(2, "", 7, f"see {line}\n"),
        IssueComment(3, "", 7, f"no\n{line}\n"),
        IssueComment(4, "", 7, first_line("alpha2")),
    ]
    assert own_comment([*others, mine], "alpha", 7) == mine
    assert own_comment(others, "alpha", 7) is None


def test_words_of_a_pull_request_are_one_line_and_text() -> None:
    assert request_title("Do\n  it \u202enow") == "Do it \\u202enow"
    assert len(request_title("x" * 500)) == 200
    body = request_body(run_of(item("1")), "![x](y) @all `z`")
    assert body.startswith("`` ![x](y) @all `z` ``\n")

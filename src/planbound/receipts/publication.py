"""What there is to do so that a plan's work and its receipt stand in a pull request."""

from __future__ import annotations

import enum
import shlex
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from planbound.git.github import IssueComment, PullRequest
from planbound.receipts.comment import code, first_line
from planbound.receipts.predicate import ClaimedItem, PlanRun, UnsettledItem
from planbound.source import visible

_LONGEST_TITLE = 200


class Change(enum.Enum):
    """What is done with a part of a publication."""

    CREATE = "create"
    UPDATE = "update"
    NONE = "none"
    UNKNOWN = "create or update"
    """Nobody could ask what is there."""


class PublishPart(enum.Enum):
    """A part of a publication."""

    BRANCH = "branch"
    RECEIPT = "receipt"
    PULL_REQUEST = "pull-request"
    COMMENT = "comment"


class PublishStep(NamedTuple):
    """One part, and what is done with it."""

    part: PublishPart
    change: Change
    about: str
    """In words of one line."""


class WantedPublication(NamedTuple):
    """What is to stand there."""

    slug: str
    repository: str
    commit: str
    branch: str
    base: str | None
    """None: the main branch, and nobody could ask which one that is."""
    title: str
    comment: str
    receipt: str
    """The ref that it is kept under."""


class Published(NamedTuple):
    """What stands there."""

    branch: str | None
    """The commit that the branch leads to."""
    receipt: bool
    request: PullRequest | None
    comment: IssueComment | None


def publish_steps(wanted: WantedPublication, found: Published | None) -> tuple[PublishStep, ...]:
    """Return what is to be done with each part; `found` None: nobody could look."""
    base = f"`{wanted.base}`" if wanted.base else "the main branch"
    request = None if found is None else found.request
    number = f" #{request.number}" if request is not None else ""
    into = f"pull request{number} of `{wanted.branch}` into {base}: {wanted.title}"
    return (
        PublishStep(
            PublishPart.BRANCH,
            _change(found, found and found.branch, same=_is_at(found, wanted.commit)),
            f"{wanted.commit[:12]} as `{wanted.branch}` of {wanted.repository}",
        ),
        PublishStep(
            PublishPart.RECEIPT,
            _change(found, found and found.receipt, same=True),
            f"{wanted.receipt}",
        ),
        # What stands in it may be people's own words by now.
        PublishStep(PublishPart.PULL_REQUEST, _change(found, request, same=True), into),
        PublishStep(
            PublishPart.COMMENT,
            _change(found, found and found.comment, same=_says(found, wanted.comment)),
            f"the comment with the receipt of `{wanted.slug}`",
        ),
    )


def _change(found: Published | None, part: object, *, same: bool) -> Change:
    if found is None:
        return Change.UNKNOWN
    if not part:
        return Change.CREATE
    return Change.NONE if same else Change.UPDATE


def _is_at(found: Published | None, commit: str) -> bool:
    return found is not None and found.branch == commit


def _says(found: Published | None, text: str) -> bool:
    return (
        found is not None
        and found.comment is not None
        and _plain(found.comment.body) == _plain(text)
    )


def _plain(body: str) -> str:
    return body.replace("\r\n", "\n").strip()


def own_comment(comments: Iterable[IssueComment], slug: str, account: int) -> IssueComment | None:
    """Return the comment of a plan: of this account, and with its own first line.

    Others may write that line, too: what they write is left alone.
    """
    wanted = first_line(slug)
    for each in comments:
        if each.author == account and _plain(each.body).split("\n", 1)[0].strip() == wanted:
            return each
    return None


# -- what may be published -------------------------------------------------------------------------


def not_proved(run: PlanRun) -> list[str]:
    """Return what keeps a run from being published; empty: all of it is settled, and judged."""
    found = list(_not_settled(run))
    if run.outcome == "unfinished" and not found:
        found.append(f"the plan is {run.status}, and not done")
    return found


def _not_settled(run: PlanRun) -> Iterator[str]:
    titles = {f"{item.kind} {item.number}": item.title for item in run.items}
    for each in run.deviations:
        match each:
            case UnsettledItem():
                why = f": {each.reason}" if each.reason else ""
                yield f"{_named(each.item, titles)} is {each.result}{why}"
            case ClaimedItem():
                yield f"{_named(each.item, titles)} is claimed by the agent, and judged by nobody"
            case _:
                pass


def _named(item: str, titles: dict[str, str]) -> str:
    return visible(f"{item} ({titles[item]})" if item in titles else item)


def by_word(run: PlanRun) -> list[str]:
    """Return what people took on, which no contract shows: it is told loudly."""
    return [
        visible(f"{item.kind} {item.number} is {item.result}")
        for item in run.items
        if item.result in {"waived", "attested", "skipped"}
    ]


def same_claims(one: PlanRun, other: PlanRun) -> bool:
    """Say whether two receipts tell the same, apart from when and by whose key."""
    return _claims(one) == _claims(other)


def _claims(run: PlanRun) -> PlanRun:
    harness = replace(run.harness, key=None)
    journal = replace(run.journal, checkpoint="", nodes=(), events=(), earlier=None)
    base = replace(run.base, commit=None)
    return replace(run, made="", harness=harness, journal=journal, base=base, statements=())


# -- the words of a pull request -------------------------------------------------------------------


def request_title(objective: str) -> str:
    """Return the title of a pull request: the plan's objective, on one line."""
    line = visible(" ".join(objective.split()))
    return line if len(line) <= _LONGEST_TITLE else line[: _LONGEST_TITLE - 1] + "…"


def request_body(run: PlanRun, objective: str) -> str:
    """Return what a new pull request says; what was proved stands in its comment."""
    return (
        f"{code(objective, 400)}\n\n"
        f"The work of the plan {code(run.plan.slug, 100)}, run by Planbound. What was proved, what"
        " was not, and how to check it stands in the comment below, which is kept up to date.\n"
    )


def check_command(slug: str, ref: str, commit: str) -> str:
    """Return the one command by which anybody checks the receipt, in a clone."""
    file = shlex.quote(f"{slug}.receipt.jsonl")
    return (
        f"git fetch origin {ref} && git cat-file blob FETCH_HEAD > {file}"
        f" && planbound check-receipt {file} --tree {commit[:12]}"
    )

"""What people decided about a plan, on a page: the gate, its sheet, questions and answers."""

from __future__ import annotations

from planbound.journal.event import (
    BaselineObserved,
    Event,
    GateApprovalRequested,
    GateApproved,
    GateRejected,
)
from planbound.receipts.conversation import QuestionStory
from planbound.receipts.html import Html, element, identity, join, text
from planbound.receipts.pieces import (
    ROWS,
    diff,
    facts,
    fold_away,
    heading,
    listed,
    moment,
    said,
    table,
    word,
)
from planbound.receipts.story import PlanStory
from planbound.receipts.tree_changes import TreeDiff


def gate(story: PlanStory, judges: TreeDiff, level: int, *, brief: bool = False) -> Html:
    """Return what was approved, by whom, and whether it still is what it was.

    `judges` are those that changed since.
    """
    place = identity("plan", story.slug, "gate")
    told = [each for each in story.gate if not brief or isinstance(each.event, GateApproved)]
    changed = [
        join(element("p", element("code", text(each.path)), f" {each.how}"), diff(each.lines))
        for each in judges.within
    ]
    approval = story.state.approval.given
    return element(
        "section",
        heading(level, "The gate", id=place),
        None if told else element("p", "Nobody was asked to approve this plan."),
        (_at_gate(each.event, each.when, each.seq, brief=brief) for each in told[-ROWS:]),
        None if approval is not None or not told else element("p", "No approval holds now."),
        element("p", f"Whether judges changed is not known: {judges.unknown}.")
        if judges.unknown
        else None,
        fold_away(f"Judges that changed since the approval: {len(changed)}", changed, open=True)
        if changed and not brief
        else None,
        None if brief else _first_looks(story),
        aria_label=f"The gate of {story.slug}",
    )


def _at_gate(event: Event, when: str, seq: int, *, brief: bool) -> Html | None:
    number = element("span", f" event #{seq}", class_="dim")
    match event:
        case GateApprovalRequested():
            again = f", reminder {event.reminder}" if event.reminder else ""
            return element("p", f"Approval asked for{again} ", moment(when), number)
        case GateRejected():
            who = f" by {event.by}" if event.by else ""
            why = event.reason or "without a reason"
            return element("p", word("rejected"), who, ": ", said(why), " ", moment(when), number)
        case GateApproved():
            return join(
                element("p", word("approved"), f" by {event.by} ", moment(when), number),
                _sheet(event, seq, brief=brief),
            )
        case _:
            return None


def _sheet(event: GateApproved, seq: int, *, brief: bool) -> Html:
    method = event.method
    judges, tools = event.judges or {}, event.tools or {}
    worth = f"{method.value}: {method.caution}" if method is not None else None
    return join(
        facts(
            ("digest", element("code", event.digest) if event.digest else None),
            ("how", worth),
            ("strength", event.strength.value if event.strength else None),
            ("policy", event.policy),
            ("holds until", moment(event.expires) if event.expires else None),
            ("changed on the way", said(", ".join(event.modifications))
             if event.modifications else None),
            ("in spite of", ", ".join((*(event.seen or ()), *(event.missing_tools or ()))) or None),
            ("may change of gates", said(", ".join(event.gates)) if event.gates else None),
            ("why", said(event.reason) if event.reason else None),
            ("judged by", f"{len(judges)} file{'' if len(judges) == 1 else 's'}"),
            ("tree", element("code", event.tree[:16]) if event.tree else None),
            ("configuration", element("code", event.configuration[:16])
             if event.configuration else None),
        ),
        None if brief or not judges else fold_away(
            "Judges, as they were approved",
            table(f"Judges of approval #{seq}", ("path", "SHA-256"), [
                element("tr", element("th", text(path), scope="row"),
                        element("td", element("code", digest)))
                for path, digest in judges.items()
            ]),
        ),
        None if brief or not tools else fold_away(
            "Programs of the contracts",
            listed(f"{name} {found}" for name, found in tools.items()),
        ),
    )  # fmt: skip


def _first_looks(story: PlanStory) -> Html | None:
    """Return what every contract said when the plan was approved."""
    rows = []
    for each in story.items:
        looks = [told for told in each.looks if isinstance(told.event, BaselineObserved)
                 and told.event.baseline is not None]  # fmt: skip
        if looks and isinstance(event := looks[-1].event, BaselineObserved):
            green = "green: it proves nothing yet" if event.verdict.value == "pass" else "red"
            controls = ", ".join(f"{run.name}: {run.result.value}" for run in event.controls or ())
            rows.append(
                element(
                    "tr",
                    element("th", each.name, scope="row"),
                    element("td", word(event.verdict.value), f" {green}"),
                    element("td", said(event.reason or "", 300)),
                    element("td", text(controls) if controls else "none"),
                )
            )
    if not rows:
        return None
    titles = ("what", "before the work", "why", "wrong work that it has to reject")
    return fold_away(
        "What the contracts said at the gate", table(f"At the gate of {story.slug}", titles, rows)
    )


def questions(story: PlanStory, level: int) -> Html:
    """Return what people were asked and what they said."""
    place = identity("plan", story.slug, "questions")
    found = story.questions[-ROWS:]
    return element(
        "section",
        heading(level, "Questions and decisions", id=place),
        element("ol", (element("li", _question(each)) for each in found), class_="plain")
        if found
        else element("p", "Nobody was asked anything."),
        aria_label=f"Questions about {story.slug}",
    )


def _question(each: QuestionStory) -> Html:
    answers = [
        join(said(words), f" by {who} " if who else " ", moment(when))
        for when, who, words in each.answers
    ]
    if not answers:
        answers = [element("span", "waits for a person" if each.open else
                           "not answered: it was settled in another way")]  # fmt: skip
    return join(
        element("p", element("strong", f"{each.kind}, {each.about}"), " ", moment(each.when)),
        element("p", said(each.asked)) if each.asked else None,
        listed(answers),
    )

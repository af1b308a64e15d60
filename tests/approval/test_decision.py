"""What people say at the gate of a plan."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.approval.decision import (
    MAX_LENGTH,
    Add,
    Approve,
    Ask,
    Decision,
    EditStep,
    Modification,
    Move,
    Rejection,
    Remove,
    Reorder,
    Skip,
    Swap,
    Unclear,
    read_changes,
    read_decision,
)

pytestmark = pytest.mark.requirement("gate.grammar")

PAGE = Path(__file__).parents[2] / "docs/reference/decisions.md"
LABELS = ("1", "2", "3", "4", "5")

PLAIN = """approved|approve|Approved.|APPROVED!|yes|Yes!|y|Y|ok|OK.|okay|proceed|go|Go!
go ahead|lgtm|LGTM|ship it|Ship it!|✓|✔|✔️|✅|👍|👍🏽|👍👍|looks good|Looks good to me.
yes please|yes, please!|thanks, approved|approved, thank you|Approved 🎉|approved :)|lgtm 🚀🚀
yes yes yes|yes, go ahead|ok, approved|I approve|I approve this plan.|approve the plan
approve it|proceed with the plan|please proceed|please go ahead|✅ approved|yes; proceed
please ship it|  ok  |approved!!!|yes - go ahead"""
PLAIN_LINES = ("ok\ngo", "Approved.\n\nThanks!", "ok\r\n", "\n approved \t\n")

CHANGED: dict[str, tuple[Modification, ...]] = {
    "approved, but skip task 2": (Skip("2"),),
    "approved, but edit step 2": (EditStep("2"),),
    "approved, add a step after 2": (Add("2"),),
    "approved, and add one before task 3": (Add("3", after=False),),
    "approved, insert a new task first": (Add("first", after=False),),
    "approved, add a step at the end": (Add("last"),),
    "approved, add last, and skip 2": (Add("last"), Skip("2")),
    "approved skip 2": (Skip("2"),),
    "ok but omit #3": (Skip("3"),),
    "yes, leave out step 4 please": (Skip("4"),),
    "approved: skip step number 2": (Skip("2"),),
    "Approved - skip step #2!": (Skip("2"),),
    "approved; skip tasks 2 and 4": (Skip("2"), Skip("4")),
    "approved, skip 2, 3 and 5": (Skip("2"), Skip("3"), Skip("5")),
    "approved, skip 2, and 4": (Skip("2"), Skip("4")),
    "approved, skip 2 & 4": (Skip("2"), Skip("4")),
    "approved, skip 2-4": (Skip("2"), Skip("3"), Skip("4")),
    "approved, skip 2 – 3, 5": (Skip("2"), Skip("3"), Skip("5")),
    "approved, skip steps 2 to 3": (Skip("2"), Skip("3")),
    "approved, skip 3 through 5": (Skip("3"), Skip("4"), Skip("5")),
    "approved, remove 2": (Remove("2"),),
    "👍 drop 2, delete 3": (Remove("2"), Remove("3")),
    "approved, skip 2 - remove 3": (Skip("2"), Remove("3")),
    "approved, skip 2 and remove 3 then swap 4 and 5": (Skip("2"), Remove("3"), Swap("4", "5")),
    "approved, swap 2 and 3": (Swap("2", "3"),),
    "approved, exchange steps 2 with 3": (Swap("2", "3"),),
    "APPROVED_MODIFIED: reorder Task 2 and 3": (Swap("2", "3"),),
    "approved, but reorder task 2 and 3": (Swap("2", "3"),),
    "Approved with modifications: reorder steps 3 & 2.": (Swap("3", "2"),),
    "approved_modified - swap tasks 2 and 3, skip 5": (Swap("2", "3"), Skip("5")),
    "approved, reorder 2 and 3 and skip 4": (Swap("2", "3"), Skip("4")),
    "approved, but change the order of 2 and 3": (Swap("2", "3"),),
    "approved, swap the order of task 2 and task 3": (Swap("2", "3"),),
    "approved, but switch 2 with 4": (Swap("2", "4"),),
    "approved, flip 2 and 3 around": (Swap("2", "3"),),
    "approved, put 3 before 2": (Move("3", "2", after=False),),
    "approved with changes: skip 2": (Skip("2"),),
    "approved, move 4 before 2": (Move("4", "2", after=False),),
    "approved, but move task 3 after 5": (Move("3", "5", after=True),),
    "approved, do 3 first": (Move("3", "first", after=False),),
    "approved, do step 3 last": (Move("3", "last", after=True),),
    "approved, do 3 before 2": (Move("3", "2", after=False),),
    "approved, move 2 to the end": (Move("2", "last", after=True),),
    "approved, move 2 to end": (Move("2", "last", after=True),),
    "approved, move 4 to the top": (Move("4", "first", after=False),),
    "approved, move 2 first": (Move("2", "first", after=False),),
    "approved, do 3 first and skip 2": (Move("3", "first", after=False), Skip("2")),
    "approved, reorder 3, 1, 2, 5, 4": (Reorder(("3", "1", "2", "5", "4")),),
    "approved, order: 1 3 2 4 5": (Reorder(("1", "3", "2", "4", "5")),),
    "ok, reorder: 1,3,2,5, then 4. Thanks": (Reorder(("1", "3", "2", "5", "4")),),
    "approve, but please skip 2": (Skip("2"),),
    "approve, please skip 2": (Skip("2"),),
    "approved\nskip 2\nremove 3": (Skip("2"), Remove("3")),
    "approved. Also skip 2.": (Skip("2"),),
}

REFUSED = {
    "no": "",
    "No.": "",
    "n": "",
    "NOPE": "",
    "stop!": "",
    "rejected": "",
    "reject": "",
    "👎": "",
    "👎🏿👎": "",
    "✗": "",
    "❌": "",
    "no thanks": "",
    "please stop": "",
    "sorry, no": "",
    "no...": "",
    "I reject this plan": "",
    "reject:": "",
    "reject: it deletes the table": "it deletes the table",
    "Rejected because Bob is away.": "Bob is away.",
    "no, because step 2 is wrong": "step 2 is wrong",
    "no. no tests in step 2": "no tests in step 2",
    "no - too *big*": "too *big*",
    "no, *never*": "*never*",
    "stop: ok is not a name": "ok is not a name",
    "reject: löscht die Tabelle": "löscht die Tabelle",
    "✗ deletes the table": "deletes the table",
    "nope: why would we?": "why would we?",
}

ASKED = {
    "wait, why does step 2 delete the table?": "why does step 2 delete the table?",
    "wait - why does step 2 delete the table": "why does step 2 delete the table",
    "Hold on, step 2 deletes the table?": "step 2 deletes the table?",
    "hang on. How long does it take?": "How long does it take?",
    "? what is step 3": "what is step 3",
    "?approved": "approved",
    "question: is 2 needed": "is 2 needed",
    "q: is 2 needed?": "is 2 needed?",
    "why does step 2 delete the table?": "why does step 2 delete the table?",
    "can we approve this?": "can we approve this?",
}

UNCLEAR = """not approved|don't proceed|I can't say yes|do not go ahead|never approve|don’t go
cannot approve|approved if the tests pass|yes once 2 is gone|approve when ready
ok unless Bob objects|go after lunch|approved provided that 2 is safe
yes, as long as it is safe|approved except 2|approved without 2|probably yes|I guess
ok I guess|maybe ok|looks fine I think|looks good I think|yes, probably|seems ok
approved... no wait|approved, no|yes but no|yes no|no yes|no, yes|no wait, approved
no but yes|ok, stop|no, it's ok|no 👍|👎 👍|👍👎|✗ approved|reject: approved|no: yes
reject it, go ahead|stop asking, approved|approved?|yes?|ok?|approved, but why 2?
lgtm?!|no?|no, is that wise?|skip 2?|approved, skip 2?|he said 'approved'|"approved"
“yes”|`approved`|> approved|<approved>|(approved)|[x] approved|«ok»
will approve tomorrow|I'll approve|approved tomorrow|will go|approved soon
going to approve|oui|ja|sí|да|はい|genehmigt|approved by Bob last week
the yes branch is wrong|go away|go on|ok boomer|okay whatever|proceed with caution
ship it back|looks good on paper|y tho|yes man|please approve|approve please
Please approve the plan.|approve this, please|please lgtm|please yes|ok but please|please 👍
please, approve|approve. Please!|skip 2 ✅|skip 2 👍
waiting to be approved|unapproved
un-approved|pre-approved|approved-ish|disapproved|approves|approval|approver
non approved|!approved|! approved|-approved|- approved|, approved|but approved
~~approved~~|~approved|¬approved|not_approved|approved_2|ship_it|approve*d
* approved|# approved|approved 2|ok 2|yes 5|go 3|approved #2|approved...|ok…
approved,|approved, but|approved and|ok then|approved but.|yes -|approved:|skip 2
remove 3, thanks|do 3 first|skip 2, ok|skip 2 ok|reorder 5 4 3 2 1|thanks|please|but
!|...|?|???|approved, skip 9|approved, skip 0|approved, skip 2-9|approved, skip 4-2
approved, skip 2-2|approved, skip 1234567|approved, skip the tenth
approved, skip 1,002|approved, skip 2.5|approved, skip 2a|approved, skip
approved, skip it|approved, skip the|approved, skip task|approved, skip 2 or 3
approved, skip the last 2|approved, skip the first two|approved, skip ２
approved, skip ²|approved, skip 2️⃣|approved, skip 2 to save time
approved, skip 2 if slow|approved, skip -2|approved, skip 2 -4|approved, skip 2- 4
approved, skip 2 3|approved, don't skip 2
approved, but not 2|approved, only 2|approved, skip ~~2~~ 3|approved, skip 2, ok
approved, skip 2 and 2|approved, remove 2, remove 2|approved, skip 2, remove 2
approved, skip 1-3, 2|approved, skip 2 and move 2 after 3
approved, move 3 after 2, remove 2|approved, swap 2 and 2
approved, swap 2 and 3, swap 3 and 4|approved, do 3 first, do 4 first
approved, move 2 before 2|approved, move 3 after 2, move 4 after 2
approved, move 3 after 2, move 4 after 3|approved, move 2|approved, move 2 to 4
approved, move 2 up|approved, do 3|approved, do 3 and 4 first
approved, move 3 after 5 and 6|approved, move 9 after 2|approved, move 2 after 9
approved, swap 2|approved, swap 2 3|approved, swap 2 and|approved, leave 2
approved, reorder|approved, reorder 3, 1, 2|approved, reorder 2 then 3|approved, reorder 2 3
approved, reorder: 2, 3|approved, order: 2 and 3|approved, reorder to 3, 2|approved, change 2 and 3
APPROVED_MODIFIED|approved with changes|APPROVED_MODIFIED:|approved_modified2: skip 2
approved_modified: no|not approved_modified: skip 2|approved, swap 2 and 3 later
approved, reorder 1 2 3 4 5 5
approved, reorder 1 2 3 4 4|approved, reorder 1 2 3 4 6
approved, reorder 5 4 3 2 1, skip 2|approved, skip 1-5
approved, remove 1 and 2, skip 3-5|wait|hold|hold on|wait, approved|hold on, yes
wait for Bob|hold the plan|question:|question: .|q|no problem|no objections
no worries, approved|no changes needed|stop after 2|stop me if|no 2
rejected the idea|ａｐｐｒｏｖｅｄ|аpproved|арргоved|оk|уes|o\u212a|approve\u0336d|y\u0301es
ok\u00a0|ok\u3000|𝐨𝐤|ⓞⓚ|yeſ|ap\u200dproved|ok\u200b|\ufeffok|\u202eok|ok\x00
ok\x1b[0m|ok\x7f|go\u00ad|ok\ufe0f|ok\u2800|ok\u3164|\u2066yes\u2069|no\u200b
reject: a\u202eb|ok\ud800|ok\ue000|✅\u200d|👍\U000e0061|ok\u034f|$(approved)
approved && rm|yes/no|y/n|yes or no|approved=false|approved: false|ok: no|on: yes
status: approved|I approve of 2|I approve 2|we approve|you approve|approve all
approve 2|yes to 2|yes, and add a step|ok, rename 2|yes, run 2 twice"""
UNCLEAR_LINES = (
    "",
    " \t\n",
    "**",
    "approved | no",
    "approved\n> no",
    "approved\nno",
    "approved\n\nOn Monday Bob wrote:",
    "go\nahead",
    "approved\n-- \nBob",
    "ok\u2028",
    "ok\x85",
    "approved" + " " * MAX_LENGTH,
)
NO_LONGER_READ = (
    "**approved**|yes, please go|approved & thanks|yes—go|skip 2, then go ahead|skip 2 and approve"
    "|please skip 2. Approved.|approved, skip 2 👍|approved, skip the first|yes, edit the last one"
    "|approved, swap the second and the third task|approved, skip 02|approved, reorder 2, 3"
    "|approved, skip **2**|approve it, please proceed|no no no|no, we go live tomorrow"
    "|no, step 2 is not ok"
)
"""Sentences that a person would understand, and that no phrase is for: they are asked back."""


def sentences(table: str) -> list[str]:
    return [sentence for line in table.split("\n") for sentence in line.split("|")]


def read(text: str) -> Decision:
    return read_decision(text, LABELS)


def test_a_plain_approval_is_one() -> None:
    for text in (*sentences(PLAIN), *PLAIN_LINES):
        assert read(text) == Approve(), text


def test_an_approval_carries_its_changes() -> None:
    for text, changes in CHANGED.items():
        assert read(text) == Approve(changes), text


def test_a_refusal_carries_its_reason() -> None:
    for text, reason in REFUSED.items():
        assert read(text) == Rejection(reason), text


def test_a_question_is_no_decision() -> None:
    for text, question in ASKED.items():
        assert read(text) == Ask(question), text


def test_what_is_not_surely_a_decision_is_asked_back() -> None:
    for text in (*sentences(UNCLEAR), *UNCLEAR_LINES, *sentences(NO_LONGER_READ)):
        decision = read(text)
        assert isinstance(decision, Unclear), (text, decision)
        assert decision.said == text[:MAX_LENGTH]
        assert "`approved`, `approved, but skip 2`, `reject: REASON`" in decision.question


def test_the_question_back_says_what_was_not_clear() -> None:
    for text, part in {
        "approved... no wait": "I read an approval, but do not understand `... no wait`",
        "not approved": "I do not understand `not approved`",
        "approved if it works": "I read an approval, but do not understand `if it works`",
        "skip 2": "Is the plan approved with that change?",
        "approved, skip 9": "There is no step 9. The steps are 1, 2, 3, 4, 5.",
        "approved, skip 2-9": "There is no step 6. The steps are 1, 2, 3, 4, 5.",
        "approved, skip 4-2": "Which steps are 4 to 2?",
        "approved, skip 2, remove 2": "`2` is in two changes",
        "approved, reorder 1 2": "A new order names each step once, alone. The steps are 1, 2,",
        "approved, skip 1-5": "leaves no step to do",
        "APPROVED_MODIFIED": "Which changes are meant?",
        "no, yes": "a refusal and something else",
        "o\u200bk": "cannot be seen",
        "": "What is the decision?",
    }.items():
        decision = read(text)
        assert isinstance(decision, Unclear), text
        assert part in decision.question


def test_two_steps_that_are_reordered_change_places() -> None:
    both = ("1", "2")
    assert read_changes("reorder 1 and 2", both) == (Swap("1", "2"),)
    assert read_changes("reorder 2, 1", both) == (Reorder(("2", "1")),)


def test_steps_are_those_of_the_plan() -> None:
    assert read_decision("approved", ()) == Approve()
    many = [str(number) for number in range(1, 41)]
    assert read_decision("approved, skip 12 and 40", many) == Approve((Skip("12"), Skip("40")))
    asked = read_decision("approved, skip 41", many)
    assert isinstance(asked, Unclear)
    assert "19, 20 and more." in asked.question
    for labels, text in (
        ((), "approved, skip 1"),
        (("1", "1"), "approved, skip 1"),
        (("1", "2", "3-N"), "approved, reorder 2 1"),
        (("1", "2", "4", "5"), "approved, skip 2-4"),
    ):
        assert isinstance(read_decision(text, labels), Unclear), text


APPROVAL_WORDS = re.compile(
    r"approve|proceed|go|lgtm|ship|looks|yes|y|ok|[✓✔✅👍]", re.IGNORECASE | re.ASCII
)
WORDS = (
    "approved approve yes y ok go ahead lgtm ship it looks good 👍 ✅ no stop reject"
    " 👎 wait not don't if skip remove move swap do reorder before after first last to the"
    " end task step # 1 2 3 5 9 and but then , ; : . ! ? - – … ... ' \" * please thanks why"
    " maybe Bob because \n \u200b"
).split(" ")
APPROVING = st.sampled_from([*sentences(PLAIN), *PLAIN_LINES, *CHANGED])
BABBLE = st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join)


@given(st.one_of(st.text(), BABBLE))
def test_text_without_an_approval_word_never_approves(text: str) -> None:
    decision = read(APPROVAL_WORDS.sub("", text))
    assert not isinstance(decision, Approve)


@given(APPROVING, st.data())
def test_a_not_in_an_approval_never_approves(text: str, data: st.DataObject) -> None:
    starts = [match.start() for match in re.finditer(r"(?<![\w'])\w", text)] or [0]
    place = data.draw(st.sampled_from(starts))
    for negation in ("not ", "don't ", "never ", "no "):
        assert not isinstance(read(text[:place] + negation + text[place:]), Approve)


@given(APPROVING, st.text(), st.sampled_from(["if", "once", "unless", "when", "provided that"]))
def test_a_condition_behind_an_approval_never_approves(text: str, rest: str, word: str) -> None:
    assert not isinstance(read(f"{text} {word} {rest}"), Approve)


@given(APPROVING, st.characters(), st.data())
def test_a_stray_letter_never_turns_into_an_approval(
    text: str, character: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(text)))
    decision = read(text[:place] + character + text[place:])
    if not character.isascii() and (character.isalnum() or not character.isprintable()):
        assert not isinstance(decision, Approve)


@given(st.one_of(st.text(max_size=2_100), BABBLE, st.text(st.characters(categories=["Cf", "Mn"]))))
def test_any_text_is_read_and_its_steps_are_the_plans(text: str) -> None:
    decision = read(text)
    assert isinstance(decision, Approve | Rejection | Ask | Unclear)
    if isinstance(decision, Approve):
        for change in decision.modifications:
            names = change.order if isinstance(change, Reorder) else change[:1]
            assert set(names) <= set(LABELS)


def _documented(row: str) -> list[str]:
    """Return the words that the page lists in this row of its table."""
    page = PAGE.read_text(encoding="utf-8")
    (line,) = (line for line in page.splitlines() if line.startswith(f"| {row} |"))
    return re.findall(r"`([^`]+)`", line) + re.findall(r"[✓✔✅👍✗✘❌👎]", line)


def test_the_page_lists_the_words_that_are_read() -> None:
    yes, no = _documented("yes"), _documented("no")
    assert (len(yes), len(no)) == (18, 11)
    assert {read(word) for word in yes} == {Approve()}
    assert {read(word) for word in no} == {Rejection("")}


def test_the_page_says_truly_what_is_asked_back() -> None:
    page = PAGE.read_text(encoding="utf-8").partition("## What is asked back")[2]
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    examples = [text for row in rows for text in re.findall(r"`([^`]+)`", row.split(" | ")[0])]
    assert len(examples) > 25
    for example in examples:
        assert isinstance(read(example), Unclear), example


def test_changes_alone_are_read_where_nothing_else_is_said() -> None:
    alone: dict[str, tuple[Modification, ...]] = {
        "skip 2": (Skip("2"),),
        "Edit step 2": (EditStep("2"),),
        "swap 2 and 3, thanks": (Swap("2", "3"),),
        "add a step after 4": (Add("4"),),
        "remove 1, then move 5 before 4": (Remove("1"), Move("5", "4", after=False)),
    }
    for text, expected in alone.items():
        assert read_changes(text, LABELS) == expected, text
        assert isinstance(read(text), Unclear)
    for text in (
        "skip 2, ok|approved, skip 2|skip 2 but|skip 9|skip 2 and edit 2|edit|add a step|skip 2?"
        "|add after 2 and move 3 after 2|skip\u200b 2||skip 1-5"
    ).split("|"):
        assert read_changes(text, LABELS) == (), text

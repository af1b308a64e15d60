"""What people say at the gate of a plan."""

from __future__ import annotations

import re
import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.engine.gate.decision import (
    MAX_LENGTH,
    Approve,
    Ask,
    Decision,
    Modification,
    Move,
    Reject,
    Remove,
    Reorder,
    Skip,
    Swap,
    Unclear,
    read_decision,
)

LABELS = ("1", "2", "3", "4", "5")

PLAIN = """approved|approve|Approved.|APPROVED!|yes|Yes!|y|Y|ok|OK.|okay|proceed|go|Go!|go ahead
lgtm|LGTM|ship it|Ship it!|✓|✔|✔️|✅|👍|👍🏽|👍👍|looks good|Looks good to me.|yes please|yes, please!
**approved**|_approved_|__OK__|*yes*, thanks|thanks, approved|approved, thank you|Approved 🎉
approved :)|lgtm 🚀🚀|yes yes yes|yes, go ahead|ok, approved|I approve|I approve this plan.
approve the plan|approve it|proceed with the plan|please proceed|please go ahead|ok\ngo|✅ approved
approved & thanks|yes; proceed|Approved.\n\nThanks!|  ok  |ok\r\n|approved!!!|yes - go ahead|yes—go""".replace(
    "\n", "|"
).replace("ok|go", "ok|go")

CHANGED: dict[str, tuple[Modification, ...]] = {
    "approved, but skip task 2": (Skip("2"),),
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
    "approved, skip **2**": (Skip("2"),),
    "approved, skip 02": (Skip("2"),),
    "approved, skip the first": (Skip("1"),),
    "approved, skip the second task and the last one": (Skip("2"), Skip("5")),
    "approved, skip the third and last": (Skip("3"), Skip("5")),
    "approved, remove 2": (Remove("2"),),
    "👍 drop 2, delete 3": (Remove("2"), Remove("3")),
    "approved, skip 2 - remove 3": (Skip("2"), Remove("3")),
    "approved, skip 2 and remove 3 then swap 4 and 5": (Skip("2"), Remove("3"), Swap("4", "5")),
    "approved, swap 2 and 3": (Swap("2", "3"),),
    "approved, exchange steps 2 with 3": (Swap("2", "3"),),
    "approved, swap the first and the last": (Swap("1", "5"),),
    "approved, move 4 before 2": (Move("4", "2", after=False),),
    "approved, but move task 3 after 5": (Move("3", "5", after=True),),
    "approved, do 3 first": (Move("3", "first", after=False),),
    "approved, do step 3 last": (Move("3", "last", after=True),),
    "approved, do 3 before 2": (Move("3", "2", after=False),),
    "approved, move 2 to the end": (Move("2", "last", after=True),),
    "approved, move 2 to end": (Move("2", "last", after=True),),
    "approved, move 4 to the top": (Move("4", "first", after=False),),
    "approved, move 2 first": (Move("2", "first", after=False),),
    "approved, move 4 before the first": (Move("4", "1", after=False),),
    "approved, do 3 first and skip 2": (Move("3", "first", after=False), Skip("2")),
    "approved, reorder 3, 1, 2, 5, 4": (Reorder(("3", "1", "2", "5", "4")),),
    "approved, order: 1 3 2 4 5": (Reorder(("1", "3", "2", "4", "5")),),
    "ok, reorder: 1,3,2,5, then 4. Thanks": (Reorder(("1", "3", "2", "5", "4")),),
    "skip 2, then go ahead": (Skip("2"),),
    "skip 2 and approve": (Skip("2"),),
    "please skip 2. Approved.": (Skip("2"),),
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
    "**no**": "",
    "no no no": "",
    "no, stop": "",
    "no thanks": "",
    "please stop": "",
    "sorry, no": "",
    "no...": "",
    "I reject this plan": "",
    "reject:": "",
    "reject: it deletes the table": "it deletes the table",
    "Rejected because Bob is away.": "Bob is away.",
    "no, because step 2 is wrong": "step 2 is wrong",
    "no, step 2 is not ok": "step 2 is not ok",
    "no, we go live tomorrow": "we go live tomorrow",
    "no, I can't approve that": "I can't approve that",
    "no. no tests in step 2": "no tests in step 2",
    "no - too *big*": "too *big*",
    "no, *never*": "*never*",
    "stop: ok is not a name": "ok is not a name",
    "reject: löscht die Tabelle": "löscht die Tabelle",
    "✗ deletes the table": "deletes the table",
    "reject this, it is 'approved' nowhere near": None,
    "nope: why would we?": "why would we?",
}

ASKED = {
    "wait, why does step 2 delete the table?": "why does step 2 delete the table?",
    "wait - why does step 2 delete the table": "why does step 2 delete the table",
    "Hold on, step 2 deletes the table?": "step 2 deletes the table?",
    "hold: what is step 3?": None,
    "hang on. How long does it take?": "How long does it take?",
    "? what is step 3": "what is step 3",
    "?approved": "approved",
    "question: is 2 needed": "is 2 needed",
    "q: is 2 needed?": "is 2 needed?",
    "why does step 2 delete the table?": "why does step 2 delete the table?",
    "can we approve this?": "can we approve this?",
}

UNCLEAR = """not approved|don't proceed|I can't say yes|do not go ahead|never approve|don’t go|cannot approve
approved if the tests pass|yes once 2 is gone|approve when ready|ok unless Bob objects|go after lunch
approved provided that 2 is safe|yes, as long as it is safe|approved except 2|approved without 2
probably yes|I guess|ok I guess|maybe ok|looks fine I think|looks good I think|yes, probably|seems ok
approved... no wait|approved, no|yes but no|yes no|no yes|no, yes|no wait, approved|no but yes|ok, stop
no, it's ok|no 👍|👎 👍|👍👎|✗ approved|reject: approved|no: yes|reject it, go ahead|stop asking, approved
approved?|yes?|ok?|approved, but why 2?|lgtm?!|no?|no, is that wise?|skip 2?|approved, skip 2?
he said 'approved'|"approved"|“yes”|`approved`|> approved|<approved>|(approved)|[x] approved|«ok»
will approve tomorrow|I'll approve|approved tomorrow|will go|approved soon|going to approve
oui|ja|sí|да|はい|genehmigt|approved by Bob last week|the yes branch is wrong|go away|go on
ok boomer|okay whatever|proceed with caution|ship it back|looks good on paper|y tho|yes man
please approve|approve please|Please approve the plan.|approve this, please|waiting to be approved
unapproved|un-approved|pre-approved|approved-ish|disapproved|approves|approval|approver|non approved
!approved|! approved|-approved|- approved|, approved|but approved|~~approved~~|~approved|¬approved
not_approved|approved_2|ship_it|approve*d|* approved|# approved|approved 2|ok 2|yes 5|go 3|approved #2
approved...|ok…|approved,|approved, but|approved and|ok then|approved but.|yes -|approved:
skip 2|remove 3, thanks|do 3 first|skip 2, ok|skip 2 ok|reorder 5 4 3 2 1|thanks|please|but|!|...|?|???
approved, skip 9|approved, skip 0|approved, skip 2-9|approved, skip 4-2|approved, skip 2-2
approved, skip 1234567|approved, skip the tenth|approved, skip 1,002|approved, skip 2.5|approved, skip 2a
approved, skip|approved, skip it|approved, skip the|approved, skip task|approved, skip 2 or 3
approved, skip the last 2|approved, skip the first two|approved, skip ２|approved, skip ²|approved, skip 2️⃣
approved, skip 2 to save time|approved, skip 2 if slow|approved, skip -2|approved, skip 2 3
approved, don't skip 2|approved, but not 2|approved, only 2|approved, skip ~~2~~ 3|approved, skip 2, ok
approved, skip 2 and 2|approved, remove 2, remove 2|approved, skip 2, remove 2|approved, skip 1-3, 2
approved, skip 2 and move 2 after 3|approved, move 3 after 2, remove 2|approved, swap 2 and 2
approved, swap 2 and 3, swap 3 and 4|approved, do 3 first, do 4 first|approved, move 2 before 2
approved, move 3 after 2, move 4 after 2|approved, move 3 after 2, move 4 after 3
approved, move 2|approved, move 2 to 4|approved, move 2 up|approved, do 3|approved, do 3 and 4 first
approved, move 3 after 5 and 6|approved, move 9 after 2|approved, move 2 after 9|approved, swap 2
approved, swap 2 3|approved, swap 2 and|approved, leave 2|approved, reorder|approved, reorder 3, 1, 2
approved, reorder 1 2 3 4 5 5|approved, reorder 1 2 3 4 4|approved, reorder 1 2 3 4 6
approved, reorder 5 4 3 2 1, skip 2|approved, skip 1-5|approved, remove 1 and 2, skip 3-5
wait|hold|hold on|wait, approved|hold on, yes|wait for Bob|hold the plan|question:|question: .|q
no problem|no objections|no worries, approved|no changes needed|stop after 2|stop me if|no 2|rejected the idea
ａｐｐｒｏｖｅｄ|аpproved|арргоved|оk|уes|o\u212a|approve\u0336d|y\u0301es|ok\u00a0|ok\u3000|𝐨𝐤|ⓞⓚ|yeſ
ap\u200dproved|ok\u200b|\ufeffok|\u202eok|ok\x00|ok\x1b[0m|ok\x7f|go\u00ad|ok\ufe0f|ok\u2800|ok\u3164
\u2066yes\u2069|no\u200b|reject: a\u202eb|ok\ud800|ok\ue000|ok\u2028no|✅\u200d|👍\U000e0061|ok\u034f
$(approved)|approved && rm|approved | no|yes/no|y/n|yes or no|approved=false|approved: false|ok: no
on: yes|status: approved|approved\n> no|approved\n\nOn Monday Bob wrote:|I approve of 2|I approve 2
we approve|you approve|approve all|approve 2|yes to 2|yes, and add a step|ok, rename 2|yes, run 2 twice"""


def sentences(table: str) -> list[str]:
    return [sentence for line in table.splitlines() for sentence in line.split("|")]


def read(text: str) -> Decision:
    return read_decision(text, LABELS)

"""A receipt as a comment: short, what is not proved first, and nobody's text but as text."""

from __future__ import annotations

import re
from typing import Any

import pyromark
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from planbound.receipts import predicate
from planbound.receipts.comment import MOST_LINES, code, first_line, receipt_comment
from planbound.receipts.predicate import (
    AmendedPlan,
    AttestedItem,
    BareRun,
    Deviation,
    EditableJudge,
    ItemBaseline,
    PlanRun,
    RunAgent,
    RunApproval,
    RunBase,
    RunCounts,
    RunHarness,
    RunItem,
    RunJournal,
    RunPlan,
    RunSettings,
    RunTree,
    UnknownCost,
    UnsettledItem,
    WaivedItem,
)
from tests.examples import examples

PROVED = "**proved**: every step was red before the work and green after it"
PLACE = "tree `0123456789ab` · commit `fedcba987654` · plan `d1d1d1d1d1d1`, revision 1"
CHECK = "planbound check-receipt rounding.receipt.jsonl --require proved"


def item(number: str, title: str = "Round once", **more: Any) -> RunItem:
    values: dict[str, Any] = {
        "kind": "step", "number": number, "id": f"s{number}", "title": title, "form": "command",
        "contract": "c" * 64, "command": "pytest -q", "expectations": ("exit_code == 0",),
        "timeout": None, "repeat": 1, "demanded_evidence": None, "demanded_baseline": None,
        "touches": ("src/**",), "judges": (), "result": "proved", "verdict": "pass",
        "reason": "exit 0", "evidence": "E3", "isolation": "I2", "exit_code": 0, "seconds": 1.0,
        "baseline": ItemBaseline(verdict="fail", red=True, at="attempt", seq=3), "canary": "red",
        "tests": None, "mutated": None, "tree": "t" * 64, "output": None, "attempts": 1,
        "reused": None, "seq": 9, "settled_by": 10,
    }  # fmt: skip
    return RunItem(**(values | more))


def run_of(*items: RunItem, **more: Any) -> PlanRun:
    results = [each.result for each in items]
    counts = {
        word: results.count(word)
        for word in ("proved", "holds", "claimed", "attested", "waived", "skipped")
    }
    values: dict[str, Any] = {
        "version": "0.1", "made": "2026-11-19T20:00:00Z", "outcome": "proved", "status": "done",
        "archived": False, "loop": False,
        "plan": RunPlan(slug="rounding", path=".harness/PLAN-rounding.md", revision=1,
                        digest="d1" * 32, text=None, sha256=None, git_blob=None, redacted=False),
        "approval": RunApproval(
            by="ann", method="signature", strength="proof", at="2026-11-19T19:00:00Z",
            expires=None, policy=None, nonce="n", project=None, digest="d1" * 32,
            configuration="c" * 64, tree=None, judges={}, tools={}, modifications=(),
            statement=None, signature=None, seq=2,
        ),
        "base": RunBase(tree=None, git_tree=None, commit=None, folder=""),
        "settings": RunSettings(
            digest="c" * 64, env=(), path=(), network=False, seconds=300.0, memory=1, processes=1,
            file_size=1, temporary=1, canary=True, mutate=True, held_out=0, summarise=(),
            caches=(),
        ),
        "tree": RunTree(tree="a" * 64, git_tree="0123456789abcdef" + "0" * 24, no_git_tree=None,
                        removed=()),
        "items": items,
        "counts": RunCounts(items=len(items), open=len(items) - sum(counts.values()), **counts),
        "deviations": (),
        "agents": (RunAgent(name="coder", kind="claude", model="m", attempts=2, unknown=0,
                            tokens=12_345, dollars="0.42"),),
        "harness": RunHarness(version="0.1", digest="h", python="3.12", system="Linux", key=None),
        "journal": RunJournal(checkpoint="", nodes=(), events=(), earlier=None),
        "statements": (),
    }  # fmt: skip
    return PlanRun(**(values | more))


def comment(run: PlanRun) -> str:
    return receipt_comment(run, commit="fedcba9876543210" + "0" * 24, check=CHECK)


@pytest.mark.requirement("receipt.comment")
def test_a_proved_plan_is_told_in_few_lines_bound_to_its_tree_and_commit() -> None:
    said = comment(run_of(item("1"), item("2", "Say so")))
    assert said.splitlines() == [
        "<!-- planbound-receipt: rounding -->",
        f"**Planbound** `rounding`: ✅ {PROVED}",
        f"{PLACE} · 2 proved of 2",
        "",
        "| step | contract | verdict | evidence |",
        "| --- | --- | --- | --- |",
        "| 1 `Round once` | `pytest -q` | proved | E3 · I2 · red before |",
        "| 2 `Say so` | `pytest -q` | proved | E3 · I2 · red before |",
        "",
        "- Approved by `ann` (`signature`, `proof`)",
        "- Cost: 12,345 tokens, $0.42, as agents report it",
        "",
        f"Check it: `{CHECK}`",
    ]


@pytest.mark.requirement("receipt.comment")
def test_what_is_not_proved_comes_first_and_loudly() -> None:
    run = run_of(
        item("1"),
        item("2", result="waived", verdict="fail"),
        item("3", result="attested", verdict=None, form="attest", command="It reads well"),
        item("4", result="holds", baseline=None),
        outcome="settled",
        deviations=(
            WaivedItem(item="step 2", by="ann", reason="the server is gone", seq=8),
            AttestedItem(item="step 3", by="bo", statement="It reads well", seq=9),
        ),
    )
    lines = comment(run).splitlines()
    assert lines[1] == "**Planbound** `rounding`: ⚠️ **done, and not all of it proved**"
    assert lines[2].endswith("1 proved, 1 holds, 1 attested, 1 waived of 4")
    assert lines[4:10] == [
        "**Not proved**",
        "",
        "- step 2 `Round once`: **waived** by `ann`: `the server is gone`",
        "- step 3 `Round once`: attested by `bo`: `It reads well`",
        "- one step was green before the work, or nobody looked: 4",
        "",
    ]
    assert (
        lines[13] == "| 2 `Round once` | `pytest -q` | **waived** (`fail`) | E3 · I2 · red before |"
    )
    assert "| a person: `It reads well` |" in lines[14]


def test_what_is_no_command_is_told_in_its_column() -> None:
    said = comment(run_of(item("1", form="probe"), item("2", form="none", command=None)))
    assert "| 1 `Round once` | a look of the harness |" in said
    assert "| 2 `Round once` | none |" in said


def test_an_unfinished_plan_says_so_and_nobody_approved_it() -> None:
    run = run_of(
        item("1", result="failed", verdict="timeout", reason="out of time"),
        outcome="unfinished",
        approval=None,
        deviations=(UnsettledItem(item="step 1", result="failed", reason="out of time"),),
        tree=RunTree(tree=None, git_tree=None, no_git_tree="not kept", removed=()),
    )
    said = comment(run)
    assert "❌ **not done**" in said
    assert "**no tree**: the files were not kept · commit" in said
    assert "**1 not done** of 1" in said
    assert "- step 1 `Round once`: **failed**: `out of time`" in said
    assert "Approved by **nobody**" in said


@pytest.mark.parametrize(
    ("agents", "expected"),
    [
        ([], "no attempt of an agent is on record"),
        ([(2, 2, 0, "0")], "**unknown**: no agent said what it used in 2 attempts"),
        ([(2, 0, 10, "1.5"), (1, 1, 0, "0")],
         "10 tokens, $1.50, as agents report it; **unknown** for 1 of 3 attempts"),
        ([(1, 0, 10, "a lot")], "10 tokens, dollars **unknown**, as agents report it"),
        ([(1, 0, 10, "NaN")], "10 tokens, dollars **unknown**, as agents report it"),
        ([(1, 0, 10, "1e999")], "10 tokens, dollars **unknown**, as agents report it"),
    ],
)  # fmt: skip
def test_unknown_cost_is_said_as_unknown(
    agents: list[tuple[int, int, int, str]], expected: str
) -> None:
    found = tuple(
        RunAgent(name="a", kind=None, model=None, attempts=attempts, unknown=unknown,
                 tokens=tokens, dollars=dollars)
        for attempts, unknown, tokens, dollars in agents
    )  # fmt: skip
    assert f"- Cost: {expected}\n" in comment(run_of(item("1"), agents=found))


def test_an_unknown_cost_among_the_deviations_is_not_hidden_by_what_agents_say() -> None:
    run = run_of(item("1"), deviations=(UnknownCost(attempts=1),))
    assert "**unknown** for 1 of 2 attempts" in comment(run)


@pytest.mark.requirement("receipt.comment")
def test_of_a_long_plan_the_rows_that_matter_are_shown_and_the_rest_counted() -> None:
    items = [item(str(number)) for number in range(1, 101)]
    items[70] = item("71", result="failed", verdict="fail")
    items[50] = item("51", evidence="E1")
    said = comment(run_of(*items, outcome="unfinished"))
    lines = said.splitlines()
    rows = [line for line in lines if line.startswith("| ")][2:]
    assert len(lines) == MOST_LINES
    assert rows[-1] == f"| and {101 - len(rows)} more |  | {101 - len(rows)} proved |  |"
    assert any(row.startswith("| 71 ") for row in rows)
    assert any(row.startswith("| 51 ") for row in rows)
    numbers = [int(row.split()[1]) for row in rows[:-1]]
    assert numbers == sorted(numbers)


def test_every_kind_of_deviation_is_named_however_many_there_are() -> None:
    judges = tuple(EditableJudge(item=f"step {n}", path=f"t/{n}.py") for n in range(5))
    run = run_of(
        *(item(str(number)) for number in range(30)),
        deviations=(
            *judges,
            BareRun(item="step 1", isolation="I0"),
            AmendedPlan(revision=2, by="ann", reason="too slow", seq=4),
            predicate.ReusedRuns(item="step 2", of=7),
            predicate.RaisedBudget(by="ann", seq=9),
            predicate.LateCondition(item="precondition 1", seq=9),
            predicate.NotKept(what="the base"),
            predicate.RunAnyway(what="step 2", seq=1),
            predicate.LittleEvidence(item="step 3", evidence=None),
        ),
    )
    said = comment(run)
    assert len(said.splitlines()) <= MOST_LINES
    assert "- **The agent could edit a judge** (5 times): `t/0.py` of `step 0`," in said
    assert ", and 2 more" in said
    for told in (
        "Not kept apart", "changed on the way", "earlier runs count", "budget was raised",
        "when work had begun", "Not in this receipt", "not all before it", "Evidence below E2",
    ):  # fmt: skip
        assert told in said


# -- nobody's text is more than text -----------------------------------------------------------


HOSTILE = st.lists(
    st.sampled_from(
        [
            "@octocat", "#12", "![x](http://e.org/a.png)", "[x](javascript:alert)", "<img src=x>",
            "<!-- planbound-receipt: other -->", "-->", "--!>", "<!--", "|", "\\", "\\|", "`", "``",
            "```", "\n", "\r\n", "\u2028", "\u202e", "\u200b", "**", "_", "~~", "| --- |", "# ",
            "- [ ] ", "> ", "http://e.org", "www.e.org", "a@b.org", "&#64;", ":tada:", "$x$", "é",
            "---", "</details>", "<details>", "\x00", "\ud800", "  ", "w", "GH-1", "octo/repo#1",
        ]
    ),
    max_size=6,
).map("".join)  # fmt: skip
LEVELS = st.sampled_from(["E3", "I2"]) | HOSTILE
WORDS = st.sampled_from(["proved", "waived", "failed", "step", "postcondition"]) | HOSTILE
ITEMS = st.builds(
    RunItem,
    kind=WORDS, number=HOSTILE, id=st.none(), title=HOSTILE, form=st.just("attest"),
    contract=st.none(), command=HOSTILE, expectations=st.just(()), timeout=st.none(),
    repeat=st.just(1), demanded_evidence=st.none(), demanded_baseline=st.none(),
    touches=st.just(()), judges=st.just(()), result=WORDS, verdict=HOSTILE, reason=st.none(),
    evidence=LEVELS, isolation=LEVELS, exit_code=st.none(), seconds=st.none(),
    baseline=st.none(), canary=st.none(), tests=st.none(), mutated=st.none(), tree=st.none(),
    output=st.none(), attempts=st.just(1), reused=st.none(), seq=st.none(), settled_by=st.none(),
)  # fmt: skip
_FIELDS: dict[str, Any] = {
    "revision": st.just(2), "seq": st.just(1), "of": st.just(3), "attempts": st.integers(0, 3),
    "restored": st.booleans(), "files": st.lists(HOSTILE, max_size=5).map(tuple),
    "warnings": st.lists(HOSTILE, max_size=5).map(tuple),
    "missing_tools": st.lists(HOSTILE, max_size=2).map(tuple),
}  # fmt: skip
DEVIATIONS: Any = st.one_of(
    *(
        st.builds(kind, **{name: _FIELDS.get(name, HOSTILE) for name in kind.__struct_fields__})
        for kind in Deviation.__args__
    )
)


def _outside_code(html: str) -> str:
    return re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL)


@pytest.mark.requirement("receipt.comment.escaped")
@examples(150)
@given(
    st.lists(ITEMS, max_size=8),
    st.lists(DEVIATIONS, max_size=8),
    st.tuples(HOSTILE, HOSTILE, HOSTILE, HOSTILE),
)
def test_no_text_breaks_out_of_the_comment(
    items: list[RunItem], deviations: list[Deviation], words: tuple[str, str, str, str]
) -> None:
    slug, name, dollars, outcome = words
    run = run_of(*items, deviations=tuple(deviations), outcome=outcome)
    assert run.approval is not None
    run = replace(
        run,
        plan=replace(run.plan, slug=slug, digest=name),
        approval=replace(run.approval, by=name, method=name, strength=slug),
        tree=replace(run.tree, git_tree=name),
        agents=(replace(run.agents[0], dollars=dollars),),
    )
    said = receipt_comment(run, commit=name, check=f"planbound check-receipt {slug}")
    assert said.encode()
    lines = said.split("\n")
    assert len(lines) - 1 <= MOST_LINES
    assert len(said) < 60_000  # GitHub takes 65,536 characters
    assert lines[0] == first_line(slug)
    body = said[len(lines[0]) :]
    assert "<!-" not in body
    assert "-->" not in body
    assert not re.search("[\x00-\x08\x0b-\x1f\u200b-\u200f\u2028-\u202e\ud800-\udfff]", said)
    html = pyromark.html(said, options=pyromark.Options.ENABLE_TABLES)
    assert html.startswith(lines[0])
    shown = _outside_code(html[len(lines[0]) :])
    assert not re.search(r"<(?!/?(?:p|strong|table|thead|tbody|tr|th|td|ul|li)\b)", shown)
    assert "@" not in shown
    assert "://" not in shown
    assert "www." not in shown
    assert not re.search(r"#\d|GH-\d", shown)
    table = re.search(r"<tbody>(.*?)</tbody>", html, re.DOTALL)
    for row in re.findall(r"<tr>(.*?)</tr>", table[1] if table else "", re.DOTALL):
        assert row.count("<td>") == 4


@examples(150)
@given(HOSTILE | st.text(max_size=30))
def test_a_code_span_holds_the_whole_text_and_nothing_of_it_gets_out(text: str) -> None:
    html = pyromark.html(f"before {code(text, 1000)} after")
    assert re.fullmatch(r"<p>before (<code>[^\n]*?</code>|—) after</p>\n", html)
    assert html.count("<code>") <= 1


def test_a_result_that_nobody_knows_is_text_in_the_last_row_too() -> None:
    items = [item(str(n), result="a|b`@c" if n > 30 else "failed") for n in range(60)]
    html = pyromark.html(comment(run_of(*items)), options=pyromark.Options.ENABLE_TABLES)
    assert "<code>a|b`@c</code>" in html.partition(" more</td>")[2]


def test_text_is_cut_and_its_pipes_stay_pipes_in_the_table() -> None:
    said = comment(run_of(item("1", "x" * 200, command="a | b \\| c `d` || e")))
    html = pyromark.html(said, options=pyromark.Options.ENABLE_TABLES)
    assert "<td><code>a | b \\ | c `d` || e</code></td>" in html
    assert f"<code>{'x' * 69}…</code>" in html


def test_a_marker_is_one_word_of_plain_characters_for_every_name() -> None:
    assert first_line("rounding") == "<!-- planbound-receipt: rounding -->"
    assert first_line("a --> b") == "<!-- planbound-receipt: a%20--%3E%20b -->"
    assert first_line("é") == "<!-- planbound-receipt: %C3%A9 -->"

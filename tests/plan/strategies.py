"""Generated plans, and real ones with a mutation."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

FIXTURES = Path(__file__).parents[1] / "fixtures" / "plans"
REAL = [path.read_text(encoding="utf-8") for path in sorted(FIXTURES.glob("*.md"))]

WORD = st.sampled_from(
    "round cents `src/a.py` tests café 修复 naïve α-β 1,000 (see #88) [x] *so* __init__ <b> "
    "&amp; \\*"
    ' https://example.org/x 🙂 don\'t "quoted" foo_bar $HOME {n} ~tilde~'.split(" ")
)
SENTENCE = st.lists(WORD, min_size=1, max_size=12).map(" ".join)
COMMAND = st.sampled_from(
    [
        "pytest -q tests",
        "test -f out.txt",
        'test "$(grep -c x out.txt)" -ge 1',
        "make check\nmake test",
        "if true; then\n  echo hi\nfi",
        "cat <<'EOF'\n**contract:** no\n### 3. no\nEOF",
        "! grep -rn 'x' src",
        "",
    ]
)
EXPECTATION = st.sampled_from(
    [
        "exit_code == 0",
        "exit_code == 2",
        'stdout contains "ok"',
        'stdout == "a\\nb"',
        "tests >= 3",
        "failed <= 2",
        "no new failures",
    ]
)
FENCE = st.sampled_from(["```", "````", "~~~", "~~~~~"])


@st.composite
def tasks(draw: st.DrawFn) -> str:
    parts = [draw(SENTENCE)]
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.integers(0, 5))
        if kind == 0:
            mark = draw(FENCE)
            parts.append(f"{mark}python\n### 9. not a step\n**contract:** no\n{mark}")
        elif kind == 1:
            parts.append("\n".join(f"- {draw(SENTENCE)}" for _ in range(2)))
        elif kind == 2:
            parts.append(f"> **contract:** {draw(SENTENCE)}")
        elif kind == 3:
            parts.append(f"#### {draw(SENTENCE)}")
        elif kind == 4:
            parts.append("<!--\n**contract:** hidden\n### 4. hidden\n-->")
        else:
            parts.append("| a | b |\n| --- | --- |\n| **contract:** | x |")
    return "\n\n".join(parts)


@st.composite
def steps(draw: st.DrawFn, number: int) -> str:
    mark = draw(st.sampled_from(["", "✅ ", "❌ ", "⏳ "]))
    depends = draw(st.sampled_from(["", " (depends on 1)"])) if number > 1 else ""
    lines = [f"### {number}. {mark}{draw(SENTENCE)}{depends}", ""]
    fields = [f"**target:** {draw(st.sampled_from(['coder', 'reviewer']))}"]
    if draw(st.booleans()):
        fields.append("**subscriptions:**\n- file:src/a.py\n- topic:rounding")
    if draw(st.booleans()):
        fields.append(f"**touches:**\n- src/{number}/**\n- docs/x{number}.md")
    if draw(st.booleans()):
        fields.append(f"**timeout:** {draw(st.sampled_from(['90s', '10m', '1h30m', '2 hours']))}")
    if draw(st.booleans()):
        fields.append("**budget:** 10k tokens, $0.50")
    fields.append(f"\n**task:**\n{draw(tasks())}\n")
    mark = draw(FENCE)
    tag = draw(st.sampled_from(["shell", "bash", "sh"]))
    contract = f"**contract:**\n{mark}{tag}\n{draw(COMMAND)}\n{mark}"
    expectations = draw(st.lists(EXPECTATION, max_size=2, unique=True))
    fields.append("\n".join([contract, *expectations]))
    if draw(st.booleans()):
        fields.append(f"**on_fail:** {draw(st.sampled_from(['escalate', 'retry(2)', 'abort']))}")
    return "\n".join([*lines, *fields]) + "\n"


@st.composite
def plan_texts(draw: st.DrawFn) -> str:
    """Return a sound plan with LF line ends."""
    parts = [
        "---",
        "type: plan",
        f"status: {draw(st.sampled_from(['draft', 'approved', 'in-progress']))}",
        "owner: orchestrator",
        "touches: [\"src/**\", 'docs/**']",
        "---",
        "",
        f"# {draw(SENTENCE)}",
        "",
        f"**Context:** {draw(SENTENCE)}",
        "**Budget:** max 150k tokens, $1.20, 25 minutes wall clock",
        "",
        "## Steps",
        "",
    ]
    count = draw(st.integers(1, 4))
    parts += [draw(steps(number)) for number in range(1, count + 1)]
    if draw(st.booleans()):
        parts += [
            "## Postconditions",
            "",
            f"1. {draw(SENTENCE)}",
            "   ```shell",
            "   pytest -x",
            "   ```",
            "   exit_code == 0",
        ]
    return "\n".join(parts) + "\n"


NOISE = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            "\r\n", "\r", "\t", "   ", "```", "~~~", "\n\n", "### ", "## Steps\n", "**contract:**",
            "**", "<!--", "-->", "> ", "- ", "1. ", "---\n", "\ufeff", "\0", "\u202e", "\udc80",
            "### 3–N. x\n", "N+1", "(depends on 1)", "exit_code == ", "**status: done**", "✅",
            "[", "{", "*", "_", "`", "    ", "|", "&", "\\", "\u2028", "\x0b", "\x85",
        ]
    ),
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """Return a text with a few cuts, doublings and insertions."""
    text = draw(texts)
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            text = text[:start] + text[end:]
        elif kind == 1:
            text = text[:start] + draw(NOISE) + text[start:]
        elif kind == 2:
            text = text[:end] + text[start:]
        else:
            text = text[:start] + draw(NOISE) + text[end:]
    return text


ANY_TEXT = st.one_of(
    st.text(),
    mutated(st.sampled_from(REAL)),
    mutated(plan_texts()),
    plan_texts().map(lambda text: "\ufeff" + text.replace("\n", "\r\n")),
)
ANY_BYTES = st.one_of(
    st.binary(max_size=300), ANY_TEXT.map(lambda text: text.encode("utf-8", "surrogatepass"))
)

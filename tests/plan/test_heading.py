"""Headings of steps: most are read by a short pattern, and as the long one would read them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planbound.plan.outline import _PLAIN_STEP, _STEP, _may_be_step, read_step_heading
from tests.examples import examples

PARTS = st.sampled_from(
    [
        *"1|12|1.2|1a|N|n|3–N|3-N|3..N|N+1|٣|２|.|. |...|…|:|: | - |) | to N|(|#|_|`a`".split("|"),
        *"step |Step|Steps|task #|phase no. |étape |第|步| |\t|\n|**|__|İ|Non-goals".split("|"),
        *"TAS\u212a 2. |ta\u017fk 1: |\u017ftep 1|✅|[x]|[ ] |⏳|✔️|🟡|Round the cents".split("|"),
        *"(depends on 1)|(DEPEND\u017f: 2)|(depends 3".split("|"),
    ]
)


@examples(3000)
@given(st.lists(PARTS, min_size=1, max_size=7).map("".join))
def test_a_heading_is_read_as_by_the_pattern_for_all_of_them(text: str) -> None:
    whole, plain = _STEP.match(text), _PLAIN_STEP.match(text)
    if plain is not None:
        assert whole is not None
        assert [plain.span(name) for name in whole.groupdict()] == [
            whole.span(name) for name in whole.groupdict()
        ]
    elif not _may_be_step(text):
        assert whole is None
    if whole is None and not text.startswith(("**", "__")):
        assert read_step_heading(text) is None


def test_most_headings_need_only_the_short_pattern() -> None:
    for heading in ("3. Round the cents (depends on 1)", "3. ✅ Round the cents", "4. ⏳ x"):
        assert _PLAIN_STEP.match(heading) is not None
    assert not any(map(_may_be_step, ("Steps", "Postconditions", "Round 7 invoices", "Phases")))
    assert all(map(_may_be_step, ("Step 3", "N. Clean up", "✅ 1. x", "(2) x", "[x] 3. y")))

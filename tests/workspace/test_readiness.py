"""Which plans may begin, and which of them side by side."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from planbound.plan.model import PlanStatus
from planbound.workspace.readiness import (
    EXACT_LIMIT,
    FileStatus,
    HeldBack,
    PlanInfo,
    Readiness,
    ScopeKind,
    blockers,
    knots,
    readiness,
    why_not_ready,
)
from tests.tables import one_fact


def plan(slug: str, *touches: str, **known: object) -> PlanInfo:
    return PlanInfo(slug, touches=touches or (f"src/{slug}/**",))._replace(**known)  # type: ignore[arg-type]  # fields by name


def running(slug: str, *touches: str, **known: object) -> PlanInfo:
    return plan(slug, *touches, status=PlanStatus.IN_PROGRESS, started=True, **known)


def done(slug: str, **known: object) -> PlanInfo:
    return plan(slug, status=PlanStatus.DONE, started=True, **known)


def reason(found: Readiness, slug: str) -> str:
    return next(held.reason for held in found.held_back if held.slug == slug)


def test_nothing_gives_nothing() -> None:
    assert readiness([]) == Readiness((), (), (), ())


def test_candidates_are_staged_plans_and_active_ones_that_have_not_started() -> None:
    found = readiness(
        [
            plan("new"),
            plan("queued", staged=True),
            running("busy"),
            done("over"),
            plan("filed", archived=True),
            plan("broken", status=PlanStatus.FAILED, started=True),
        ]
    )
    assert found.ready == found.safe_together == ("new", "queued")
    assert found.held_back == ()


@one_fact(
    ("known", "why"),
    [
        (plan("a", status=PlanStatus.APPROVED), None),
        (plan("a", status=PlanStatus.APPROVED, unwritten="step 1 still says `TODO`"), None),
        (running("a"), None),
        (plan("a b"), "not approved yet: `planbound approve 'a b'`"),
        (plan("a", waiting="approval"), "waits for approval: `planbound approve a`"),
        (
            plan("a", waiting="clarification"),
            "waits for the answer to a question about it: `planbound inbox`",
        ),
        (plan("a", rejected="rejected by ann: no"), "rejected by ann: no"),
        (
            plan("a", rejected="rejected by ann: no", waiting="approval"),
            "waits for approval: `planbound approve a`",
        ),
        (plan("a", rejected="rejected", unwritten="a template"), "a template"),
        (
            plan("a", status=PlanStatus.CANCELLED, started=True),
            "its run was cancelled: `planbound approve a`",
        ),
        (plan("a", staged=True), "staged: `planbound activate a`"),
        (plan("a", staged=True, unwritten="a template"), "a template"),
        (done("a", staged=True), "it is done already; a staged copy of it is left over"),
        (plan("a", problem="no"), "its file cannot be read: no"),
        (
            plan("a", status=FileStatus.CLAIMED, started=True),
            "its file says that it is done, and the journal knows nothing of it",
        ),
    ],
)
def test_what_a_plan_itself_lacks_is_one_reason(known: PlanInfo, why: str | None) -> None:
    assert why_not_ready(known) == why


def test_what_is_safe_and_not_decided_is_told_with_its_reason() -> None:
    plans = [plan("a"), plan("b", status=PlanStatus.APPROVED), plan("c", rejected="rejected")]
    found = readiness(plans)
    assert found.safe_together == ("a", "b")
    assert found.undecided == (HeldBack("a", "not approved yet: `planbound approve a`"),)
    assert found.held_back == (HeldBack("c", "rejected"),)


def test_a_dependency_counts_when_it_is_done_archived_or_not() -> None:
    others = [done("here"), done("filed", archived=True), running("busy")]
    assert readiness([*others, plan("a", depends_on=("here", "filed"))]).ready == ("a",)
    found = readiness([*others, plan("a", depends_on=("here", "busy"))])
    assert (found.ready, found.safe_together) == ((), ())
    assert found.held_back == (HeldBack("a", "waits for `busy` (in-progress)"),)


def test_what_is_done_with_skips_or_by_its_file_alone_is_no_done_dependency() -> None:
    for status in (
        PlanStatus.DONE_WITH_SKIPS,
        FileStatus.CLAIMED,
        PlanStatus.FAILED,
        PlanStatus.APPROVED,
    ):
        other = plan("b", status=status, started=True)
        found = readiness([other, plan("a", depends_on=("b",))])
        assert found.held_back == (HeldBack("a", f"waits for `b` ({status.value})"),)


def test_an_unknown_slug_is_told_with_its_path() -> None:
    found = readiness([plan("a", depends_on=("b",)), plan("b", depends_on=("gone",))])
    assert reason(found, "b") == "there is no plan `gone`: b → gone"
    assert reason(found, "a") == "waits for `b` (draft), and there is no plan `gone`: a → b → gone"


def test_a_cycle_is_told_with_its_path() -> None:
    found = readiness(
        [
            plan("a", depends_on=("b",)),
            plan("b", depends_on=("c",)),
            plan("c", depends_on=("a",)),
            plan("outside", depends_on=("a",)),
            plan("self", depends_on=("self",)),
        ]
    )
    assert found.ready == ()
    assert reason(found, "a") == "it waits for itself: a → b → c → a"
    assert reason(found, "c") == "it waits for itself: c → a → b → c"
    assert reason(found, "self") == "it waits for itself: self → self"
    assert reason(found, "outside").endswith("which waits for itself: outside → a → b → c → a")


def test_what_blocks_a_plan_is_told_with_the_way_to_it() -> None:
    plans = [
        plan("a", depends_on=("b", "d", "over")),
        plan("b", depends_on=("c",)),
        plan("c", status=PlanStatus.VERIFIED),
        plan("d", depends_on=("c", "gone")),
        done("over", depends_on=("b",)),
        done("weak", unproved="1 step holds and is not proved"),
        plan("circle", depends_on=("ring", "weak")),
        plan("ring", depends_on=("circle",)),
    ]
    shown = {slug: [each.shown for each in blockers(slug, plans)] for slug in ("a", "circle")}
    assert shown == {
        "a": ["a → b → c (verified)", "a → d → gone (no such plan)"],
        "circle": [
            "circle → weak (1 step holds and is not proved)",
            "circle → ring → circle (waits for itself)",
        ],
    }
    assert blockers("c", plans) == blockers("over", plans) == []


def test_a_cycle_through_a_done_plan_holds_nobody() -> None:
    found = readiness([plan("a", depends_on=("b",)), done("b", depends_on=("a",))])
    assert found.safe_together == ("a",)


def test_touches_are_compared_as_globs_also_with_what_is_in_progress() -> None:
    found = readiness(
        [
            running("busy", "src/*.py"),
            plan("near", "src/m*"),
            plan("far", "src/deep/*.py"),
        ]
    )
    assert found.ready == ("far", "near")
    assert found.safe_together == ("far",)
    assert reason(found, "near") == (
        "waits for `busy`, which is in progress: `src/m*` meets `src/*.py`"
    )


def test_a_plan_that_was_amended_on_the_way_is_still_in_progress() -> None:
    amended = plan("b", "src/**", status=PlanStatus.DRAFT, started=True)
    assert readiness([amended, plan("a", "src/a")]).safe_together == ()


def test_a_finished_plan_holds_its_files_no_more() -> None:
    assert readiness([done("b"), plan("a", "src/b/x")]).safe_together == ("a",)


def test_a_plan_without_touches_is_never_called_safe() -> None:
    for scope in (ScopeKind.OPEN, ScopeKind.BY_STEPS):
        found = readiness([plan("a", scope=scope), plan("b")])
        assert found.ready == ("a", "b")
        assert found.safe_together == ("b",)
        assert [held.slug for held in found.held_back] == ["a"]
        assert any("`a` has no `touches`" in warning for warning in found.warnings)


def test_beside_a_running_plan_without_touches_nothing_is_safe() -> None:
    found = readiness([running("wild", scope=ScopeKind.OPEN), plan("a")])
    assert (found.ready, found.safe_together) == (("a",), ())
    assert "`wild`, which is in progress" in reason(found, "a")
    assert any("`wild`" in warning for warning in found.warnings)


def test_a_running_plan_whose_steps_all_say_what_they_touch_is_compared() -> None:
    found = readiness([running("busy", "x", scope=ScopeKind.BY_STEPS), plan("a"), plan("b", "x")])
    assert found.safe_together == ("a",)


def test_touches_that_cannot_be_read_are_not_safe() -> None:
    found = readiness([plan("a", "/etc/passwd"), plan("b")])
    assert found.safe_together == ("b",)
    assert reason(found, "a") == "its `touches` cannot be read"
    assert any("`a`" in warning for warning in found.warnings)


def test_the_largest_safe_set_is_proposed_not_the_first_one() -> None:
    found = readiness([plan("a", "src/**"), plan("b", "src/b"), plan("c", "src/c")])
    assert found.safe_together == ("b", "c")
    assert found.held_back == (HeldBack("a", "waits for `b`: `src/**` meets `src/b`"),)


def test_ties_go_to_the_first_by_name_whatever_the_order() -> None:
    plans = [plan("a", "x"), plan("b", "x", "y"), plan("c", "y", "z"), plan("d", "z")]
    for turned in (plans, plans[::-1]):
        assert readiness(turned).safe_together == ("a", "c")


def test_a_staged_copy_that_is_left_over_is_not_begun_again() -> None:
    found = readiness([done("a", staged=True, archived=True)])
    assert found.safe_together == ()
    assert "done already" in reason(found, "a")


def test_a_plan_that_cannot_be_read_is_held_back() -> None:
    found = readiness([plan("a", problem="it is a directory")])
    assert found.held_back == (HeldBack("a", "its file cannot be read: it is a directory"),)


def test_beyond_the_limit_the_set_is_safe_and_a_warning_says_so() -> None:
    number = EXACT_LIMIT + 5
    plans = [plan(f"p{n:02}", f"f{n}", f"f{n + 1}") for n in range(number)]
    found = readiness(plans)
    assert any("a larger one may exist" in warning for warning in found.warnings)
    chosen = [int(slug[1:]) for slug in found.safe_together]
    assert all(right - left > 1 for left, right in pairwise(chosen))
    assert len(chosen) == (number + 1) // 2


def test_the_hardest_graphs_within_the_limit_are_quickly_done() -> None:
    # Triangles in a ring: many sets are equally large.
    plans = [
        plan(f"p{n:02}", f"t{n // 3}", f"e{n}", f"e{(n + 1) % EXACT_LIMIT}")
        for n in range(EXACT_LIMIT)
    ]
    assert len(readiness(plans).safe_together) == EXACT_LIMIT // 3


@given(
    st.integers(1, 9).flatmap(
        lambda size: st.tuples(
            st.just(size), st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)))
        )
    )
)
def test_the_set_is_the_first_of_the_largest(graph: tuple[int, set[tuple[int, int]]]) -> None:
    size, edges = graph
    edges = {(a, b) for a, b in edges if a < b}
    plans = [
        plan(f"p{n}", f"own{n}", *(f"edge-{a}-{b}" for a, b in sorted(edges) if n in {a, b}))
        for n in range(size)
    ]
    best = next(
        chosen
        for length in range(size, 0, -1)
        for chosen in combinations(range(size), length)
        if not any(a in chosen and b in chosen for a, b in edges)
    )
    found = readiness(plans)
    assert found.safe_together == tuple(f"p{n}" for n in best)
    assert {held.slug for held in found.held_back} == {f"p{n}" for n in range(size)} - set(
        found.safe_together
    )


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdefg"), max_size=3)))
def test_knots_are_there_exactly_where_a_cycle_is(edges: dict[str, list[str]]) -> None:
    left = dict(edges)
    while free := [slug for slug, ends in left.items() if not set(ends) & left.keys()]:
        for slug in free:
            del left[slug]
    assert bool(knots(edges)) == bool(left)

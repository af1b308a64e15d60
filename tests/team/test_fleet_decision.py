"""Which plans a fleet starts next, and when it is over."""

from __future__ import annotations

from collections.abc import Sequence

from planbound.plan.model import PlanStatus
from planbound.state.place import Binding, TeamState
from planbound.team.fleet_decision import FleetOutcome, FleetScene, decide
from planbound.workspace.readiness import PlanInfo, ScopeKind


def info(slug: str, status: str = "approved", *depends_on: str, touches: str = "") -> PlanInfo:
    return PlanInfo(
        slug,
        status=PlanStatus(status),
        started=status in {"in-progress", "done", "failed"},
        depends_on=depends_on,
        touches=(touches or f"src/{slug}",),
    )


def scene(*plans: PlanInfo, asked: Sequence[str] = (), jobs: int = 4) -> FleetScene:
    known = {plan.slug: plan for plan in plans}
    bound = {
        slug: TeamState(slug, binding=Binding(slug, f"/w/{slug}", slug, "0", f"/w/{slug}"))
        for slug in known
    }
    return FleetScene(known, bound, tuple(asked or known), jobs=jobs)


def test_what_was_begun_goes_on_before_anything_new() -> None:
    found = decide(scene(info("a"), info("b", "in-progress"), info("c", "failed"), jobs=2))
    assert found.start == ("b", "c")
    assert dict(found.held) == {"a": "waits for a free place: `--jobs` is 2"}


def test_what_was_begun_without_a_worktree_is_not_gone_on_with_in_one() -> None:
    at = scene(info("a", "in-progress"))._replace(team={})
    found = decide(at)
    assert found.over
    assert "begun without a worktree" in found.held[0].reason


def test_a_fleet_is_over_when_nothing_can_change() -> None:
    at = scene(info("a"), info("b", "approved", "a"), info("c", "approved", "c"))
    assert decide(at).start == ("a",)
    assert not decide(at._replace(running=frozenset({"a"}))).over
    ended = decide(at._replace(ended={"a": FleetOutcome.REFUSED}))
    assert ended.over
    assert dict(ended.held) == {
        "b": "waits for `a`, which was refused",
        "c": "it waits for itself: c → c",
    }


def test_what_others_run_is_awaited_only_where_it_is_in_the_way() -> None:
    others = info("x", "in-progress", touches="src/**")
    at = scene(info("a"), others, asked=["a"])._replace(elsewhere=frozenset({"x"}))
    found = decide(at)
    assert (found.start, found.over) == ((), False)
    assert found.held[0].reason.startswith("waits for `x`, which is in progress")
    at = scene(info("a", "draft"), others, asked=["a"])._replace(elsewhere=frozenset({"x"}))
    assert decide(at).over
    at = scene(info("a", "approved", "x"), others, asked=["a"])
    assert decide(at).over
    assert not decide(at._replace(elsewhere=frozenset({"x"}))).over


def test_a_dependency_that_is_done_counts_when_its_run_has_ended() -> None:
    at = scene(info("a", "done"), info("b", "approved", "a"), asked=["b"])
    assert decide(at).start == ("b",)
    assert decide(at._replace(running=frozenset({"a"}))).start == ()


def test_a_plan_without_touches_waits_until_it_is_alone() -> None:
    wild = info("wild")._replace(touches=(), scope=ScopeKind.OPEN)
    assert decide(scene(info("a"), wild)).start == ("a",)
    assert decide(scene(info("a", "done"), wild)).start == ("wild",)
    busy = decide(scene(info("a"), wild)._replace(running=frozenset({"wild"})))
    assert busy.start == ()

"""What can be done about worktrees on the page: spawn, merge with its dry run first, and prune."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Iterator, Sequence

from planbound.errors import NothingToDo
from planbound.git.place import make_repository
from planbound.page.decide import ChangedMeanwhile, by_a_person
from planbound.page.forms import button, form
from planbound.page.merges import MergeJob
from planbound.page.nonce import ShownState
from planbound.page.parts import links, say, ticked
from planbound.page.visit import (
    GoTo,
    PageAnswer,
    PageRoute,
    PartOfPage,
    ShownPage,
    Visit,
    address,
)
from planbound.receipts.html import Content, Html, element, join, served
from planbound.receipts.pieces import facts, heading, listed, said, table, word
from planbound.source import visible
from planbound.state.plan import known_team
from planbound.team.integrate import Integrator
from planbound.team.merge import Integrated, Landed, MergeResult, Note, Stopped
from planbound.team.removal import Pruned, Removed, prune_worktrees
from planbound.team.spawn import spawn_plan
from planbound.workspace.context import Context
from planbound.workspace.locate import locate

INTEGRATE = address("team", "integrate")
MERGES = address("team", "merges")
PRUNE = address("team", "prune")
_SOON = 1.0
"""In seconds: a merge that is over by then is shown at once."""
_BACK = ("Team", address("team"))
_BETWEEN = "/"
"""Stands between the names of plans in what a form is bound to: no name holds it."""


def digest_of(*values: object) -> str:
    """Return a digest of what was shown, so that anything else is noticed."""
    text = json.dumps(values, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


# -- a worktree for a plan -----------------------------------------------------------------------


def spawn_form(visit: Visit, slug: str, seq: int) -> Html:
    """Return the button that makes the worktree of a plan."""
    shown = ShownState(plan=slug, seq=seq)
    label = f"Make a worktree for {slug}"
    return form(visit, address("team", "spawn", slug), shown,
                button("Make its worktree"), label=label)  # fmt: skip


def spawn(visit: Visit) -> PageAnswer:
    """Make a worktree and a branch for a plan."""
    slug = visit.path["plan"]
    with visit.board.lock:
        visit.board.refresh()
        state = visit.board.states.get(slug)
        now = state.seq if state is not None else 0
    if visit.shown.plan != slug or visit.shown.seq != now:
        raise ChangedMeanwhile(
            "Something happened to this plan since it was shown: nothing was made",
            element("p", served("a", "Look at the board as it is now", href=address("team"))),
        )
    file = locate(slug, visit.context.tree)
    visit.context.demand_own(file)
    spawned = spawn_plan(visit.context, file, None)
    binding = spawned.binding
    run = f"planbound run {shlex.quote(file.slug)}"
    return ShownPage(
        f"A worktree for {slug}",
        join(
            heading(1, f"{slug} has its worktree"),
            facts(
                ("in", element("code", binding.path)),
                ("branch", element("code", binding.branch)),
                ("from", element("code", binding.base[:12])),
                ("run it with", element("code", run)),
            ),
            (say(f"{note}.") for note in spawned.notes),
            links("Where to go on", _BACK, (slug, address("plan", slug))),
        ),
        at="/team",
    )


# -- merging -------------------------------------------------------------------------------------


def show_integrate(visit: Visit) -> PageAnswer:
    """Show what would be merged; nothing is judged or moved for that."""
    named = visit.query.get("plan")
    foreseen, notes = _foreseen(visit.context, [named] if named else None, None)
    landed = [each.plan for each in foreseen.landed]
    parts: list[Content] = [
        heading(1, f"What would be merged into {foreseen.into}"),
        element("p", "Git was asked what merges cleanly. Nothing was judged, and nothing moved: "
                "each plan is judged once more on the merged files, and only then the branch"
                " moves."),
        _results(foreseen.results, foreseen=True),
        *notes,
    ]  # fmt: skip
    if landed:
        several = f"{len(landed)} plans" if len(landed) > 1 else landed[0]
        shown = ShownState(
            plan=_BETWEEN.join(landed),
            digest=_digest(visit.context, foreseen),
            question=foreseen.into,
        )
        parts.append(form(visit, INTEGRATE, shown,
                          button(f"Judge and merge {several}", class_="first"),
                          label=f"Merge into {foreseen.into}"))  # fmt: skip
    else:
        parts.append(element("p", f"No proved plan waits to be merged into {foreseen.into}."))
    last = ("What was merged here last", MERGES)
    shown_links = (_BACK, last) if visit.board.merges.last is not None else (_BACK,)
    parts.append(links("Where to go on", *shown_links))
    return ShownPage("Merge", join(*parts), at="/team")


def _foreseen(
    context: Context, plans: Sequence[str] | None, into: str | None
) -> tuple[Integrated, list[Html]]:
    """Return what would be merged, and what a person should know of it as a whole."""
    told: list[MergeResult | Note] = []
    foreseen = Integrator(context, plans, into, told.append).foresee()
    return foreseen, [say(visible(each.text)) for each in told if isinstance(each, Note)]


def _digest(context: Context, foreseen: Integrated) -> str:
    """Return a digest of what would be merged into what: the commits, and not only the names."""
    repository, team = make_repository(context), known_team(context.existing_journal())
    tips = []
    for landed in foreseen.landed:
        binding = team[landed.plan].binding if landed.plan in team else None
        tip = repository.commit_of(f"refs/heads/{binding.branch}") if binding else None
        tips.append((landed.plan, tip, landed.note))
    return digest_of(foreseen.into, foreseen.before, tips)


def integrate(visit: Visit) -> PageAnswer:
    """Begin to merge exactly what was shown."""
    plans, into = visit.shown.plan.split(_BETWEEN), visit.shown.question
    foreseen, notes = _foreseen(visit.context, plans, into)
    if _digest(visit.context, foreseen) != visit.shown.digest:
        raise ChangedMeanwhile(
            "Something changed since this was shown: nothing was merged",
            element("p", "This would come of it now:"),
            _results(foreseen.results, foreseen=True),
            *notes,
            element("p", served("a", "Look at it again, then decide", href=INTEGRATE)),
        )
    context = Context(workspace=visit.context.root, state=visit.context.given_state)
    job = visit.board.merges.begin(context, plans, into)
    job.ended.wait(_SOON)
    return GoTo(MERGES)


def show_merges(visit: Visit) -> PageAnswer:
    """Show how a merge that was begun here goes on."""
    job = visit.board.merges.last
    if job is None:
        return GoTo(INTEGRATE)
    part = _watched(job)
    if visit.accepts_part:
        return PartOfPage(part)
    return ShownPage(
        "Merges",
        (
            heading(1, f"Merging into {job.into}"),
            part,
            links("Where to go on", _BACK, ("Merge more", INTEGRATE), ("Inbox", "/inbox")),
        ),
        at="/team",
    )


def _watched(job: MergeJob) -> Html:
    """Return how a merge goes; while it goes on, it is asked for again every second."""
    is_over = job.ended.is_set()
    asked = {"hx-get": MERGES, "hx-trigger": "every 1s", "hx-swap": "outerMorph"}
    return served(
        "div",
        element("p", _state(job, is_over=is_over), role="status"),
        _results(job.results, foreseen=False) if job.results else None,
        (element("p", said(note), class_="dim") for note in job.notes),
        None if is_over else element("p", served("a", "Look again", href=MERGES)),
        id="merges",
        **({} if is_over else asked),
    )


def _state(job: MergeJob, *, is_over: bool) -> str:
    if not is_over:
        doing = f": {job.stage}" if job.stage else ""
        return f"It goes on: {len(job.results)} of {len(job.plans)} settled{doing}"
    if job.problem:
        return f"It broke down: {job.problem}"
    assert job.done is not None
    landed, stopped = len(job.done.landed), len(job.done.stopped)
    more = f", {stopped} stopped: each is in the inbox, and its branch stays" if stopped else ""
    return f"It is over: {landed} merged{more}. `{job.done.into}` is at {job.done.after[:12]} now."


def _results(results: Iterable[MergeResult], *, foreseen: bool) -> Html | None:
    rows = [_result(each, foreseen=foreseen) for each in results]
    if not rows:
        return None
    caption = "What would come of each plan" if foreseen else "What became of each plan"
    return table(caption, ("plan", "is", "more"), rows)


def _result(result: MergeResult, *, foreseen: bool) -> Html:
    match result:
        case Landed():
            is_word = "merges cleanly" if foreseen else "merged"
            about = _landed(result, foreseen=foreseen)
            colour = "soft" if foreseen else "good"
        case Stopped():
            is_word, about, colour = result.kind.value, said(result.reason), "bad"
            about = join(about, listed(element("code", each) for each in result.files))
        case _:
            is_word, about, colour = "not tried", said(result.reason), "none"
    return element(
        "tr",
        element("th", served("a", result.plan, href=address("plan", result.plan)), scope="row"),
        element("td", element("span", is_word, class_=f"word {colour}")),
        element("td", about),
    )


def _landed(landed: Landed, *, foreseen: bool) -> Html:
    if foreseen:
        return said(landed.note or "nothing was judged yet")
    count = f"{landed.contracts} contract{'' if landed.contracts == 1 else 's'} held"
    commit = (landed.commit or "")[:12]
    note = f"; {landed.note}" if landed.note else ""
    return join("as ", element("code", commit), f", {count}", said(note) if note else None)


# -- worktrees that are not needed any more ------------------------------------------------------


def show_prune(visit: Visit) -> PageAnswer:
    """Show which worktrees would be removed, and why others stay."""
    found = _prunable(visit.context, ())
    parts: list[Content] = [
        heading(1, "Which worktrees would be removed"),
        element("p", "Only what is merged whole, and clean, is removed. Nothing was removed yet."),
        *_pruned(found, foreseen=True),
    ]
    if found.removed:
        names = [each.plan for each in found.removed]
        shown = ShownState(plan=_BETWEEN.join(names), digest=_removal_digest(found.removed))
        many = f"{len(names)} worktrees" if len(names) > 1 else f"the worktree of {names[0]}"
        parts.append(form(visit, PRUNE, shown, button(f"Remove {many}", class_="first"),
                          label="Remove worktrees"))  # fmt: skip
    parts.append(links("Where to go on", _BACK))
    return ShownPage("Remove worktrees", join(*parts), at="/team")


def _prunable(context: Context, names: Sequence[str]) -> Pruned:
    try:
        return prune_worktrees(context, names, dry_run=True)
    except NothingToDo:
        return Pruned()


def _removal_digest(removed: Iterable[Removed]) -> str:
    return digest_of([(each.plan, each.path, each.branch, each.tip) for each in removed])


def prune(visit: Visit) -> PageAnswer:
    """Remove exactly the worktrees that were shown."""
    names = visit.shown.plan.split(_BETWEEN)
    found = _prunable(visit.context, names)
    if _removal_digest(found.removed) != visit.shown.digest:
        raise ChangedMeanwhile(
            "Something changed since this was shown: nothing was removed",
            element("p", "This would come of it now:"),
            *_pruned(found, foreseen=True),
            element("p", served("a", "Look at it again, then decide", href=PRUNE)),
        )
    done = prune_worktrees(visit.context, names, dry_run=False)
    return ShownPage(
        "Worktrees removed",
        join(
            heading(1, f"{len(done.removed)} removed, {len(done.kept)} kept"),
            *_pruned(done, foreseen=False),
            links("Where to go on", _BACK),
        ),
        at="/team",
    )


def _pruned(found: Pruned, *, foreseen: bool) -> Iterator[Content]:
    if not found.removed and not found.kept:
        yield element("p", "No plan has a worktree here.")
        return
    rows = [
        _worktree(each.plan, "would go" if foreseen else "removed", each.path,
                  f"branch {each.branch}" if each.branch is not None else "its branch stays")
        for each in found.removed
    ]  # fmt: skip
    rows += [_worktree(each.plan, "stays", each.path, each.reason) for each in found.kept]
    yield table("Worktrees", ("plan", "what", "where", "more"), rows)


def _worktree(plan: str, what: str, path: str, more: str) -> Html:
    return element(
        "tr",
        element("th", plan, scope="row"),
        element("td", word(what)),
        element("td", element("code", path)),
        element("td", ticked(more)),
    )


ROUTES_OF_FORMS = [
    PageRoute("POST", "/team/spawn/{plan}", by_a_person(spawn)),
    PageRoute("GET", INTEGRATE, show_integrate, reads_fold=False),
    PageRoute("POST", INTEGRATE, by_a_person(integrate)),
    PageRoute("GET", MERGES, show_merges, reads_fold=False),
    PageRoute("GET", PRUNE, show_prune, reads_fold=False),
    PageRoute("POST", PRUNE, by_a_person(prune)),
]

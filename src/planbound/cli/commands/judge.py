"""`planbound judge`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from functools import partial

from planbound.cli import judging
from planbound.cli.journalling import note_judged
from planbound.cli.live import live_line
from planbound.cli.reports import verdicts as reports
from planbound.cli.terminal import Terminal
from planbound.engine.judging.case import plan_scope
from planbound.engine.judging.frozen import Frozen, relocated
from planbound.engine.judging.verdict import Verdict, VerdictKind
from planbound.errors import ExitCode
from planbound.journal.event import EventKind
from planbound.plan.digest import digest
from planbound.plan.model import Baseline
from planbound.ports.journal import Query
from planbound.usecases.baseline import baseline_tests, changed_since, last_baseline
from planbound.usecases.bench import Bench
from planbound.usecases.judge import Setting, judge
from planbound.usecases.reference import forgiving
from planbound.usecases.run.screen import ScreenedTree, screened
from planbound.wiring.bound import make_place
from planbound.wiring.judging import earlier_verdicts, make_bench
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    judging.configure(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Judge the workspace as it is, without an agent."""
    given = Parts(workspace=arguments.workspace, state=arguments.state)
    given.told = live_line(quiet=arguments.json).judging
    asked = judging.ask(arguments, given, terminal)
    parts = asked.parts
    bench = make_bench(parts)
    if make_place(parts, asked.file.slug).is_linked:
        # The marker and what else is the harness's came after the tree was frozen.
        bench = bench._replace(tree=ScreenedTree(bench.tree))
    redactor = parts.redactor
    found: list[Verdict] = []
    setting = _setting(asked, parts, bench)
    frozen = setting.frozen
    tools = judging.tell_tools(
        asked, bench, frozen.manifest if frozen else None, terminal, silent=arguments.json
    )
    wanted = asked.judged
    if frozen is None:
        # Nobody looked before the work, as in a fresh checkout: then nobody can demand a colour.
        wanted = [case._replace(baseline=Baseline.ANY) for case in wanted]
    for verdict in judge(bench, wanted, setting):
        found.append(verdict)
        if asked.held:
            note_judged(parts, asked.file.slug, verdict, terminal)
        if not arguments.json:
            for line in reports.render(verdict, terminal, redactor):
                terminal.out(line)
    cure = _cure(asked, parts, setting, found)
    passed = not asked.waiting and all(item.kind is VerdictKind.PASS for item in found)
    if arguments.json:
        terminal.json(
            {
                "slug": asked.file.slug,
                "digest": digest(asked.plan),
                "isolation": bench.cell.isolation.value,
                "cell": bench.cell.name,
                "baseline": frozen.id if frozen else None,
                "tools": [tool._asdict() for tool in tools],
                "passed": passed,
                "hint": cure,
                "verdicts": [reports.as_data(item, redactor) for item in found],
                "unjudged": [reports.unjudged(case) for case in asked.waiting],
            }
        )
    else:
        for case in asked.waiting:
            terminal.out(f"- {case.number}. {case.title}: {reports.why_unjudged(case)}")
        terminal.out(reports.conclusion(found, len(asked.waiting), terminal))
        if cure is not None:
            terminal.note(f"hint: {cure}")
        if setting.frozen is None:
            terminal.note(
                "note: there is no baseline, so judges are as the workspace has them;"
                " take one with `planbound baseline` before the work"
            )
    return ExitCode.DONE if passed else ExitCode.FAILED


_BEYOND = frozenset({VerdictKind.OUT_OF_SCOPE, VerdictKind.TAMPERED})


def _cure(
    asked: judging.Asked, parts: Parts, setting: Setting, found: Sequence[Verdict]
) -> str | None:
    """Return what to do where the baseline, and not the work, is why nothing passes."""
    slug = asked.file.slug
    name = shlex.quote(slug)
    anew = f"`planbound approve {name}`, or `planbound baseline {name}` before any work"
    if setting.plan_changed is not None:
        return f"look at it as it is now: {anew}"
    journal = parts.existing_journal()
    if setting.frozen is None or journal is None or not any(v.kind in _BEYOND for v in found):
        return None
    kinds = (EventKind.BASELINE_OBSERVED, EventKind.PLAN_INTEGRATED)
    merged: list[str] = []
    for record in journal.read(Query(events=kinds)):
        draft = record.draft
        if draft.event is EventKind.PLAN_INTEGRATED:
            merged.append(draft.plan)
        elif draft.plan == slug:
            merged = []
    others = [f"`{name}`" for name in dict.fromkeys(merged) if name != slug]
    if not others:
        return _put_back(slug, found)
    what = f"{', '.join(others)} {'was' if len(others) == 1 else 'were'} merged"
    return f"{what} since the baseline was taken: {anew}"


def _put_back(slug: str, found: Sequence[Verdict]) -> str | None:
    """Return what to do about files that a person may have changed, such as the configuration."""
    if not any(verdict.outside for verdict in found):
        return None
    anew = f"`planbound baseline {shlex.quote(slug)}` takes the files as they are now"
    return f"put back what was not to be changed; where you changed it on purpose, {anew}"


def _setting(asked: judging.Asked, parts: Parts, bench: Bench) -> Setting:
    frozen = _frozen(asked, parts, bench)
    changed = None
    if frozen is not None:
        changed = changed_since(frozen, digest(asked.plan), parts.configuration)
    return Setting(
        frozen=frozen,
        scope=plan_scope(asked.plan),
        plan_changed=changed,
        earlier=earlier_verdicts(parts, asked.file.slug),
        tests=partial(baseline_tests, parts.existing_journal(), asked.file.slug),
    )


def _frozen(asked: judging.Asked, parts: Parts, bench: Bench) -> Frozen | None:
    journal = parts.existing_journal() if asked.held else None
    frozen = last_baseline(journal, bench.vault, asked.file.slug) if journal else None
    if frozen is not None and isinstance(bench.tree, ScreenedTree):
        now = bench.tree.manifest(bench.rules)
        frozen = relocated(frozen._replace(manifest=screened(frozen.manifest)), now)
        # What was approved in the main worktree came here by git, which leaves files behind.
        scope = plan_scope(asked.plan)
        return forgiving(frozen, now, asked.judged, scope, bench.vault)
    return frozen

"""A receipt as a comment in a pull request: at most thirty lines, whatever the plan's size.

Every word of a plan, an agent or a person stands in a code span that it cannot end, on one line:
there it is no mention, link, image, heading, comment or column, whatever it
holds. What is written otherwise is ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation

from planbound.receipts.deviation_words import Part, Quoted, Strong, result_word, words_of
from planbound.receipts.predicate import (
    AttestedItem,
    ClaimedItem,
    Deviation,
    HeldItem,
    PlanRun,
    RunItem,
    SkippedItem,
    UnknownCost,
    UnsettledItem,
    WaivedItem,
    WithoutApproval,
)
from planbound.source import lazy_pattern, visible

MOST_LINES = 30
_MARK = "planbound-receipt"
_MOST_OPEN = 6
"""How many items that are not proved have a line of their own."""
_MOST_REMARKS = 6
"""How many kinds of deviations have a line of their own."""
_TITLE, _COMMAND, _REASON, _NAME = 70, 60, 120, 40

# -- text of others, and nothing but text ----------------------------------------------------------


_TICKS = lazy_pattern(r"`+")
_COMMENT_MARK = lazy_pattern(r"<(?=!-)|(?<=-)-(?=!?>)")
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


def first_line(slug: str) -> str:
    """Return the first line of a plan's comment, by which it is found again."""
    name = "".join(
        each
        if each in _SAFE
        else "".join(f"%{byte:02X}" for byte in each.encode("utf-8", "surrogatepass"))
        for each in slug
    )
    return f"<!-- {_MARK}: {name} -->"


def code(text: str, longest: int) -> str:
    """Return a text of somebody else's as a code span that it cannot end, on one line."""
    line = visible(" ".join(text.split()))
    if len(line) > longest:
        line = line[: longest - 1].rstrip() + "…"
    # No second one of our first lines, whoever looks for one, and no end of a comment around it.
    line = _COMMENT_MARK.sub(lambda found: f"{found.group()} ", line)
    if not line:
        return "—"
    longest_run = max((len(run) for run in _TICKS.findall(line)), default=0)
    ticks = "`" * (longest_run + 1)
    pad = " " if longest_run else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _words(known: dict[str, str], word: str) -> str:
    """Return what we say for a word, and the word itself as somebody else's where it is new."""
    return known.get(word) or code(word, _NAME)


# -- the comment -----------------------------------------------------------------------------------


_VERDICTS = {
    "proved": "✅ **proved**: every step was red before the work and green after it",
    "holds": "✅ **holds**: everything is green, and some of it was not seen red before the work",
    "settled": "⚠️ **done, and not all of it proved**",
    "unfinished": "❌ **not done**",
}
_NOT_PROVED = (WaivedItem, AttestedItem, SkippedItem, ClaimedItem, UnsettledItem)
_TOLD_ABOVE = (*_NOT_PROVED, HeldItem, WithoutApproval, UnknownCost)
"""What has a place of its own: under what is not proved, with the approval, with the cost."""
_URGENCY = ("waived", "claimed", "skipped", "attested", "holds", "proved")
"""Which results are shown first, behind what is not settled at all."""
_KINDS = {"step": "", "precondition": "precondition ", "postcondition": "postcondition "}
_LEVEL = lazy_pattern(r"[EI][0-9]")
_NUMBER = lazy_pattern(r"[0-9]{1,6}")


def receipt_comment(run: PlanRun, *, commit: str | None, check: str) -> str:
    """Return the comment; `check` is the one command that checks the receipt."""
    head = [first_line(run.plan.slug), *_head(run, commit), ""]
    missing = _not_proved(run)
    remarks = [_approval(run), _cost(run), *_remarks(run)]
    foot = ["", f"Check it: {code(check, 300)}"]
    fixed = len(head) + len(missing) + 2 + 1 + len(remarks) + len(foot)
    table = _table(run.items, MOST_LINES - fixed)
    return "\n".join([*head, *missing, *table, "", *remarks, *foot]) + "\n"


def _head(run: PlanRun, commit: str | None) -> Iterator[str]:
    tree = run.tree.git_tree or run.tree.tree
    yield f"**Planbound** {code(run.plan.slug, _TITLE)}: {_words(_VERDICTS, run.outcome)}"
    places = [f"tree {code(tree[:12], 12)}"] if tree else ["**no tree**: the files were not kept"]
    if commit:
        places.append(f"commit {code(commit[:12], 12)}")
    places.append(f"plan {code(run.plan.digest[:12], 12)}, revision {run.plan.revision}")
    counts = run.counts
    settled = (("proved", counts.proved), ("holds", counts.holds), ("attested", counts.attested))
    others = (("claimed", counts.claimed), ("waived", counts.waived), ("skipped", counts.skipped))
    told = [f"{count} {word}" for word, count in (*settled, *others) if count]
    told += [f"**{counts.open} not done**"] if counts.open else []
    yield f"{' · '.join(places)} · {', '.join(told) or 'nothing'} of {counts.items}"


# -- what is not proved ----------------------------------------------------------------------------


def _not_proved(run: PlanRun) -> list[str]:
    """Return the part that comes first: what a reader must not take for proved."""
    found = [said for each in run.deviations if (said := _open_item(each, run.items)) is not None]
    green = [item for item in run.items if item.result == "holds" and item.kind == "step"]
    if green:
        count = "one step was" if len(green) == 1 else f"{len(green)} steps were"
        names = ", ".join(_number(item) for item in green[:8]) + (", …" if len(green) > 8 else "")
        found.append(f"{count} green before the work, or nobody looked: {names}")
    if not found:
        return []
    shown = found[:_MOST_OPEN]
    if len(found) > len(shown):
        shown[-1] = f"and {len(found) - len(shown) + 1} more"
    return ["**Not proved**", "", *(f"- {said}" for said in shown), ""]


def _open_item(deviation: Deviation, items: Sequence[RunItem]) -> str | None:
    """Return what is said of something that nobody proved; None where that is not so."""
    if not isinstance(deviation, _NOT_PROVED):
        return None
    told = words_of(deviation)
    return f"{_item(deviation.item, items)}: {_parts((*told.kind, *told.said))}"


def _parts(parts: Sequence[Part]) -> str:
    return "".join(map(_part, parts))


def _part(part: Part) -> str:
    match part:
        case Quoted(text=text, longest=longest):
            return code(text, longest)
        case Strong(text=text):
            return f"**{text}**"
        case str():
            return part


def _item(name: str, items: Sequence[RunItem]) -> str:
    """Return `step 2 "title"` for the item that a deviation names."""
    for item in items:
        if name == f"{item.kind} {item.number}":
            return f"{item.kind if item.kind in _KINDS else code(item.kind, _NAME)} {_title(item)}"
    return code(name, _NAME)


def _title(item: RunItem) -> str:
    return f"{_number(item)} {code(item.title, _TITLE)}"


def _number(item: RunItem) -> str:
    return item.number if _NUMBER.fullmatch(item.number) else code(item.number, _NAME)


# -- the table -------------------------------------------------------------------------------------


def _table(items: Sequence[RunItem], room: int) -> list[str]:
    """Return a row for each item; of a long plan the rows that matter most."""
    lines = ["| step | contract | verdict | evidence |", "| --- | --- | --- | --- |"]
    room = max(room, 2)
    shown = set(range(len(items)))
    if len(items) > room:
        ordered = sorted(shown, key=lambda index: (_urgency(items[index]), index))
        shown = set(ordered[: room - 1])
    lines += [_row(items[index]) for index in sorted(shown)]
    if len(shown) < len(items):
        rest = [items[index] for index in range(len(items)) if index not in shown]
        lines.append(_cells(f"and {len(rest)} more", "", _tally(rest), ""))
    return lines


def _urgency(item: RunItem) -> tuple[int, str]:
    place = _URGENCY.index(item.result) if item.result in _URGENCY else -1
    return place, item.evidence or ""


def _tally(items: Iterable[RunItem]) -> str:
    counts: dict[str, int] = {}
    for item in items:
        counts[item.result] = counts.get(item.result, 0) + 1
    named = [f"{count} {_part(result_word(result))}" for result, count in counts.items()]
    return ", ".join(named[:6])


def _row(item: RunItem) -> str:
    kind = _KINDS.get(item.kind)
    name = f"{code(item.kind, _NAME)} " if kind is None else kind
    return _cells(f"{name}{_title(item)}", _contract(item), _verdict(item), _evidence(item))


def _cells(*texts: str) -> str:
    """Return a row in which no pipe ends a cell: a table is cut before code is looked for."""
    # A backslash that stands before a pipe would take away the one that is put there.
    escaped = (text.replace("\\|", "\\ |").replace("|", "\\|") for text in texts)
    return f"| {' | '.join(escaped)} |"


def _contract(item: RunItem) -> str:
    if item.form == "probe":
        return "a look of the harness"
    if not item.command:
        return "none"
    return f"{'a person: ' if item.form == 'attest' else ''}{code(item.command, _COMMAND)}"


def _verdict(item: RunItem) -> str:
    said = _part(result_word(item.result))
    # `waived` hides what the contract said last: a reader wants both.
    if item.verdict and item.verdict not in {"pass", item.result}:
        said += f" ({code(item.verdict, _NAME)})"
    return said


def _evidence(item: RunItem) -> str:
    levels = [level for level in (item.evidence, item.isolation) if level]
    said = [level if _LEVEL.fullmatch(level) else code(level, _NAME) for level in levels]
    if item.baseline is not None:
        said.append("red before" if item.baseline.red else "not red before")
    return " · ".join(said) or "—"


# -- who approved, what it cost, and what else a reader has to know --------------------------------


def _approval(run: PlanRun) -> str:
    given = run.approval
    if given is None:
        return f"- Approved by **nobody**: {_parts(words_of(WithoutApproval()).said)}"
    how = code(given.method, _NAME)
    return f"- Approved by {code(given.by, _NAME)} ({how}, {code(given.strength, _NAME)})"


def _cost(run: PlanRun) -> str:
    """Return what was spent, as agents say: an attempt of which nobody knows is never nothing."""
    attempts = sum(agent.attempts for agent in run.agents)
    unknown = sum(agent.unknown for agent in run.agents)
    unknown = max([unknown, *(d.attempts for d in run.deviations if isinstance(d, UnknownCost))])
    if run.loop and not attempts:
        return "- Cost: **unknown**: an agent worked by itself, and nobody says what it used"
    if not attempts and not unknown:
        return "- Cost: no attempt of an agent is on record"
    if unknown >= attempts:
        return f"- Cost: **unknown**: no agent said what it used in {_count(unknown, 'attempt')}"
    tokens = sum(agent.tokens for agent in run.agents)
    said = f"- Cost: {tokens:,} tokens, {_dollars(run)}, as agents report it"
    if unknown:
        said += f"; **unknown** for {unknown} of {_count(attempts, 'attempt')}"
    return said


def _dollars(run: PlanRun) -> str:
    try:
        total = sum((Decimal(agent.dollars) for agent in run.agents), Decimal())
    except InvalidOperation:
        return "dollars **unknown**"
    if not total.is_finite() or not 0 <= total < Decimal(10**9):
        return "dollars **unknown**"
    return f"${total:.2f}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _remarks(run: PlanRun) -> list[str]:
    """Return a line for each kind of deviation, with how many there are and the first of them."""
    kinds: dict[str, list[str]] = {}
    for each in run.deviations:
        said = _remark(each)
        if said is not None:
            kinds.setdefault(said[0], []).append(said[1])
    lines = []
    for kind, all_named in kinds.items():
        named = list(dict.fromkeys(name for name in all_named if name))
        told = ", ".join(named[:3]) + (f", and {len(named) - 3} more" if len(named) > 3 else "")
        times = f" ({len(all_named)} times)" if len(all_named) > 1 else ""
        lines.append(f"- {kind}{times}{': ' if told else ''}{told}")
    if len(lines) > _MOST_REMARKS:
        # Not one is left out: the rest are named in one line.
        rest = list(kinds)[_MOST_REMARKS - 1 :]
        lines = [*lines[: _MOST_REMARKS - 1], f"- also: {'; '.join(rest)}"]
    return lines


def _remark(deviation: Deviation) -> tuple[str, str] | None:
    """Return a kind of deviation in our words, and what it is about."""
    if isinstance(deviation, _TOLD_ABOVE):
        return None
    told = words_of(deviation)
    said = _parts(told.said).removeprefix(": ").strip()
    item = code(told.item, _NAME) if told.item else ""
    return _parts(told.kind), f"{said} of {item}" if said and item else said or item


# -- what came of a check --------------------------------------------------------------------------


_HELD = {True: "✅", False: "❌", None: "–"}


def checks_table(lines: Iterable[tuple[str, bool | None, str]], *, hold: bool) -> str:
    """Return each check of a receipt as a row: its name, whether it holds, and why."""
    rows = [
        _cells(_HELD[held], code(name, _TITLE), code(words, 300)) for name, held, words in lines
    ]
    head = f"**Checked: it {'holds' if hold else 'does NOT hold'}**"
    return (
        "\n".join([head, "", "| | check | what was found |", "| --- | --- | --- |", *rows]) + "\n"
    )

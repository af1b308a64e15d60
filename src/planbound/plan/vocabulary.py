"""The words of the language, and the other words that people and models use for them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

DEFAULT_ROLES = frozenset(
    {"coder", "reviewer", "researcher", "tech-lead", "worker", "tester", "project-manager"}
)
"""The roles that a workspace without configuration has."""

# -- the nearest known word ----------------------------------------------------------------------


_FAR = 99


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that this one is most likely meant to be, if any is close."""
    folded = fold(word)
    if not folded or len(folded) > 40:
        return None
    # Among those that differ by as much, the one that is written more alike.
    scored = [(distance(folded, fold(name)), distance(word, name), name) for name in known]
    best, _, name = min(scored, default=(_FAR, 0, ""))
    return name if best <= max(1, len(folded) // 3) and best < len(fold(name)) else None


def fold(word: str) -> str:
    """Return a name without case, blanks, hyphens and underscores."""
    return "".join(character for character in word.casefold() if character.isalnum())


def distance(left: str, right: str) -> int:
    """Return the number of insertions, deletions, changes and swaps between two words."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


# -- the words of the language, and the other words that people and models use for them ----------


STEP_FIELDS = (
    "target",
    "depends",
    "subscriptions",
    "touches",
    "judges",
    "timeout",
    "contract_timeout",
    "budget",
    "baseline",
    "evidence",
    "repeat",
    "task",
    "contract",
    "rejects",
    "on_fail",
    "status",
)
CONDITION_FIELDS = (
    "contract",
    "rejects",
    "judges",
    "contract_timeout",
    "evidence",
    "repeat",
    "status",
)
REPEATED_FIELDS = frozenset({"rejects"})
"""What may be given more than once."""
PLAN_FIELDS = ("context", "budget", "priority", "status")

SHELL_TAGS = frozenset({"shell", "bash", "sh"})
"""Tags of fences that the harness runs as they are."""
NO_TABLE = "check-without-table"
"""What the parser calls a `check` that nothing follows."""
CHECK_TAG = "check"
"""The tag of a fence that holds a table of cases."""
SHELL_SYNONYMS = frozenset(
    "console terminal zsh shell-session shellsession sh-session text txt cmd command".split()
) | {""}
"""Tags that people and models put on shell commands."""

PLACEHOLDERS = ("TODO", "TBD", "FIXME", "XXX")
"""What a value that is still to be filled in begins with."""

SECTIONS = ("steps", "preconditions", "postconditions")

_OTHER_NAMES = {
    "depends": "dependencies dependency after requires needs blockedby",
    "subscriptions": "subscription subscribes inputs reads files contextfiles",
    "touches": "touch writes modifies filestomodify filestouched outputs scope",
    "judges": "judge judgedby testfiles",
    "timeout": "timelimit maxtime",
    "contract_timeout": "checktimeout",
    "budget": "limits cost",
    "task": "description instructions whattodo details action work prompt aufgabe tarea tâche "
    "tache tarefa compito 任务 任務 作業 タスク 작업 задача",
    "contract": "verification verify check checks test tests validation acceptance "
    "acceptancecriteria successcriteria doneif donewhen definitionofdone command vertrag "
    "contrato contrat contratto 合约 合同 契约 契約 コントラクト 계약 контракт",
    "rejects": "reject rejected mustreject negativecontrol controls",
    "on_fail": "onfailure onerror ifitfails fallback failure",
    "target": "role agent assignee who assignedto executor ziel rolle rol rôle 目标 角色 担当 роль",
    "status": "state progress",
    "context": "background objective goal summary motivation kontext contexto contexte 背景 上下文",
    "priority": "importance priorität prioridad priorité 优先级 優先度",
}
_OTHER_SECTIONS = {
    "steps": "step tasks plan planofsteps implementationsteps schritte étapes etapes pasos passos "
    "passaggi fasi 步骤 步驟 手順 ステップ 단계 шаги",
    "preconditions": "precondition prerequisites requirements vorbedingungen 前提条件 前置条件",
    "postconditions": "postcondition acceptancecriteria successcriteria definitionofdone "
    "verification finalchecks exitcriteria nachbedingungen postcondiciones 后置条件 後置条件 "
    "事後条件",
}


# Only another spelling, as in the title's `(depends on 1)`: read, and written right by `fmt`.
_VARIANTS = {"dependson": "depends", "onfailure": "onfail", "subscription": "subscriptions"}


def _reversed(table: dict[str, str]) -> dict[str, str]:
    return {fold(word): name for name, words in table.items() for word in words.split()}


_NAME_OF = _reversed(_OTHER_NAMES)
_SECTION_OF = _reversed(_OTHER_SECTIONS)

# Bold openings of ordinary sentences: inside a task they are the task's own words.
PROSE_LABELS = frozenset(
    fold(word)
    for word in (
        "note notes important warning caution hint hints tip tips example examples caveat remark "
        "why how what where when who rationale reason goal goals input inputs output outputs "
        "assumption assumptions constraint constraints requirement requirements do don't not "
        "background expected actual problem solution approach before after optional todo see "
        "result results deliverable deliverables scope risk risks question questions summary "
        "details reference references usage files steps hinweis wichtig beispiel achtung nota "
        "importante ejemplo remarque attention exemple 注意 备注 例 说明 重要"
    ).split()
)


@lru_cache(maxsize=1024)
def known_field(label: str, known: tuple[str, ...]) -> str | None:
    """Return the field that a label names, in any case and with blanks for underscores."""
    folded = fold(label)
    folded = _VARIANTS.get(folded, folded)
    return next((name for name in known if fold(name) == folded), None)


def suggest_field(label: str, known: tuple[str, ...]) -> str | None:
    """Return the field that a label is likely meant to be."""
    other = _NAME_OF.get(fold(label))
    return other if other in known else nearest(label, known)


def placeholder_in(text: str) -> str | None:
    """Return the placeholder that a text begins with, as `planbound new` writes them."""
    word = next((word for word in PLACEHOLDERS if text.startswith(word)), None)
    return word if word and not text[len(word) : len(word) + 1].isalnum() else None


def known_section(heading: str) -> str | None:
    """Return the section that a heading opens."""
    folded = fold(heading)
    return folded if folded in SECTIONS else None


def suggest_section(heading: str) -> str | None:
    """Return the section that a heading is likely meant to open."""
    return _SECTION_OF.get(fold(heading)) or nearest(heading, SECTIONS)

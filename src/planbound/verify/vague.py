"""Words that ask for something without saying what.

The lists here are maintained by hand. A task is vague when it holds one of the phrases, names
nothing concrete, and has hardly a word of its own besides `FILLERS`. When in doubt a task is
clear: a false alarm teaches people to ignore the rule.
"""

from __future__ import annotations

import re
from functools import cache

from planbound.source import lazy_pattern

MAX_LENGTH = 200
"""A longer task has said something about what it wants."""

_IMPROVE = "improve|improving|enhance|enhancing|increase|boost|optimize|optimise|optimizing"
_TIDY = (
    "clean up|cleanup|clean|tidy up|tidy|refactor|refactoring|restructure|rework|simplify|"
    "modernize|modernise"
)
_REPAIR = "fix|fixing|solve|resolve|address|repair"
_WRITE = "add|write|create|implement|build|do"
_ALTER = "update|adjust|adapt|change|modify|edit"
_FINISH = "finish|complete|finalize|finalise|continue"
_IT = "it|this|that|them|everything|things|stuff|rest"
_THING = (
    f"{_IT}|code|codebase|code base|system|app|application|project|program|site|website|"
    "implementation|module|logic|repo|repository|mess"
)
_TROUBLE = "bug|bugs|issue|issues|problem|problems|error|errors"
_NEEDED = "needed|necessary|required|appropriate|possible|applicable"
_QUALITY = (
    "performance|speed|quality|code quality|efficiency|readability|maintainability|robustness|"
    "reliability|stability|scalability|security|usability|structure|architecture|design|"
    "user experience|developer experience|ux|ui|ui/ux|ux/ui|look and feel|error handling|"
    "logging|documentation|docs|test coverage|coverage|tests|testing|workflow|functionality"
)
_BETTER = (
    "faster|quicker|better|nicer|cleaner|simpler|smarter|smoother|prettier|robust|efficient|"
    "secure|maintainable|readable|reliable|stable|scalable|usable|user-friendly|user friendly|"
    "production-ready|production ready"
)
_WORKS = "work|works|working|run|runs|running|pass|passes|passing|done|good|great|right|correct"

# A phrase is a row of choices. Articles and the like are taken out of a task before it is
# compared.
VAGUE = (
    (_IMPROVE, f"{_QUALITY}|{_THING}"),
    (_TIDY, _THING),
    (f"{_IMPROVE}|{_TIDY}", "as|where|wherever|if|when", _NEEDED),
    ("make", f"{_THING}|page|pages|ui|tests", _BETTER),
    ("make", f"{_THING}|page|pages|ui|tests", "more", _BETTER),
    ("handle|cover|consider", "edge cases|corner cases|special cases"),
    (
        "various|general|minor|misc|miscellaneous|further",
        "improvements|fixes|changes|tweaks|enhancements|updates|cleanups|refactoring",
    ),
    ("polish|polishing|refine|fine-tune|finetune|streamline|beautify|revamp|overhaul",),
)
"""What stays vague when one or two words say of what: improve performance of the parser."""

EMPTY = (
    ("clean up|cleanup|tidy up",),
    ("make|get|make sure|ensure", f"{_THING}|tests", f"{_WORKS}|work better|work well"),
    ("get", f"{_THING}|tests", "to work|to pass|to run"),
    ("make sure|ensure", f"{_THING}|tests", "is|are", _WORKS),
    (_REPAIR, f"{_TROUBLE}|{_IT}"),
    (_REPAIR, "remaining|outstanding|open|various|minor|small|known|other", _TROUBLE),
    ("handle", "errors|exceptions"),
    ("handle", _THING, "gracefully|properly|correctly|appropriately"),
    (_WRITE, "error handling|tests|testing|documentation|docs|comments|logging"),
    (_WRITE, "necessary|missing|required|appropriate|proper|more", "tests|code|logic|docs"),
    (_WRITE, f"{_IT}|feature|functionality|thing|work|needful|same"),
    (_ALTER, f"{_THING}|files|docs|tests|documentation"),
    (_ALTER, "accordingly|as needed|where needed|as necessary|as required"),
    ("make|do|apply|perform|implement", f"{_NEEDED}|relevant", "changes|work|steps|updates"),
    ("make", "changes|improvements|adjustments|updates|tweaks|refinements"),
    ("small|some|other", "improvements|fixes|changes|tweaks|enhancements|updates"),
    (_FINISH, f"{_THING}|work|feature|task"),
    ("continue|carry on|keep going|take care of it|take care of rest",),
    ("best practices",),
    ("as|where|wherever|if|when", _NEEDED),
    ("etc|and so on|and so forth|and more|and like",),
    ("tbd|tba|todo|fixme|to be determined|to be defined|to be decided|to be specified",),
    ("see|as|same as", "above|before|below|title|discussed|described|mentioned"),
)
"""What is vague only when nothing else is said: add tests."""

MAX_OWN_WORDS = {"vague": 2, "empty": 0}

# Articles, pronouns, prepositions, auxiliaries.
_GLUE = (
    "a an the this that these those it its our your my their we you i them they us some any "
    "all every each and or but also then so of in on for to with by from at as into across "
    "over through throughout is are be was were will shall should must can could may might "
    "do does please just not no yes where when if while here there everywhere out up"
)
# How and how much.
_DEGREE = (
    "overall general generally whole entire complete current existing remaining necessary "
    "needed required possible appropriate more most much better very really quite bit little "
    "further other others various several many etc again properly correctly accordingly well "
    "good nice nicer clean cleaner fast faster simple simpler quick quicker easy easier "
    "efficient robust new old sure way ways"
)
# Nouns that fit everything.
_NOUNS = (
    "code codebase base project system application app program software repo repository "
    "module modules component components file files thing things stuff implementation logic "
    "functionality feature features function functions method methods class classes part "
    "parts area areas place places side work works working change changes issue issues bug "
    "bugs problem problems error errors test tests testing doc docs documentation comment "
    "comments performance speed quality structure design architecture readability "
    "maintainability efficiency reliability stability security usability robustness look "
    "feel ui ux user users experience developer improvement improvements fixes"
)
# Verbs that fit everything.
_VERBS = (
    "improve enhance optimize optimise refactor refactoring fix cleanup tidy polish update "
    "updates make makes making add adds review check use apply follow todo tbd"
)
FILLERS = frozenset(f"{_GLUE} {_DEGREE} {_NOUNS} {_VERBS}".split())
"""Words that say nothing about what is wanted."""

_IGNORED = frozenset(
    ("a", "an", "the", "our", "your", "my", "their", "all", "any", "every", "overall", "whole")
)

# Names that are written like code and are none, and one that is written like a verb.
_NAMES = lazy_pattern(
    r"\b(?:JavaScript|TypeScript|CoffeeScript|GitHub|GitLab|PostgreSQL|MySQL|NoSQL|GraphQL|"
    r"OpenAPI|FastAPI|PyTorch|NumPy|DevOps|macOS|iOS|iPhone|LaTeX|WebSocket|YouTube|OAuth|"
    r"Node\.js|Vue\.js|Next\.js|React\.js|ASP\.NET)\b"
)
_LANGUAGE = lazy_pattern(r"(?<=\w )Polish\b")
_PAIRS = lazy_pattern(
    r"\b(?:and/or|ui/ux|ux/ui|either/or|ci/cd|i/o|read/write|input/output|client/server|"
    r"front-?end/back-?end|try/catch|before/after|yes/no|on/off|he/she|bugs?/issues?|"
    r"issues?/bugs?|errors?/exceptions?|tests?/docs?|docs?/tests?)\b",
    re.IGNORECASE,
)
_CONCRETE = lazy_pattern(
    r"""
      \d                                  # a number
    | \w/ | /\w | \w\\\w                  # a path
    | \b\w{2,}\.\w                        # a file, a dotted name
    | (?<!\S)\.[a-z]\w                    # a dotfile
    | \w_\w | \b_\w                       # an_identifier
    | [a-z][A-Z] | \w\( | ::              # camelCase, a call(), a::scope
    | (?<!\S)--?[a-zA-Z]\w                # an --option
    | \]\(                                # a link
    | @\w | \#\w | \w=\w | [<>]           # a name, an issue, an assignment, a comparison
    | ["“”„«»‘]                           # quoted text
    | (?<!\w)'[^'\n]+'(?!\w)
    | \b(?:README|CHANGELOG|LICENSE|CONTRIBUTING|Makefile|Dockerfile|Justfile|Rakefile|Gemfile)\b
    """,
    re.VERBOSE,
)
_WORD = lazy_pattern(r"[^\W_]+(?:['’/-][^\W_]+)*")


def vague_phrase(task: str) -> str | None:
    """Return the phrase that makes a task vague; None for a task that says what it wants."""
    if len(task) > MAX_LENGTH or "`" in task:
        return None
    text = _LANGUAGE.sub("language", _NAMES.sub("", task))
    words = [word for word in _WORD.findall(text.casefold()) if word not in _IGNORED]
    line = " ".join(words)
    phrase = _phrase()
    found = list(phrase.finditer(line))
    if not found or _CONCRETE.search(_PAIRS.sub("", text)):
        return None
    rest = phrase.sub(" ", line).split()
    own = sum(word not in FILLERS for word in rest)
    allowed = max(MAX_OWN_WORDS[match.lastgroup or "empty"] for match in found)
    return found[0].group() if own <= allowed else None


def _alternatives(phrases: tuple[tuple[str, ...], ...]) -> str:
    return "|".join(" ".join(f"(?:{choice})" for choice in row) for row in phrases)


@cache
def _phrase() -> re.Pattern[str]:
    # Compiled when the first short task is looked at: it takes longer than all the others.
    return re.compile(
        rf"\b(?:(?P<vague>{_alternatives(VAGUE)})|(?P<empty>{_alternatives(EMPTY)}))\b"
    )

"""Which files the words of a step tell it to change, where it has no `touches`.

What a step is judged by may be changed only by one that is told to: by its `touches`, or, where it
has none, by its task. Careful: "make `tests/test_x.py` pass" tells nobody to change the test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from msgspec import Struct

from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import Step
from planbound.source import lazy_pattern

# -- which files the words of a step name as what it writes --------------------------------------


NEAR = 240
"""How many characters before and behind a path say something about it."""

MAX_JUDGED = 100
"""So many mentions of a step are read with the words around them; what comes then is written."""

MAX_DEPTH = 16
"""Paths with more names are looked at as whole paths only."""

_CODE = r"(?<!`)(?P<ticks>`{1,2})(?!`)(?P<code>[^`\n]+)(?P=ticks)(?!`)"
_LINK = r"\[[^\]\n]{0,200}\]\((?P<link>[^)\s]{1,400})\)"
# Without code marks: what has a slash, or ends like a file.
_BARE = (
    r"(?<![\w/.:@`-])(?P<bare>(?:[\w.@+-]+/)+(?:[\w.@+*-]*[\w*])?"
    r"|[\w@+-]+(?:\.[\w@+-]+)*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w(]))"
)
_MENTION = lazy_pattern(f"{_CODE}|{_LINK}|{_BARE}")
_PATH = lazy_pattern(r"(?:\./)?[^\s`'\"<>|;$=()]+")
_LINES = lazy_pattern(r"(?:#L?|:)\d+(?:[-:]L?\d+)?$", re.ASCII)
_DOTTED = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_ITEM = lazy_pattern(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_END = lazy_pattern(r"[.!?;](?=\s|$|[*_)\"])|\n[ \t]*\n|\n(?=[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t])")
_HOLE = "\0"
"""Stands for a path while the words around it are looked at."""


def _verbs(text: str) -> str:
    """Return a pattern for some verbs, each with its endings: write, writes, writing."""
    # Verbs that end alike share their endings: the pattern is compiled at each start.
    silent, changing, plain = [], [], []
    for verb in text.split():
        if verb.endswith("e"):
            silent.append(verb[:-1])
        elif verb.endswith("y") and verb[-2] not in "aeou":
            changing.append(verb[:-1])
        else:
            plain.append(verb)
    kinds = (
        (silent, "(?:e[sd]?|ing)"),
        (changing, "(?:y(?:ing)?|ie[sd])"),
        (plain, "(?:e?s|ed|ing)?"),
        ([f"{verb}{verb[-1]}" for verb in plain], "(?:ed|ing)"),
    )
    return "|".join(f"(?:{'|'.join(stems)}){endings}" for stems, endings in kinds if stems)


_MAKE = (
    r"(?:(?:re-?)?(?:"
    + _verbs(
        "write create add save generate produce make build introduce implement define declare "
        "place put store record document emit dump export draft scaffold append update edit "
        "change fill list summarise summarize describe note log collect capture report sketch "
        "design reproduce cover lay bootstrap initialise initialize populate replace centralise "
        "centralize consolidate gather encapsulate port fix extend adapt touch modify deliver "
        "provide"
    )
    + r"|written|wrote|made|built|set(?:s|ting)?\sup)"
    # "leave `x` alone" and "drop `x`" are no such thing; "leave your notes in `x`" is.
    r"|(?:leav(?:e|ing)|drop(?:ping)?)(?=\s[^.\0]*\s(?:in|into|at|under)\s)|hand(?:ing)?\sin"
    r"|new\s(?:file|module|package|page|script|document|class|helper)s?|outputs?|deliverables?"
    r"|results?|findings?|notes?|summary|write-?up|inventory|answers?|conclusions?|artifacts?"
    r"|called|named)"
)
_CARRY = (
    "(?:"
    + _verbs(
        "move rename extract split copy convert migrate pull lift factor break turn transform "
        "relocate merge hoist isolate separate translate"
    )
    + ")"
)
# What is looked at is there already: the thing itself, and what is further on in the sentence.
_LOOK = (
    r"(?:(?:re-?)?read(?:ing)?|see(?!\sto\b)|look(?:ing)?|study(?:ing)?|consult(?:ing)?|load(?:ing)?"
    r"|pars(?:e|ing)|(?<!the\s)follow(?:ing)?|respect(?:ing)?|obey(?:ing)?|(?:go|work|walk)\s(?:through|over)|familiari[sz]e|skim(?:s|med)?|inputs?"
    r"|references?|refer(?:s|red|ring)?|see\salso|sources?(?=:)|start(?:s|ing)?\s(?:with|from)"
    r"|begin(?:s|ning)?\s(?:with|from)|stick\sto)"
)
# Only the thing itself is looked at, left alone or taken away.
_HANDLE = (
    "(?:"
    + _verbs(
        "open inspect review examine scan grep search delete remove drop revert run execute call "
        "invoke keep leave ignore skip check verify validate audit understand compare analyse "
        "analyze investigate debug"
    )
    + ")"
)
# Words that point at a text: what they name is there already.
_POINT = (
    r"(?:(?:refer(?:s|red|ring)?|accord(?:ing|s)|similar|relat(?:ed|ive)|adher(?:e|ing)|identical"
    r"|conform(?:s|ing)?|correspond(?:s|ing)?|appl(?:y|ies)|due|thanks|equivalent)\sto"
    r"|compar\w+(?:\s[^\s\0]+){0,8}?\s(?:with|to|against)|based\s(?:up)?on|out\sof|rely(?:ing)?\son"
    r"|us(?:e|es|ed|ing)|via|against|(?<!the\s)following|per|like|unlike|from|of|about|than|besides?|next\sto"
    r"|for|\w+(?:ed|en|wn)\sby|(?:same|just|such|exactly)\sas|as\sin|as\s\w+\s(?:in|by)"
    r"|(?<!,\s)(?:mentioned|outlined|specified|given|(?<!be\s)found|shown|explained|identified|described"
    r"|stated|listed|named|called|laid\sdown|laid\sout|set\sout|prescribed|agreed)\s(?:in|by|on)"
    r"|(?<!so\s)that|which|what|where|how)"
)
# Whoever imports a module may be the one who is to write it.
_MAYBE = r"(?:import(?:s|ed|ing)?(?:\s\S+){0,6}?\sfrom|(?:defined|documented|implemented)\sin)"
_NO = (
    r"(?:n['’]t|\b(?:without|not|cannot|never|no\sneed\sto|avoid|instead\sof|rather\sthan|nor"
    r"|refrain\sfrom|stop|no))"
)
_INTO = r"(?:into|onto|to|in|at|under|below|inside|within|→|->|=>|➜|new\shome)"
_KIND = (
    r"(?:the|a|an|its|our|both|each|all|existing|current|old|new|own|single|one|this|these|those|that"
    r"|any|every|other|same|separate|dedicated|fresh|small|shared|common|whole|entire|top-level"
    r"|file|files|module|modules|package|packages|page|pages|script|scripts|folder|folders|directory"
    r"|directories|document|documents|test|tests|code|content|contents|path|class|config|configuration"
    r"|python|markdown|json|yaml|toml|sql|source|sources|part|parts|copy|version|versions|name"
    r"|called|named|and|or|and/or|&|,|:|\(|\*+|_+|\"|“|'|‘|-|–|—|\0)"
)
_GAP = rf"(?:[\s]*{_KIND}(?=[\s\0,:(*_\"“'‘]|$))*\s*$"
_CUE = lazy_pattern(
    rf"(?P<no>{_NO}(?:\s(?!\0)\S+){{0,2}}?\s(?:{_MAKE}|{_CARRY}|be\s\w+))\b"
    rf"|\b(?P<maybe>{_MAYBE})(?!\w)|\b(?P<point>{_POINT})(?!\w)"
    rf"|(?P<into>(?<![\w-]){_INTO}(?![\w-]))"
    rf"|\b(?<!\bthe\s)(?P<make>{_MAKE})\b|\b(?P<carry>{_CARRY})\b|\b(?P<look>{_LOOK})(?!\w)"
    rf"|\b(?P<handle>{_HANDLE})\b",
)
_NEAR = lazy_pattern(_GAP)
# What stands behind a path, and says that it is made, or that it is not.
_AUXILIARY = r"(?:is|are|gets?|will|should|must|shall|can|has|needs?|to|do|does|then|now|be|also)\s"
_MADE = lazy_pattern(
    rf"[\s*_)\"”]*(?:(?:{_AUXILIARY})*exists?\b|(?:{_AUXILIARY})+(?:newly\s)?(?:{_MAKE})\b)",
)
_LEFT = lazy_pattern(
    r"[\s*_,)\"”]*(?:and\s\0\s)*(?:\(?read[- ]only"
    r"|(?:(?:must|should|shall|may|can|will|is|are|be|do|does|to)\s)*"
    r"(?:not|never|n['’]t|cannot)\b(?!\s(?:there|yet|exist))"
    r"|(?:(?:must|should|shall|to|is|are|both)\s)*"
    r"(?:stays?|remains?|left|kept|keeps?|alone|untouched|unchanged|unmodified|intact"
    r"|as[- ](?:it\s)?is\b|as\sthey\sare)"
    r"|as\s(?:an?\s|the\s|your\s|our\s)?(?:reference|guide|guideline|model|template|example"
    r"|spec|specification|starting\spoint|input|basis|background|context|source|blueprint"
    r"|inspiration)"
    r"|for\s(?:context|reference|background|details?|inspiration|guidance|the\sformat|how|more"
    r"|an?\sexample))",
)
_AS = lazy_pattern(r"\b(?:as|like|what|how|where)\s+(?:the\s+)?$")
_SAYS = lazy_pattern(
    r"[\s*_]*(?:says?|does|do|describes?|shows?|specif(?:y|ies)|demands?|requires?|defines?|names?"
    r"|explains?|lists?|prescribes?|has|states?|wants?)\b",
)
_USE = frozenset({"use", "uses", "used", "using"})
_NEW = lazy_pattern(r"\bnew\b")
_INSIDE = frozenset({"in", "at", "under", "below", "inside", "within"})
_NOT_THERE = lazy_pattern(rf"{_NO}\s(?:\w+\s){{0,2}}$")
_BUT = lazy_pattern(r"\bbut\b")
_GLOB = lazy_pattern(r"[*?{\[]")
_BETWEEN = lazy_pattern(r"[\s/]+")
_NEW_HOME = lazy_pattern(
    r"[\s*_]*(?:as|for)\s(?:its?|the|a|an|our)\s(?:\w+\s){0,2}?(?:home|target|destination|output|file|module|place)",
)


class Named(Struct, frozen=True):
    """A path in the words of a step."""

    path: str
    is_made: bool
    """By a word that says so; else nothing says that it is not."""


class Mention(Struct, frozen=True):
    """A piece of text that may be a path, with the words before and behind it."""

    text: str
    is_code: bool
    before: str
    behind: str
    is_item: bool = False
    """Whether it is all that there is in an item of a list."""
    lead: str = ""
    """What introduces that list: `Create these:`."""


def mentions(text: str) -> Iterator[Mention]:
    """Yield every piece of a text that may be a path, or is a command."""
    if _MENTION.search(text) is None:
        return  # most titles, and many a task
    lead = ""
    for sentence in _sentences(text):
        is_item = _ITEM.match(sentence)
        words, found = _with_holes(sentence)
        for mention, hole in found:
            before = words[max(0, hole - NEAR) : hole]
            if is_item and lead and hole < NEAR:
                before = f"{lead[-NEAR:]} {before[is_item.end() :]}"
            name = (mention["code"] or mention["link"] or mention["bare"]).strip()
            behind = words[hole + 1 : hole + 1 + NEAR]
            alone = bool(is_item) and not words.replace(_HOLE, "").strip(
                " \t\n-*+•[]xX0123456789.)"
            )
            yield Mention(name, bool(mention["code"]), before, behind, alone, lead)
        if not is_item:
            lead = words.strip() if words.rstrip().endswith((":", ":**", ":*")) else ""


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences and list items; a full stop inside code marks ends none."""
    covered = _MENTION.sub(lambda found: re.sub(r"[.!?;]", "_", found.group()), text)
    start = 0
    for match in _END.finditer(covered):
        yield text[start : match.start()]
        start = match.end()
    yield text[start:]


def _with_holes(sentence: str) -> tuple[str, list[tuple[re.Match[str], int]]]:
    """Return a sentence with a hole for each mention, and the mentions with their holes."""
    words: list[str] = []
    found: list[tuple[re.Match[str], int]] = []
    length = last = 0
    for match in _MENTION.finditer(sentence):
        between = sentence[last : match.start()]
        words += [between, _HOLE]
        found.append((match, length + len(between)))
        length += len(between) + 1
        last = match.end()
    words.append(sentence[last:])
    return "".join(words), found


def _written(mention: Mention, *, is_judged: bool) -> Iterator[Named]:
    """Yield what a mention says is written: a path, or what a command writes."""
    text = mention.text
    if " " in text:
        from planbound.script import read_script  # noqa: PLC0415 - few tasks hold a command
        from planbound.script.tree import FileUse  # noqa: PLC0415 - few tasks hold a command

        for reference in read_script(text).files:
            if reference.use is FileUse.WRITTEN:
                yield Named(reference.path, is_made=True)
        return
    if not _PATH.fullmatch(text) or "://" in text:
        return
    is_made = _judge(mention.before, mention.behind) if is_judged else None
    if is_made is False:
        return
    text = _LINES.sub("", text)
    yield Named(text, is_made=bool(is_made))
    if mention.is_code and _DOTTED.fullmatch(text):
        yield Named(f"{text.replace('.', '/')}.py", is_made=False)
        yield Named(f"{text.replace('.', '/')}/__init__.py", is_made=False)


def _judge(before: str, behind: str) -> bool | None:
    """Say whether a path is made; None where nothing is said about it."""
    # In small letters: patterns that do not ask for the case compile in a fraction of the time.
    before, behind = before.lower(), behind.lower()
    if _LEFT.match(behind) or (_AS.search(before) and _SAYS.match(behind)):
        return False
    if _MADE.match(behind):
        return True
    match _nearest(before)[0]:
        case "make":
            return True
        case "use":
            return None if _NEW_HOME.match(behind) else False
        case "no" | "look" | "point" | "carry" | "handle":
            return False
        case _:
            return None


def _nearest(before: str) -> tuple[str, str]:
    """Return what the words before a path say about it, and by which: the nearest decide."""
    before = _BUT.split(before)[-1]
    inside = len(before)
    for match in reversed(list(_CUE.finditer(before))):
        name, word = match.lastgroup or "", match.group()
        is_near = bool(_NEAR.match(before, match.end(), inside))
        if name == "into":
            if is_near and word not in _INSIDE:
                is_not = _NOT_THERE.search(before, 0, match.start())
                return ("no" if is_not else "make"), word
            inside = match.start() if is_near else inside
        elif name == "point" and is_near and not _has_own(before, match.end(), inside):
            if word in _USE:
                return ("" if _NEW.search(before, match.end()) else "use"), word
            return name, word
        elif name in {"no", "make", "look", "maybe"}:
            return name, word
        elif name in {"carry", "handle"}:
            return (name if is_near and inside == len(before) else ""), word
    return "", ""


def _has_own(before: str, start: int, inside: int) -> bool:
    """Say whether a word points at a path that stands before the `in` of another one."""
    return inside < len(before) and _HOLE in before[start:inside]


def _stems(path: str) -> Iterator[str]:
    """Yield the names of a path without their endings, and the words of a command."""
    for part in _BETWEEN.split(path):
        yield part.lstrip(".").partition(".")[0]
        yield part.rpartition(".")[2]


class NamedFiles:
    """Which steps name a file as what they write; knows only of the files that are asked for."""

    def __init__(self, wanted: Iterable[str]) -> None:
        names = (name for path in wanted for name in path.split("/"))
        self.stems = {name.lstrip(".").partition(".")[0] for name in names}
        self.files: dict[str, list[int]] = {}
        """By path, or by the end of one: the steps that name it."""
        self.folders: dict[str, list[int]] = {}
        """By folder, or by some names of a path: the steps that write below it."""
        self.globs: dict[str, tuple[Glob, list[int]]] = {}

    def take(self, place: int, texts: Iterable[str]) -> None:
        """Note what the words of a step name."""
        judged = 0
        for text in texts:
            for mention in mentions(text):
                if _GLOB.search(mention.text) or not self.stems.isdisjoint(_stems(mention.text)):
                    judged += 1
                    for named in _written(mention, is_judged=judged <= MAX_JUDGED):
                        self._note(place, named)

    def _note(self, place: int, named: Named) -> None:
        path = named.path.removeprefix("./")
        if _GLOB.search(path):
            try:
                glob = parse_glob(path)
            except GlobError:
                return
            self.globs.setdefault(path, (glob, []))[1].append(place)
            return
        name = path.rstrip("/")
        if not path.endswith("/"):
            self.files.setdefault(name, []).append(place)
        if named.is_made and (path.endswith("/") or "." not in name.rsplit("/", 1)[-1]):
            self.folders.setdefault(name, []).append(place)

    def of(self, path: str) -> set[int]:
        """Return the steps that could write a file."""
        found = {*self.files.get(path, ())}
        names = path.split("/")
        if len(names) <= MAX_DEPTH:
            for start in range(len(names)):
                found.update(self.files.get("/".join(names[start:]), ()))
                for end in range(start + 1, len(names)):
                    found.update(self.folders.get("/".join(names[start:end]), ()))
        for glob, places in self.globs.values():
            if glob.matches(path):
                found.update(places)
        return found


# -- which files the words of a step tell it to change, where it has no `touches` ----------------


_CLOSES = lazy_pattern(
    r"\b(?:not|never|nobody|no|nor|none|forbidden|avoid|instead|rather|refrain|without|only"
    r"|untouched|unchanged|stays?|remains?|keep\w*|leave|must|should|shall|pass(?:es|ing)?|green"
    r"|succeeds?|until|goes\sthrough|stops?\sfailing|describ\w+|expect\w*|according|judged|tested|checked|covered|cheat\w*|off.limits)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words of a sentence that is no plain order: where one of them stands, nothing is opened."""
_ORDERS = lazy_pattern(
    r"(?:^\s*|[\n:;.]\s*|,\s*|\b(?:and|then|also)\s+|[-*]\s+|\d[.)]\s+)"
    r"(?P<verb>remove|rename|replace|refactor|reproduce|(?:re-?)?(?:write|create|add|append|extend"
    r"|update|edit|change|modify|adapt|port|introduce|scaffold|generate|move|split|convert|migrate"
    r"|translate|delete|correct|simplify|clean\s+up|drop))\s+(?P<object>[^\0]*?)$",
    re.IGNORECASE,
)
"""An order at the beginning of a clause, with what stands between its verb and the path."""
_ITSELF = lazy_pattern(
    r"(?:(?:the|a|an|new|all|these|following|file|files|module|tests?|folder|existing|both)[:\s]*)*",
    re.IGNORECASE,
)
_TEST_IN_IT = lazy_pattern(
    r"[^\0]*?\b(?:tests?|cases?|imports?)\b[^\0]*?\b(?:to|in|into|from|of)\s+(?:the\s+)?(?:file\s+)?",
    re.IGNORECASE,
)
_MORE_PATHS = lazy_pattern(r"(?:\0\s*(?:,|and)\s*)+$")
_ITS_NAME = lazy_pattern(r"(?<=test),?\s*\0,?\s*(?=(?:in|to|into)\s)")
_PUTS = frozenset({"add", "append", "remove", "delete", "drop"})
_ELSEWHERE = lazy_pattern(r"\s*(?:to|from|into)\b", re.IGNORECASE)
"""Behind a name that is put on a list, or taken from it: the file itself stays as it is."""
_GREEN = lazy_pattern(
    r"\b(?:pass(?:es|ing)?|green|succeeds?|works?|again|until|goes\sthrough|stops?\sfailing)\b",
    re.IGNORECASE,
)
_BATCH = lazy_pattern(
    r"\b(?:migrat|updat|convert|port|rewrit|chang|edit|renam|refactor|modif|adapt|translat|creat"
    r"|writ|add)\w*\b[^.\0]*\b(?:files?|modules?|tests?|them|batch|these|following)\b",
    re.IGNORECASE,
)
# What stands between a verb and the tests: "update the imports, docs and tests".
_GAP_TASK_SCOPE = (
    r"(?:(?:the|all|any|every|each|its|their|our|both|existing|affected|old|new|unit|integration|"
    r"relevant|remaining|regression|failing|missing|more|some|a|an|one|two|three|few|end-to-end|"
    r"focused|matching|corresponding|pytest|thorough|comprehensive)\s|[\w`/.-]+(?:,|\sand)\s){0,8}"
)
_TESTS = r"(?:tests?|test\s(?:files?|suite|cases?|modules?|coverage))\b(?!\s(?:pass|are\sgreen))"
_ADDS_TESTS = lazy_pattern(
    r"(?<!not\s)(?<!n't\s)\b(?:writ(?:e|ing)|add(?:ing)?|creat(?:e|ing)|implement(?:ing)?"
    rf"|provid(?:e|ing)|extend(?:ing)?|reproduc(?:e|ing)\s[^.\n]{{0,80}}?\b(?:with|by|in))\s{_GAP_TASK_SCOPE}"
    rf"{_TESTS}",
    re.IGNORECASE,
)
_CHANGES_TESTS = lazy_pattern(
    r"(?:^\s*|[\n:;.,]\s*|\b(?:and|then|also)\s+|[-*]\s+|\d[.)]\s+)(?:update|adapt|adjust|migrate"
    rf"|convert|port|rewrite|rename|refactor|change|modify|correct)\s{_GAP_TASK_SCOPE}{_TESTS}",
    re.IGNORECASE,
)
_SPECIAL = lazy_pattern(r"[*?\[{]")
_SENTENCES = lazy_pattern(r"(?<=[.!?;])\s|\n\n")
_GOES_ON = lazy_pattern(
    r"\s*(?:$|[.,;:)\0]|(?:accordingly|for|of|in|into|to|and|as|by|from|so|that|using|which|with)\b)",
    re.IGNORECASE,
)
"""What may stand behind what is changed: anything else may be said of it."""
_TEST_PLACES = (
    *("tests/**", "test/**", "**/tests/**", "**/test/**", "spec/**", "**/spec/**"),
    *("**/__tests__/**", "**/test_*", "**/*_test.*", "**/*.test.*", "**/*.spec.*", "**/*_spec.*"),
)


class TaskScope(Struct, frozen=True):
    """What a step may change of its judges, by its words."""

    named: tuple[Glob, ...] = ()
    """What it is told to change."""
    added: tuple[Glob, ...] = ()
    """Where it is told to add something, and may change nothing that is there."""


def task_scope(step: Step) -> TaskScope:
    """Return what the title and the task of a step tell it to change."""
    prose = tuple(each.text for each in (step.task, step.notes) if each is not None)
    return _told((step.title, *prose))


@lru_cache(maxsize=8192)
def _told(texts: tuple[str, ...]) -> TaskScope:
    named = [glob for text in texts for path in _paths(text) for glob in _globs(path)]
    if any(map(_changes_tests, texts)):
        named.extend(_test_places())
    added = _test_places() if any(_ADDS_TESTS.search(text) for text in texts) else ()
    return TaskScope(tuple(named), added)


@cache
def _test_places() -> tuple[Glob, ...]:
    return tuple(parse_glob(each) for each in _TEST_PLACES)


def _paths(text: str) -> Iterator[str]:
    for mention in mentions(text):
        if " " not in mention.text and _is_told(mention, text):
            yield mention.text.removeprefix("./")


def _is_told(mention: Mention, text: str) -> bool:
    """Say whether somebody is plainly ordered to change a file: where in doubt, nobody is."""
    if _CLOSES.search(mention.before) or _CLOSES.search(mention.behind):
        return False
    if mention.is_item and not mention.lead:
        # A bare list, such as `expand` writes below a task: what was said before is about it.
        said = text.partition(mention.text)[0]
        return bool(_BATCH.search(said)) and not _GREEN.search(said)
    before = _ITS_NAME.sub(" ", _MORE_PATHS.sub("", mention.before))
    order = _ORDERS.search(before)
    if order is None or not _GOES_ON.match(mention.behind):
        return False
    between = order["object"]
    if _TEST_IN_IT.fullmatch(between):
        return True
    is_put = order["verb"].lower() in _PUTS and _ELSEWHERE.match(mention.behind)
    return not is_put and _ITSELF.fullmatch(between) is not None


def _changes_tests(text: str) -> bool:
    """Say whether a sentence is a plain order to change tests, whichever they are."""
    for sentence in _SENTENCES.split(text):
        found = _CHANGES_TESTS.search(sentence)
        if found and not _CLOSES.search(sentence) and _GOES_ON.match(sentence[found.end() :]):
            return True
    return False


def _globs(path: str) -> Iterable[Glob]:
    name = path.rstrip("/")
    if _SPECIAL.search(name) and "/" not in name:
        return  # an operator, or a pattern of anything
    is_folder = path.endswith("/") or "." not in name.rpartition("/")[2]
    for text in (name, f"{name}/**") if is_folder else (name,):
        try:
            yield parse_glob(text)
        except GlobError:
            continue

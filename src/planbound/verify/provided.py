"""Which programs a plan brings along by itself: what a step writes or installs is missing now.

Generous where nobody can know: who is refused for a program that the work would have brought has
lost more than who is told of a missing one by its run.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import Code, Condition, Step
from planbound.script import Call, Script, read_script
from planbound.script.tree import FileUse, words
from planbound.source import lazy_pattern
from planbound.verify.subject import ContractCase, Subject

# -- which programs a plan brings along by itself: what a step writes or installs is missing now -


_ANY = "any"
"""What is installed is known to nobody: a recipe, a version manager."""
_SYSTEM = "system"
_FAMILIES = {
    **dict.fromkeys(
        words("pip pip3 uv poetry pdm pipenv hatch rye pipx conda mamba pixi"), "python"
    ),
    **dict.fromkeys(words("npm pnpm yarn bun"), "node"),
    **dict.fromkeys(words("gem bundle composer cargo go rustup dotnet mix"), "other"),
    **dict.fromkeys(
        words("apt apt-get apk dnf yum pacman zypper brew port snap nix-env choco"), _SYSTEM
    ),
    **dict.fromkeys(words("make gmake just task rake mise asdf devbox nix corepack"), _ANY),
}
_VERBS = words("install i add get sync ci clean-install require update upgrade it init create")
_TARGETS = words("install setup deps dependencies bootstrap init tools venv env develop enable dev")
_ALONE = words("yarn bundle")
"""What installs without being told to."""
_ALL = words("sync ci clean-install")
_OF_PROJECTS = words("poetry pdm pipenv bundle composer mix hatch")
"""What installs all that is declared where it is told to install."""
_VALUED = words(
    "-r -c -e -C -G -w --requirement --constraint --group --extra --with --without --only --prefix"
    " --directory --project --filter --workspace --python -p --index-url --target -t --path"
)
_MANIFESTS = {
    "python": words(
        "pyproject.toml setup.py setup.cfg requirements.txt requirements-dev.txt Pipfile"
    ),
    "node": words("package.json"),
}
_ALIASES = {
    "django-admin": "django",
    "http": "httpie",
    "nest": "@nestjs/cli",
    "ng": "@angular/cli",
    "playwright": "@playwright/test",
    "biome": "@biomejs/biome",
    "py.test": "pytest",
    "tsc": "typescript",
    "tsserver": "typescript",
}
_LONGEST = 2000
"""So many characters of a sentence are looked at."""
_INTERPRETERS = words("python python3 pip pip3")
_INLINE = lazy_pattern(r"(`+)(.+?)\1", re.DOTALL)
_SENTENCE = lazy_pattern(r"(?<=[.;!?])\s+|\n\s*\n|\n(?=\s*[-*\d])")
_SETUP = lazy_pattern(r"(?:^|/)(?:setup|bootstrap|install)[\w.-]*$")
_INSTALLS = r"\b(?:install|set up|bring in|download|vendor)(?:s|ed|ing)?\b"
_SETS_UP = r"\bset(?:ting)? up\b[^.;\n]{0,80}?\bwith\b.{0,80}?"
_DECLARES = r"\b(?:add|declare|pin|list|put|write|create|include|depend(?:s)? on)(?:s|ed|ing)?\b"
_MAKES = r"\b(?:write|create|build|implement|add|generate|compile|provide|make)(?:s|ing)?\b"
_BETWEEN = r"(?:(?!\b(?:with|using|via|through|run|running|then|so|that|until|by)\b).){0,160}?"
_WHOLE = lazy_pattern(
    r"(?i)\b(?:install|sync|set(?:ting)? up|bootstrap)(?:s|ed|ing|ping)?\b[^.;\n]{0,60}"
    r"\b(?:dependenc|requirements|packages|environment|toolchain|tooling|tools|virtualenv|venv)"
)
_DEPENDENCY = lazy_pattern(
    r"(?i)dependenc|requirements|\bpackages?\b|pyproject|package\.json|gemfile|cargo\.toml"
)
_PROGRAM = r"(?:command|program|script|tool|binary|executable|wrapper|utility|cli|entry point)"


def place_of(subject: Subject, case: ContractCase) -> int:
    """Return the place of the last step that is done before a contract is judged; or -1."""
    before = any(case.owner is condition for condition in subject.plan.preconditions)
    return -1 if before else case.place


class Providers:
    """What the steps of a plan bring, each from its place on."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._makers: dict[str, int] = {}

    def provides(self, name: str, place: int) -> bool:
        """Say whether the steps up to a place bring a program; before the first is -1."""
        return self._first_maker(name) <= place or self._installs(name, place)

    def _first_maker(self, name: str) -> int:
        """Return the place of the first that installs or writes a program, as `provides` counts."""
        if name not in self._makers:
            made = (place for place, source in enumerate(self._sources) if source.makes(name))
            self._makers[name] = next(made, len(self._sources)) - 1
        return self._makers[name]

    def _installs(self, name: str, place: int) -> bool:
        """Say whether what is declared, or may be declared on the way, is installed."""
        declared: Mapping[str, frozenset[str]] = self._subject.facts.declared
        families, changed = self._synced[min(place + 1, len(self._synced) - 1)]
        return any(
            family not in declared
            or family in changed
            or any(is_of(name, package) for package in declared[family])
            for family in families
        )

    @cached_property
    def _synced(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        """By place: whose packages are installed up to there, and whose list may be another."""
        found = []
        families, changed = frozenset[str](), frozenset[str]()
        for source in self._sources:
            families |= source.families
            changed |= {family for family, lists in _MANIFESTS.items() if source.changes(lists)}
            found.append((families, changed))
        return found

    @cached_property
    def _sources(self) -> list[_ProvidingStep]:
        """What every new worktree gets, and then the steps."""
        subject = self._subject
        scripts = {id(case.owner): case.script for case in subject.contracts}
        return [
            _ProvidingStep("", list(subject.facts.setup), None, []),
            *(
                _ProvidingStep.of(
                    step, scripts.get(id(step)), [glob.text for glob in subject.touches(step)]
                )
                for step in subject.plan.steps
            ),
        ]


class _ProvidingStep:
    """One step, as far as it brings programs."""

    def __init__(
        self, prose: str, code: list[str], contract: Script | None, touches: list[str]
    ) -> None:
        self._prose = prose
        self._code = code
        self._contract = contract
        self._touches = touches

    @classmethod
    def of(cls, step: Step, contract: Script | None, touches: list[str]) -> _ProvidingStep:
        task = step.task
        prose = f"{step.title}\n\n{task.text if task else ''}"
        code = [match[2].strip() for match in _INLINE.finditer(prose)]
        code += [part.text for part in task.parts if isinstance(part, Code)] if task else []
        return cls(prose, code, contract, touches)

    @cached_property
    def _calls(self) -> list[Call]:
        scripts = [read_script(text) for text in self._code if _may_install(text)]
        found = [call for script in scripts for call in script.calls]
        return found + list(self._contract.calls if self._contract else ())

    @cached_property
    def _packages(self) -> dict[str, list[str]]:
        """By family what is installed by name; empty where it is all that is declared."""
        found: dict[str, list[str]] = {}
        for call in self._calls:
            for family, packages in _installed(call):
                found.setdefault(family, []).extend(packages or [""])
        return found

    @cached_property
    def families(self) -> frozenset[str]:
        """Return whose declared packages the step installs."""
        whole = {_ANY} if _WHOLE.search(self._prose) else set[str]()
        packages = self._packages.items()
        return frozenset(
            whole | {name for name, each in packages if name != _SYSTEM and "" in each}
        )

    @cached_property
    def _paths(self) -> set[str]:
        return {text for text in (*self._code, *self._touches) if not re.search(r"\s", text)}

    def changes(self, manifests: Iterable[str]) -> bool:
        """Say whether the step names one of these files as what it touches or works on."""
        return any(path.rpartition("/")[2] in manifests for path in self._paths)

    def makes(self, name: str) -> bool:
        """Say whether the step installs a program by name, or writes it."""
        if self._named and any(is_of(name, package) for package in self._named):
            return True
        if name in self._written:
            return True
        alias = _ALIASES.get(name)
        if name not in self._prose and (alias is None or alias not in self._prose):
            return False
        return any(_brings(part[:_LONGEST], name) for part in _SENTENCE.split(self._prose))

    @cached_property
    def _named(self) -> list[str]:
        return [package for found in self._packages.values() for package in found if package]

    @cached_property
    def _written(self) -> set[str]:
        return {path.rpartition("/")[2] for path in self._paths if "/" in path}


def is_of(name: str, package: str) -> bool:
    """Say whether a program likely comes with a package: `sphinx-build` with `sphinx`."""
    own, of = _normal(name), _normal(package.rpartition("/")[2])
    alias = _ALIASES.get(name)
    return (
        own == of
        or own.startswith(f"{of}-")
        or of.startswith(f"{own}-")
        or of.endswith(f"-{own}")
        or package.startswith(f"@{own}/")
        or (alias is not None and package in {alias, alias.rpartition("/")[2]})
    )


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).strip("-").lower()


def _may_install(text: str) -> bool:
    """Say whether it is worth while to read code as a command."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return "\n" in text or "&" in text or first in _FAMILIES or "venv" in text or _is_setup(first)


def _is_setup(program: str) -> bool:
    return _SETUP.search(program) is not None


def _installed(call: Call) -> Iterator[tuple[str, list[str]]]:
    """Yield what a call installs, and whose that is."""
    names = [word.value or "" for word in (*call.wrappers, call.word) if word is not None]
    operands = [word.value or "" for word in call.operands(_VALUED)]
    if "venv" in names or "virtualenv" in names or operands[:1] == ["venv"]:
        yield "python", list(_INTERPRETERS)
    program = names[-1] if names else ""
    family = _FAMILIES.get(program)
    if _is_setup(program) or (operands and program in {"bash", "sh"} and _is_setup(operands[0])):
        yield _ANY, []
    elif family == _ANY:
        if operands and not _TARGETS.isdisjoint(operands[:2]):
            yield _ANY, []
    elif family is not None:
        if not operands and program in _ALONE:
            yield family, []
        verb = next((at for at, word in enumerate(operands[:3]) if word in _VERBS), None)
        if verb is not None:
            packages = [_package(word) for word in operands[verb + 1 :] if _is_package(word)]
            whole = operands[verb] in _ALL or (
                program in _OF_PROJECTS and operands[verb] == "install"
            )
            yield family, [*packages, ""] if whole else packages


def _is_package(word: str) -> bool:
    return not word.startswith((".", "/", "$")) and not word.endswith((".txt", ".toml", ".yml"))


def _package(word: str) -> str:
    scope, slash, rest = word.rpartition("/")
    name = re.split(r"[=<>@\[~!;]", rest, maxsplit=1)[0]
    return f"{scope}{slash}{name}" if scope.startswith("@") else name


def _brings(sentence: str, name: str) -> bool:
    """Say whether a sentence tells to install a program, to declare it, or to write it."""
    known = "|".join(re.escape(each) for each in {name, _ALIASES.get(name, name)})
    own = rf"(?<![\w./-])(?:{known})(?![\w/-])"
    if re.search(rf"(?is){_INSTALLS}{_BETWEEN}{own}|{_SETS_UP}{own}", sentence):
        return True
    if _DEPENDENCY.search(sentence) and re.search(rf"(?is){_DECLARES}.{{0,200}}?{own}", sentence):
        return True
    quoted = rf"[`\"']*{own}[`\"']*"
    called = rf"\b{_PROGRAM}s?(?:\s+(?:named|called))?\s+{quoted}"
    return (
        re.search(rf"(?is){_MAKES}{_BETWEEN}(?:{quoted}\s+{_PROGRAM}\b|{called})", sentence)
        is not None
    )


# -- which files the work makes, as far as the plan says -----------------------------------------


_NAME = lazy_pattern(r"[\w.+@~-]+")


class FileMakers:
    """Who could make a file first. A step has its place in the plan, a precondition has -1."""

    def __init__(self, subject: Subject) -> None:
        self.known: dict[str, int] = {}
        self.never = len(subject.plan.steps) + 1
        self.before = {id(condition) for condition in subject.plan.preconditions}
        self.artifacts = {item.value for item in subject.plan.frontmatter.expected_artifacts}
        self.mentioned: dict[str, int] = {}
        """By file name: the first step that speaks of it."""
        self._take_words(subject)
        self.written: dict[str, int] = {}
        """By path: the first contract that writes it."""
        for case in subject.contracts:
            for reference in case.script.files:
                if reference.use is FileUse.WRITTEN:
                    place = self.place(case.owner, case.place)
                    self.written.setdefault(reference.path, place)
        self.products = sorted(self.written)
        self.globs: dict[str, list[tuple[int, Glob]]] = {}
        """By the directory that a pattern starts with, as far as it is literal."""
        self._take_touches(subject)
        self.prefixes = sorted(self.globs)

    def _take_words(self, subject: Subject) -> None:
        for place, step in enumerate(subject.plan.steps):
            for text in (step.title, *(part.text for part in (step.task, step.notes) if part)):
                for name in _NAME.findall(text):
                    self.mentioned.setdefault(name.rstrip("."), place)

    def _take_touches(self, subject: Subject) -> None:
        seen: set[str] = set()
        for place, step in enumerate(subject.plan.steps):
            for glob in subject.touches(step):
                if glob.text not in seen:
                    seen.add(glob.text)
                    prefix = "".join(f"{name}/" for name in glob.literal_prefix)
                    self.globs.setdefault(prefix, []).append((place, glob))

    def place(self, owner: Step | Condition, index: int) -> int:
        """Return the place of a contract."""
        return -1 if id(owner) in self.before else index

    def first(self, path: str) -> int:
        """Return the place of the first that could make a file."""
        if path not in self.known:
            self.known[path] = min(self._places(path), default=self.never)
        return self.known[path]

    def _places(self, path: str) -> Iterator[int]:
        if path in self.artifacts:
            yield 0
        mentioned = self.mentioned.get(path.rsplit("/", 1)[-1].rstrip("."))
        if mentioned is not None:
            yield mentioned
        yield from self._writing(path)
        yield from self._touching(path)

    def _writing(self, path: str) -> Iterator[int]:
        """Yield who writes the path, something above it, or something below it."""
        names = path.split("/")
        for length in range(1, len(names) + 1):
            place = self.written.get("/".join(names[:length]))
            if place is not None:
                yield place
        yield from (self.written[each] for each in _starting_with(self.products, f"{path}/"))

    def _touching(self, path: str) -> Iterator[int]:
        names = path.split("/")
        below = _below(path)
        for length in range(len(names)):
            prefix = "".join(f"{name}/" for name in names[:length])
            for place, glob in self.globs.get(prefix, ()):
                if glob.matches(path) or (below and glob.intersects(below)):
                    yield place
        # What starts with the path is the path itself, or below it.
        for prefix in _starting_with(self.prefixes, f"{path}/"):
            yield from (place for place, _ in self.globs[prefix])


def _below(path: str) -> Glob | None:
    try:
        return parse_glob(f"{path}/**")
    except GlobError:
        return None


def _starting_with(texts: list[str], start: str) -> Iterator[str]:
    """Yield those of sorted texts that start so."""
    for index in range(bisect_left(texts, start), len(texts)):
        if not texts[index].startswith(start):
            return
        yield texts[index]


# What can be the name of a file in a sentence: no slash, no quotation mark, no blank.

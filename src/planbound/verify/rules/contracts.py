"""Faults of contracts that cannot be run as they are written: PB601 to PB699."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice

from planbound.plan.model import (
    Command,
    Wrapping,
)
from planbound.plan.vocabulary import SHELL_SYNONYMS
from planbound.script.known_programs import (
    asks_service,
    faults_of,
    fetches,
    grep_patterns,
    is_basic,
)
from planbound.script.tree import Script
from planbound.script.waiting import how_not_to_ask, why_endless
from planbound.source import INVISIBLE, Finding, Severity, Source, Span, hides_nothing, visible
from planbound.verify.provided import Providers, place_of
from planbound.verify.subject import (
    Subject,
    Writing,
    Written,
    plain_contracts,
    rule,
    shell_contracts,
    shortened,
    written_contracts,
)


@rule("PB601", Severity.ERROR)
def shell_syntax(subject: Subject) -> Iterable[Finding]:
    """A contract is not valid shell.

    ## What it does
    Reports a command that bash cannot parse, with bash's own words.

    ## Why it matters
    The contract would end as `unrunnable` after the agent has been paid: nothing that the agent does
    can make it pass.

    ## Example
    ```shell
    test "$(grep -c total src/invoice.py -ge 1
    ```

    ## Instead
    ```shell
    test "$(grep -c total src/invoice.py)" -ge 1
    ```
    """
    for case in (*plain_contracts(subject), *subject.started):
        fault = subject.facts.syntax.get(case.command.text)
        if fault is not None:
            message = f"the shell cannot read this command: {visible(fault.message)}"
            hint = "check that quotes, brackets, `if` and `for` are closed"
            yield Finding(_line(case.command, fault.line), message, hint)


def _line(command: Command, number: int) -> Span:
    """Return the place of a line, counted from 0, without the blanks around it."""
    lines = command.text.split("\n")
    number = min(number, len(lines) - 1)
    line = lines[number]
    start = sum(len(before) + 1 for before in lines[:number])
    blank = len(line) - len(line.lstrip())
    return command.locate(start + blank, start + max(blank, len(line.rstrip())))


@rule("PB602", Severity.WARNING, strict=Severity.ERROR)
def missing_tool(subject: Subject) -> Iterable[Finding]:
    """A contract calls a program that is not installed.

    ## What it does
    Reports each program that a contract needs and that is not on the PATH of contracts: what
    `[contracts] path` names, the project's own environment, and the system's folders. Programs that
    the contract installs or looks for itself, that `npx`, `uv run` and the like bring along, or that
    this step or one before it installs or writes, are not reported: a task or contract that says
    `uv sync` or `npm install` brings what the project declares, `pip install ruff` brings `ruff`, and
    "add `ruff` to the dev dependencies" does, too.

    ## Why it matters
    The contract would end as `unrunnable`, and nothing that the agent does in the workspace makes it
    pass. So it cannot be approved, except with `--missing-tools`.

    ## Example
    ```shell
    pytset tests/billing
    ```

    ## Instead
    ```shell
    pytest tests/billing
    ```
    """
    missing = subject.facts.missing_tools
    if not missing:
        return
    providers = Providers(subject)
    for case in (*plain_contracts(subject), *subject.started):
        place = place_of(subject, case)
        for tool in case.script.tools:
            if tool.name in missing and not providers.provides(tool.name, place):
                message = f"there is no program `{visible(tool.name)}` on PATH"
                other = subject.facts.elsewhere.get(tool.name)
                hint = "install it, or check the spelling"
                if other is not None:
                    hint = (
                        f"contracts have a PATH of their own; yours has `{visible(other)}`:"
                        " name its folder in `[contracts] path`"
                    )
                yield Finding(case.command.locate(tool.start, tool.end), message, hint)


@rule("PB603", Severity.ERROR)
def prose_contract(subject: Subject) -> Iterable[Finding]:
    """A contract is a sentence instead of a command.

    ## What it does
    Reports a contract with a line of prose where a shell command is expected.

    ## Why it matters
    The harness runs contracts. A sentence cannot be run, so the step could never be proved.

    ## Example
    ```shell
    All tests pass and the code is clean
    ```

    ## Instead
    ```shell
    pytest -q && ruff check src
    ```
    """
    for written in written_contracts(subject):
        if written.writing is not Writing.PROSE:
            continue
        command = written.case.command
        start, end = written.prose
        shown = shortened(command.text[start:end])
        message = f"found the sentence `{shown}`; expected a shell command"
        hint = (
            "write the command that shows it, such as `pytest -q`; "
            'what only a person can judge is `**contract:** attest "..."`'
        )
        yield Finding(command.locate(start, end), message, hint)


@rule("PB604", Severity.ERROR)
def command_prefix(subject: Subject) -> Iterable[Finding]:
    """Something that is not part of the command stands before it.

    ## What it does
    Reports a label such as `bash:` or `shell:` and the prompt of a console, `$ ` or `> `, in front
    of a command.

    ## Why it matters
    The harness hands the text to the shell as it is: `bash: pytest` calls a program named `bash:`.

    ## Example
    ```shell
    $ pytest -q
    ```

    ## Instead
    ```shell
    pytest -q
    ```
    """
    for written in written_contracts(subject):
        for prefix in written.prefixes:
            message = f"found `{prefix.text}` in front of the command; expected only the command"
            place = written.case.command.locate(prefix.start, prefix.start + len(prefix.text))
            yield Finding(place, message, "run `planbound fmt` to remove it")


@rule("PB605", Severity.ERROR)
def watch_mode(subject: Subject) -> Iterable[Finding]:
    """A contract starts something that does not end by itself.

    ## What it does
    Reports test runners and compilers that watch for changes, servers in the foreground, and commands
    that follow a file. In the background, or under `timeout`, they are fine.

    ## Why it matters
    The contract would run into its time limit every time. The verdict would be `timeout`, whatever the
    agent does.

    ## Example
    ```shell
    npx vitest
    ```

    ## Instead
    ```shell
    npx vitest run
    ```
    """
    for case in shell_contracts(subject):
        for call in case.script.calls:
            endless = why_endless(call)
            if endless is None or call.name in case.script.functions:
                continue
            shown = shortened(case.script.text[call.start : call.end])
            message = f"`{shown}` {endless.does}; expected a command that ends by itself"
            yield Finding(case.command.locate(call.start, call.end), message, endless.hint)


@rule("PB606", Severity.ERROR)
def interactive_command(subject: Subject) -> Iterable[Finding]:
    """A contract waits for a person at a keyboard.

    ## What it does
    Reports editors, pagers, consoles without a program, and commands that ask: `git rebase -i`,
    `git commit` without a message, `rm -i`, `docker exec -it`, `read` without input.

    ## Why it matters
    Contracts have no terminal and an empty input. Such a command fails, or ends at once without
    having done anything.

    ## Example
    ```shell
    git commit
    ```

    ## Instead
    ```shell
    git commit -m "Round once"
    ```
    """
    for case in shell_contracts(subject):
        if case.script.broken:
            continue  # where the input comes from is not known
        for call in case.script.calls:
            hint = how_not_to_ask(call)
            if hint is None or call.name in case.script.functions:
                continue
            shown = shortened(case.script.text[call.start : call.end])
            message = f"`{shown}` waits for a person, but a contract has no terminal and no input"
            yield Finding(case.command.locate(call.start, call.end), message, hint)


MAX_FINDINGS = 5

# As text: `re` compiles and keeps them when the first plan has a character that is not ASCII.
_HIDDEN = rf"{INVISIBLE.pattern}|[\ufe00-\ufe0f]"
_BLANK = "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
_TYPOGRAPHIC = "[‘’‚‛“”„‟«»–—]"
_ANY = f"{_HIDDEN}|{_BLANK}|{_TYPOGRAPHIC}"
_DASHES = "–—"
_DOUBLE = "“”„‟«»"
# What may be skipped as a whole: escaped characters, quoted text, comments.
_SKIPPED = r"(?s)\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|(?<!\S)#[^\n]*"


@rule("PB611", Severity.ERROR)
def invisible_character(subject: Subject) -> Iterable[Finding]:
    """A command holds characters that look like other characters, or cannot be seen.

    ## What it does
    Reports control characters, zero-width and bidirectional characters and variation selectors in
    commands and expectations, and in commands no-break spaces and the quotes and dashes that chat
    programs and word processors make of `"`, `'` and `-`. At most five for each contract.

    ## Why it matters
    The approver reads one command and the shell gets another. A no-break space is part of a word, and
    `“` quotes nothing.

    ## Example
    ```shell
    grep -q “total amount” src/invoice.py
    ```

    ## Instead
    ```shell
    grep -q "total amount" src/invoice.py
    ```
    """
    source = subject.plan.source
    if hides_nothing(source.text):
        return
    for written in written_contracts(subject):
        yield from islice(_contract(written, source.text), MAX_FINDINGS)


def _contract(written: Written, source: str) -> Iterator[Finding]:
    command = written.case.command
    shell = written.writing in {Writing.SHELL, Writing.PREFIXED}
    if re.search(_ANY, command.text):
        found = dict(_hidden(command.text))
        if shell:
            found.update(_lookalikes(written.case.script))
        for offset in sorted(found):
            yield Finding(command.locate(offset, offset + 1), *found[offset])
    for item in command.expectations:
        text = source[item.span.start : item.span.end]
        for offset, (message, hint) in _hidden(text):
            start = item.span.start + offset
            yield Finding(Span(start, start + 1), message, hint)


def _hidden(text: str) -> Iterator[tuple[int, tuple[str, str]]]:
    for match in re.finditer(_HIDDEN, text):
        yield match.start(), (f"found the invisible character {_name(match[0])}", "delete it")


def _lookalikes(script: Script) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield blanks that are none, and quotes and dashes that the shell does not know."""
    text = script.text
    for match in re.finditer(_BLANK, text):
        yield match.start(), (f"found {_name(match[0])}; expected a plain blank", "type it anew")
    plain = re.sub(_SKIPPED, lambda skipped: "\0" * len(skipped[0]), text)
    for match in re.finditer(_TYPOGRAPHIC, plain):
        offset = match.start()
        if any(start <= offset < end for start, end in script.heredocs):
            continue
        before, after = text[:offset][-1:], text[offset + 1 :][:1]
        if match[0] in _DASHES:
            if (not before or before.isspace()) and (after.isalpha() or after in _DASHES):
                yield offset, (f"found {_name(match[0])}; expected `-`", "type it anew")
        elif _is_edge(before) or _is_edge(after):
            quote = '"' if match[0] in _DOUBLE else "'"
            yield offset, (f"found {_name(match[0])}; expected `{quote}`", "type it anew")


def _is_edge(character: str) -> bool:
    return not character or character.isspace() or character in "=();&|"


def _name(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"0x{code - 0xDC00:02X}, a byte that is not UTF-8"
    unnamed = {"Cc": "CONTROL CHARACTER", "Cs": "LONE SURROGATE"}
    name = unicodedata.name(character, unnamed.get(unicodedata.category(character), "UNASSIGNED"))
    return f"U+{code:04X} {name}"


@rule("PB612", Severity.ERROR)
def malformed_contract(subject: Subject) -> Iterable[Finding]:
    """A contract has a part that cannot be read.

    ## What it does
    Reports text after a command that is not an expectation, a second command, and an attestation
    without a statement.

    ## Why it matters
    A part that cannot be read is not checked. An expectation with a typing error would silently demand
    nothing.

    ## Example
    ```markdown
    **contract:**
    `pytest -q`
    exit code should be zero
    ```

    ## Instead
    ````markdown
    **contract:**
    ```shell
    pytest -q
    ```
    exit_code == 0
    ````
    """
    return subject.faults.get("malformed-contract", ())


_FENCE_IT = "run `planbound fmt` to put it into a `shell` fence"


@rule("PB613", Severity.WARNING)
def contract_not_fenced(subject: Subject) -> Iterable[Finding]:
    """A command stands outside a `shell` fence.

    ## What it does
    Reports a command that is inline code, indented code or bare text, and a fence whose tag is empty
    or another word for shell, such as `console` or `text`.

    ## Why it matters
    A fence shows where a command starts and ends, and Markdown changes nothing inside it.

    ## Example
    ```markdown
    **contract:** `pytest -q`
    ```

    ## Instead
    ````markdown
    **contract:**
    ```shell
    pytest -q
    ```
    ````
    """
    for written in written_contracts(subject):
        command = written.case.command
        if command.wrapping is not Wrapping.FENCE:
            if written.writing is Writing.PROSE:
                continue  # there is no command to put anywhere
            message = f"the command is {command.wrapping.value}; expected a `shell` fence"
            yield Finding(command.span, message, _FENCE_IT)
        elif command.language in SHELL_SYNONYMS:
            tag = f"the tag `{command.language}`" if command.language else "no tag"
            message = f"the fence of the command has {tag}; expected `shell`"
            yield Finding(opening(subject.plan.source, command), message, _FENCE_IT)


def opening(source: Source, command: Command) -> Span:
    """Return the line that opens a command's fence."""
    line = source.line_span(source.position(command.span.start)[0] - 1)
    text = source.text[command.span.start : line.end]
    return Span(command.span.start + len(text) - len(text.lstrip()), line.end)


_INTERPRETERS = {
    "python": "python -",
    "py": "python -",
    "python3": "python -",
    "js": "node -",
    "javascript": "node -",
    "mjs": "node --input-type=module -",
    "ruby": "ruby -",
    "rb": "ruby -",
    "perl": "perl -",
    "php": "php",
    "lua": "lua -",
    "sql": "sqlite3 DATABASE",
    "fish": "fish",
    "powershell": "pwsh -Command -",
    "pwsh": "pwsh -Command -",
}


@rule("PB614", Severity.ERROR)
def contract_language(subject: Subject) -> Iterable[Finding]:
    """A contract is written in another language than shell.

    ## What it does
    Reports a command in a fence with the tag of another language: `python`, `js`, `yaml`, ...

    ## Why it matters
    The harness hands every contract to the shell, which would read the program as commands.

    ## Example
    ````markdown
    ```python
    assert total() == 3
    ```
    ````

    ## Instead
    ````markdown
    ```shell
    python - <<'EOF'
    from billing import total
    assert total() == 3
    EOF
    ```
    ````
    """
    for written in written_contracts(subject):
        if written.writing is not Writing.FOREIGN:
            continue
        command = written.case.command
        message = f"the fence of the command has the tag `{command.language}`; expected `shell`"
        program = _INTERPRETERS.get(command.language)
        hint = "contracts are shell: write a command and tag its fence `shell`"
        if program:
            hint = f"contracts are shell: start it with `{program} <<'EOF'` and end it with `EOF`"
        yield Finding(opening(subject.plan.source, command), message, hint)


_BEFORE = (
    "install it before the run (`[worktrees] setup` does it for every worktree), or say"
    " `[contracts] network = true`"
)


_SIGNED_IN = "say `[contracts] network = true`, and name the variable of its token in `env`"


@rule("PB616", Severity.WARNING)
def needs_network(subject: Subject) -> Iterable[Finding]:
    """A contract fetches something, and contracts have no network.

    ## What it does
    Reports calls that download: installers (`pip install`, `npm ci`, `uv sync`, ...), programs that are
    fetched to be run (`uvx`, `npx` of what is not in `node_modules`, `uv run` where the project has no
    environment yet), runners that make their environments anew (`tox`, `nox`), `git clone` and `curl`
    of another host, and what asks a service such as GitHub (`gh`, `glab`). With `[contracts] network =
    true` nothing is reported.

    ## Why it matters
    Contracts run without a network, so that what they say depends on the workspace alone. The contract
    would end as `unrunnable`, and nothing that the agent does makes it pass.

    ## Example
    ```shell
    npm ci && npm test
    ```

    ## Instead
    Install before the run, by hand or with `[worktrees] setup`, and let the contract use what is there:
    ```shell
    npm test
    ```
    """
    if subject.facts.network:
        return
    for case in shell_contracts(subject):
        for call in case.script.calls:
            text = case.script.text[call.start : call.end]
            if call.optional or call.name in case.script.functions:
                continue
            asks = asks_service(call, text)
            facts = subject.facts
            if asks or fetches(
                call,
                text,
                node_programs=facts.node_programs,
                has_environment=facts.has_environment,
            ):
                message = f"`{shortened(text)}` needs the network, and contracts have none"
                hint = _SIGNED_IN if asks else _BEFORE
                yield Finding(case.command.locate(call.start, call.end), message, hint)


_PLAIN = "for the character itself write it without the backslash, or use `grep -F`"
_EXTENDED = "for the operator use `grep -E`, without the backslash"
_HOW_GREP_READS = f"{_PLAIN}; {_EXTENDED}"


@rule("PB640", Severity.ERROR)
def escaped_in_grep(subject: Subject) -> Iterable[Finding]:
    r"""A backslash in a pattern of plain `grep` makes an operator, where a character is meant.

    ## What it does
    Looks at the patterns of `grep` and `git grep` without `-E`, `-F` and `-P`. There `\(` begins a
    group, `\{` a repetition, `\+` repeats what stands before it, and `\|` begins an alternative: the
    other way round than with `-E`. It reports a group that does not end (then `grep` fails whatever the
    file holds), a group right behind a name, such as `main\(\)`, a `\{` that is no repetition, a `\+`
    with nothing to repeat, and an empty alternative, which every line matches. Groups that are used as
    groups, `\(a\|b\)`, `\(ab\)*`, `\(.\)\1`, are fine.

    ## Why it matters
    `grep -q 'def total\(' x.py` can never pass: it ends with `Unmatched ( or \(`. And
    `grep -q 'main\(\)' x.py` passes without a parenthesis in the file.

    ## Example
    ```shell
    grep -q 'def total\(' src/invoice.py && make test
    ```

    ## Instead
    ```shell
    grep -q 'def total(' src/invoice.py && make test
    ```
    """
    for case in shell_contracts(subject):
        if case.script.broken:
            continue
        for call in case.script.calls:
            if not is_basic(call):
                continue
            for word in grep_patterns(call):
                fault = next(faults_of(word.value or ""), None)
                if fault is not None:
                    message = (
                        f"in plain `grep`, `{fault.part}` in `{shortened(word.value or '')}`"
                        f" {fault.what}"
                    )
                    yield Finding(
                        case.command.locate(word.start, word.end), message, _HOW_GREP_READS
                    )


RULES = (
    shell_syntax,
    missing_tool,
    prose_contract,
    command_prefix,
    watch_mode,
    interactive_command,
    invisible_character,
    malformed_contract,
    contract_not_fenced,
    contract_language,
    needs_network,
    escaped_in_grep,
)

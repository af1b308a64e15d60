"""Shell commands as data."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.script import Call, FileUse, Script, read_script
from planbound.script.call import MAXIMUM_DEPTH, MAXIMUM_LENGTH, find_prefixes, without_prefixes
from planbound.script.runners import may_run_tests
from planbound.script.status import Reason, deciding_calls, why_unfailing
from tests.examples import examples
from tests.tables import one_fact

COMMANDS = [
    "pytest tests/billing -x",
    "test \"$(grep -c '^- src/' docs/rounding.md)\" -ge 1",
    "cd web && npm ci && npx vitest run src/a.test.ts",
    "grep -q 'foo' a.txt && ! grep -q bar b.txt || exit 1",
    "if [ -f x ]; then echo a; elif test -d y; then b; else exit 1; fi > out.txt",
    "set -euo pipefail\nruff check src\nmypy src\npytest -q 2>&1 | tee log.txt | tail -5",
    "cat <<EOF | grep -q x && echo é\nhi $(date) ${x:-1}\nEOF\ntest -s a.md",
    "bash -c 'grep -q \"ü\" a.txt; cd x && ./run.sh' &",
    'for f in *.py; do python "$f" || exit 1; done; while read -r l; do echo $l; done < a.txt',
    "case $(uname) in Linux) make;; *) exit 1;; esac",
    '[[ "$(cat x)" =~ ^foo.*$ && ! -e y ]] || { echo no >&2; exit 1; }',
    'f() { local x=$1; (cd "$x"; make); }; f a; diff <(sort a) <(sort b)',
    "x=$(( $(wc -l < f) + 1 )); (( x > 3 )); arr=(a b); echo ${arr[@]} $'a\\n' \"\\$x\"",
    "find . -name '*.py' -print0 | xargs -0 -n 1 python -m py_compile",
    "curl -fsS http://localhost:8000 | jq -e '.ok' > /dev/null",
]


def names(text: str) -> list[str | None]:
    return [call.name for call in read_script(text).calls]


def only(text: str) -> Call:
    (call,) = read_script(text).calls
    return call


def values(call: Call) -> list[str | None]:
    return [word.value for word in call.arguments]


def files(text: str) -> list[tuple[str, FileUse]]:
    return [(each.path, each.use) for each in read_script(text).files]


def needed(text: str) -> set[str]:
    return {each.path for each in read_script(text).files if not each.optional}


def tools(text: str) -> list[str]:
    return [tool.name for tool in read_script(text).tools]


# -- calls -------------------------------------------------------------------------------------


def test_a_command_has_a_name_arguments_and_its_place() -> None:
    text = "  pytest -q tests/a.py"
    call = only(text)
    assert (call.name, values(call)) == ("pytest", ["-q", "tests/a.py"])
    assert text[call.start : call.end] == "pytest -q tests/a.py"
    assert [text[word.start : word.end] for word in call.arguments] == ["-q", "tests/a.py"]


@one_fact(
    ("written", "value"),
    [
        ("a.txt", "a.txt"),
        ("'a b'", "a b"),
        ('"a b"', "a b"),
        ("a\\ b", "a b"),
        ('"a\\"b"', 'a"b'),
        ('"a\\nb"', "a\\nb"),
        ("'a\\b'", "a\\b"),
        ("a'b'\"c\"", "abc"),
        ("$'a\\tb\\x41\\101'", "a\tbAA"),
        ("{}", "{}"),
        ("12", "12"),
        ("$x", None),
        ('"$x"', None),
        ('"a $(b)"', None),
        ("a$(b)c", None),
        ("`b`", None),
        ("$((1 + 1))", None),
        ("~/x", None),
        ("a{1,2}.txt", None),
        ("<(sort a)", None),
    ],
)
def test_a_word_has_a_value_unless_the_shell_puts_something_in(
    written: str, value: str | None
) -> None:
    call = read_script(f"cmd {written}").calls[0]
    assert values(call) == [value]
    assert call.arguments[0].text == written


def test_every_simple_command_is_found_in_order() -> None:
    assert names("a; b && c || d | e & f") == ["a", "b", "c", "d", "e", "f"]
    assert names("a $(b `c`) <(d) | e") == ["a", "b", "c", "d", "e"]
    assert names("if a; then b; elif c; then d; else e; fi") == ["a", "b", "c", "d", "e"]
    assert names("for x in $(a); do b; done; while c; do d; done") == ["a", "b", "c", "d"]
    assert names("case $(a) in x) b;; y) c;; esac") == ["a", "b", "c"]
    assert names("f() { a; }; (b; c); { d; }") == ["a", "b", "c", "d"]
    assert names("cat <<EOF\n$(a)\nEOF\nb") == ["cat", "a", "b"]
    assert names("x=$(a) b $(c)") == ["b", "a", "c"]


def test_tests_are_commands_too() -> None:
    assert values(only("[ -f x -a ! -s y ]")) == ["-f", "x", "-a", "!", "-s", "y"]
    assert values(only('[[ -f x && $y == "z" ]]')) == ["-f", "x", "&&", None, "==", "z"]
    assert only("(( x > 1 ))").name == "(("
    assert values(only("test a == b")) == ["a", "==", "b"]


def test_a_chain_of_any_length_is_read() -> None:
    assert len(names(" && ".join(["true"] * 500))) == 500
    assert len(names(" && ".join(["true > x"] * 300))) == 300
    assert len(names(" | ".join(["cat"] * 500))) == 500
    assert not read_script(" && ".join(["true"] * 500)).broken


def test_redirects_belong_to_the_last_command_of_a_chain_or_pipe() -> None:
    first, second = read_script("a && b > out.txt").calls
    assert [each.target.value for each in first.redirects] == []
    assert [(each.operator, each.target.value) for each in second.redirects] == [(">", "out.txt")]
    first, second = read_script("a | b < in.txt 2>&1").calls
    assert [each.operator for each in second.redirects] == ["<", ">&"]
    assert not first.redirects


def test_what_stands_behind_a_here_document_is_read() -> None:
    script = read_script("cat <<EOF > a.txt && grep x | sort || exit 1\ntext\nEOF\nlast")
    assert [call.name for call in script.calls] == ["cat", "grep", "sort", "exit", "last"]
    assert [each.target.value for each in script.calls[0].redirects] == ["a.txt", "EOF"]
    script = read_script("cat <<EOF | grep x && foo\ntext\nEOF")
    assert [call.fed for call in script.calls] == [True, True, False]
    (start, end), text = script.heredocs[0], script.text
    assert text[start:end] == "text\n"


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("a", set()),
        ("! a", {"negated"}),
        ("! a | b", {"negated"}),
        ("a &", {"background"}),
        ("(a; b) &", {"background"}),
        ("a < f", {"fed"}),
        ("a <<< x", {"fed"}),
        ("while a; do b; done < f", {"fed", "optional"}),
        ("if a; then b; fi", {"optional"}),
        ("a || b", {"optional"}),
        ("a || exit 1", set()),
        ("a && exit 1", {"optional"}),
        ("timeout 5 a", {"limited"}),
        ("npx a", {"provided"}),
        ("f() { a; }", {"fed"}),
    ],
)
def test_a_call_knows_where_it_stands(text: str, flags: set[str]) -> None:
    call = read_script(text).calls[0]
    known = ("negated", "background", "fed", "nested", "optional", "limited", "provided")
    assert {name for name in known if getattr(call, name)} == flags


def test_a_command_in_a_substitution_is_nested_and_not_negated() -> None:
    outer, inner = read_script('! test "$(grep -c x f)" -ge 1').calls
    assert (outer.negated, outer.nested) == (True, False)
    assert (inner.negated, inner.nested) == (False, True)


@one_fact(
    ("text", "name", "wrappers"),
    [
        ("env X=1 Y=2 pytest", "pytest", ["env"]),
        ("env -i -u Z X=1 pytest", "pytest", ["env"]),
        ("/usr/bin/env python3 a.py", "python3", ["/usr/bin/env"]),
        ("time -p make all", "make", ["time"]),
        ("timeout -k 5 10 pytest", "pytest", ["timeout"]),
        ("timeout --signal=KILL 10s pytest", "pytest", ["timeout"]),
        ("nice -n 10 pytest", "pytest", ["nice"]),
        ("exec pytest", "pytest", ["exec"]),
        ("command pytest", "pytest", ["command"]),
        ("command -v pytest", "command", []),
        ("sudo -u bob -E pytest", "pytest", ["sudo"]),
        ("xargs -0 -n 1 grep x", "grep", ["xargs"]),
        ("xargs -I{} rm {}", "rm", ["xargs"]),
        ("npx --yes vitest@latest run", "vitest", ["npx"]),
        ("npx @scope/tool@1 run", "@scope/tool", ["npx"]),
        ("npx -p typescript tsc", "tsc", ["npx"]),
        ("npm exec -- jest", "jest", ["npm"]),
        ("npm run jest", "npm", []),
        ("yarn vitest", "vitest", ["yarn"]),
        ("yarn build", "yarn", []),
        ("pnpm exec jest", "jest", ["pnpm"]),
        ("uv run pytest", "pytest", ["uv"]),
        ("uv run --with x --extra dev -m pytest", "pytest", ["uv"]),
        ("uv sync", "uv", []),
        ("uvx ruff@0.5 check", "ruff", ["uvx"]),
        ("poetry run pytest", "pytest", ["poetry"]),
        ("python -m pytest -q", "pytest", ["python"]),
        ("python3.11 -W error -m unittest", "unittest", ["python3.11"]),
        ("python check.py -m x", "python", []),
        ("python -c 'x' -m y", "python", []),
        ("coverage run -m pytest", "pytest", ["coverage"]),
        ("uv run python -m pytest", "pytest", ["uv", "python"]),
        ("env CI=1 timeout 9 npx -y jest", "jest", ["env", "timeout", "npx"]),
        ("env", "env", []),
        ("time", "time", []),
        ("timeout 5", "timeout", []),
        ("env $CMD", None, ["env"]),
    ],
)
def test_wrappers_are_looked_through(text: str, name: str | None, wrappers: list[str]) -> None:
    call = only(text)
    assert call.name == name
    assert [word.text for word in call.wrappers] == wrappers
    assert text[call.start : call.end] == text


def test_assignments_before_a_command_and_behind_env_are_kept() -> None:
    call = only("A=1 env B=2 pytest")
    assert [each.name for each in call.assignments] == ["A", "B"]
    assert [each.value.value for each in call.assignments if each.value] == ["1", "2"]
    assert only("A=1").word is None


@pytest.mark.parametrize(
    "text",
    [
        "bash -c 'grep -q é a.txt && ./run.sh'",
        'sh -c "grep -q é a.txt && ./run.sh"',
        "bash -euo pipefail -c 'grep -q é a.txt && ./run.sh'",
        "eval 'grep -q é a.txt && ./run.sh'",
    ],
)
def test_a_script_in_quotes_is_read_with_its_places(text: str) -> None:
    _, grep, run = read_script(text).calls
    assert text[grep.start : grep.end] == "grep -q é a.txt"
    assert text[run.start : run.end] == "./run.sh"


def test_a_script_in_quotes_with_escapes_stands_where_its_word_stands() -> None:
    text = 'bash -c "grep -q \\"a b\\" a.txt"'
    _, grep = read_script(text).calls
    assert values(grep) == ["-q", "a b", "a.txt"]
    assert text[grep.start : grep.end] == '"grep -q \\"a b\\" a.txt"'


def test_places_are_characters_not_bytes() -> None:
    text = "grep -q 'Straße ✅' 日本.txt && cat ü.md"
    assert [text[each.start : each.end] for each in read_script(text).files] == [
        "日本.txt",
        "ü.md",
    ]


# -- files -------------------------------------------------------------------------------------


@one_fact(
    ("text", "expected"),
    [
        (
            "cat a.txt ./b/c.txt d//e.txt",
            [("a.txt", "read"), ("b/c.txt", "read"), ("d/e.txt", "read")],
        ),
        ("grep -q x.y a.txt", [("a.txt", "read")]),
        ("grep -e x.y -A 3 a.txt", [("a.txt", "read")]),
        ("sed -n 's/a.b/c/p' a.txt", [("a.txt", "read")]),
        ("sed -i 's/a/b/' a.txt", [("a.txt", "written")]),
        ("wc -l < a", [("a", "read")]),
        ("test -s a", [("a", "read")]),
        ("test -f a", [("a", "exists")]),
        ("[ -d a/ ]", [("a", "exists")]),
        ("[[ a -nt b ]]", [("a", "read"), ("b", "read")]),
        ("ls a/b", [("a/b", "exists")]),
        ("ls", []),
        ("ls a", []),
        ("bash x.sh a.txt", [("x.sh", "executed")]),
        ("bash -n x.sh", [("x.sh", "read")]),
        ("source env.sh", [("env.sh", "executed")]),
        ("./x.sh", [("x.sh", "executed")]),
        ("scripts/x", [("scripts/x", "executed")]),
        ("python -u x.py a.txt", [("x.py", "executed")]),
        ("python -c x.py", []),
        ("python x.py -c y.py", [("x.py", "executed")]),
        ("node x.js", [("x.js", "executed")]),
        ("node --test test/x.js", [("test/x.js", "tested")]),
        ("uv run x.py", [("x.py", "executed")]),
        ("go run ./cmd/x", [("cmd/x", "executed")]),
        ("pytest", []),
        ("pytest tests", [("tests", "tested")]),
        ("pytest tests/a.py::T::test_x[1-2] -k foo", [("tests/a.py", "tested")]),
        ("pytest -n 4 --foo bar tests/a.py", [("tests/a.py", "tested")]),
        ("pytest -c a.ini --junitxml=r.xml", [("a.ini", "configured"), ("r.xml", "written")]),
        ("python -m unittest discover -s tests", [("tests", "tested")]),
        ("python -m unittest tests.test_a.T.test_x", [("tests/test_a.py", "tested")]),
        ("npx jest src/a.test.ts auth", [("src/a.test.ts", "tested")]),
        ("npx jest src/auth", []),
        ("go test ./pkg/...", [("pkg", "tested")]),
        ("go test ./...", []),
        ("rspec spec/a_spec.rb:12", [("spec/a_spec.rb", "tested")]),
        ("make test", [("Makefile", "configured")]),
        ("make -C sub test", [("sub/Makefile", "configured")]),
        ("make -f b.mk test", [("b.mk", "configured")]),
        ("npm test", [("package.json", "configured")]),
        ("npm run build", [("package.json", "configured")]),
        ("npm --prefix web test", [("web/package.json", "configured")]),
        ("npm ci", []),
        ("tsc -p tsconfig.build.json", [("tsconfig.build.json", "configured")]),
        ("a > x 2>> y.log", [("x", "written"), ("y.log", "written")]),
        ("a &> x.log", [("x.log", "written")]),
        ("a 2>&1 <&3", []),
        ("{ a; b; } > x.log", [("x.log", "written")]),
        ("a | tee -a x.log", [("x.log", "written")]),
        ("touch a b", [("a", "written"), ("b", "written")]),
        ("mkdir -p a/b", [("a/b", "written")]),
        ("cp a.txt b", [("a.txt", "read"), ("b", "written")]),
        ("gcc a.c -o a", [("a", "written")]),
        ("cat /etc/x ~/y ../z $W/a.txt *.md 'a b.txt' http://x/y.z", []),
        ("cat node_modules/x/y.js .venv/bin/x", []),
        ("echo a.txt", []),
        ("curl http://x/a.json", []),
        ("docker run x cat a.txt", []),
    ],
)
def test_files_are_named_with_their_use(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(path, use.value) for path, use in files(text)] == expected


def test_cd_moves_what_follows() -> None:
    assert [path for path, _ in files("cd web && cat a.txt; cat b.txt")] == [
        "web/a.txt",
        "web/b.txt",
    ]
    assert [path for path, _ in files("(cd web; cat a.txt); cat b.txt")] == ["web/a.txt", "b.txt"]
    assert [path for path, _ in files("cd a/b || exit 1; cat ../c.txt")] == ["a/c.txt"]
    assert [path for path, _ in files("cat a.txt | (cd x; cat b.txt); cat c.txt")] == [
        "a.txt",
        "x/b.txt",
        "c.txt",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "cd $X && cat a.txt",
        "cd && cat a.txt",
        "cd - ; cat a.txt",
        "cd /tmp; cat a.txt",
        "cd ..; cat a.txt",
        "if x; then cd y; fi; cat a.txt",
        "x || cd y; cat a.txt",
        "pushd x; popd; cat a.txt",
        "env -C web cat a.txt",
        "uv run --directory web pytest tests/a.py",
    ],
)
def test_where_the_directory_is_not_certain_no_file_is_named(text: str) -> None:
    assert files(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "test ! -f a.txt",
        "! test -e a.txt",
        "[ ! -e a.txt ]",
        "if [ -f a.txt ]; then x; fi",
        "cat a.txt || true",
        "test -f a.txt && exit 1",
        "make && cat a.txt",
        "python gen.py && test -f a.txt",
    ],
)
def test_a_file_that_the_script_can_do_without_is_optional(text: str) -> None:
    assert "a.txt" not in needed(text)
    assert "a.txt" in {path for path, _ in files(text)}


@pytest.mark.parametrize(
    "text",
    [
        "test -f a.txt",
        "! grep -q x a.txt",
        "cat a.txt || exit 1",
        "cat a.txt || { echo no; exit 1; }",
        "pytest && cat a.txt",
        "grep -q x b.txt && cat a.txt",
        "git diff --exit-code && cat a.txt",
        "! [ ! -f a.txt ]",
    ],
)
def test_a_file_that_the_script_needs_is_not_optional(text: str) -> None:
    assert "a.txt" in needed(text)


# -- tools -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pytest && ruff check | tee x", ["pytest", "ruff", "tee"]),
        ("pytest; pytest", ["pytest"]),
        ("test -f x; [ -f x ]; cd y; echo z; . ./e; export A=1", []),
        ("./x; bin/y; $Z; /usr/bin/w", []),
        ("f() { a; }; f", ["a"]),
        ("npx jest", ["npx"]),
        ("uv run python -m pytest", ["uv"]),
        ("python -m pytest", ["python"]),
        ("env X=1 timeout 5 pytest", ["env", "timeout", "pytest"]),
        ("xargs rm", ["xargs", "rm"]),
        ("bash -c 'a | b'", ["bash", "a", "b"]),
        ("command -v jq && jq .", []),
        ("if which jq; then jq .; fi", ["which"]),
        ("pip install ruff && ruff check", ["pip"]),
        ("source e; pytest", []),
        ("export PATH=x:$PATH; pytest", []),
        ("PATH=x pytest; ruff", ["ruff"]),
        ('test "$(a)" = "`b`"', ["a", "b"]),
        ("while read x; do a; done; if b; then c; fi", ["a", "b", "c"]),
    ],
)
def test_tools_are_the_programs_that_must_be_on_path(text: str, expected: list[str]) -> None:
    assert tools(text) == expected


# -- exit codes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", Reason.EMPTY),
        ("# x", Reason.EMPTY),
        ("true", Reason.NOTHING),
        ("a; exit 0", Reason.NOTHING),
        ("a || true", Reason.FALLBACK),
        ("a && echo yes || echo no", Reason.FALLBACK),
        ("a | tee x", Reason.PIPE),
        ("if a; then echo x; else echo y; fi", Reason.BRANCHES),
        ("a &", Reason.BACKGROUND),
        ("[ 1 -eq 1 ]", Reason.CONSTANT),
        ("echo x; pwd", Reason.PRINTS),
        ("set +e; a; echo x", Reason.PRINTS),
        ("! a; echo x", Reason.PRINTS),
        ("a && echo x; echo y", Reason.PRINTS),
        ("f() { echo x; }; f", Reason.PRINTS),
    ],
)
def test_a_script_that_cannot_fail_says_why(text: str, reason: Reason) -> None:
    unfailing = why_unfailing(read_script(text))
    assert unfailing is not None
    assert unfailing.reason is reason


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a; echo x",
        "! a",
        "a || exit 1",
        "a && exit 1 || exit 0",
        "set -o pipefail; a | tee x",
        "set -euo pipefail\na | tee x",
        "a | grep x",
        "x=$(a)",
        "if a; then exit 1; fi",
        "if a; then exit 1; fi; exit 0",
        "bash -ec 'a; echo x'",
        "f() { a; }; f",
        "(a)",
        "f() { f; }; f",
        "if a",
    ],
)
def test_a_script_that_can_fail_is_let_be(text: str) -> None:
    assert why_unfailing(read_script(text)) is None


def test_deciding_calls_are_those_whose_codes_count() -> None:
    def deciding(text: str) -> list[str | None]:
        return [call.name for call in deciding_calls(read_script(text))]

    assert deciding("a | b") == ["b"]
    assert deciding("set -o pipefail; a | b") == ["set", "a", "b"]
    assert deciding("a; b && c $(d)") == ["a", "b", "c"]
    assert deciding("if a; then b; else c; fi") == ["b", "c"]
    assert deciding("! a; b & (c); bash -c d") == ["c", "d"]


# -- prefixes and tests ------------------------------------------------------------------------


def test_prefixes_are_found_and_can_be_blanked_out() -> None:
    script = read_script("$ a\n  $ b $x")
    prefixes = find_prefixes(script)
    assert [(prefix.text, prefix.start, prefix.end) for prefix in prefixes] == [
        ("$", 0, 2),
        ("$", 6, 8),
    ]
    assert without_prefixes(script, prefixes) == "  a\n    b $x"
    assert find_prefixes(read_script("cat <<E\n$ a\nE")) == ()


def test_commands_that_may_run_tests_are_told_from_those_that_do_not() -> None:
    for text in ("pytest", "npm test", "make check", "./x", "$X", "bash x.sh", "cargo test"):
        assert may_run_tests(only(text)), text
    for text in ("ruff check", "grep -c test x", "make build", "npm ci", "npm run build", "X=1"):
        assert not may_run_tests(only(text)), text


# -- any text ----------------------------------------------------------------------------------


def check_places(script: Script) -> None:
    length = len(script.text)
    places = [(call.start, call.end) for call in script.calls]
    places += [(word.start, word.end) for call in script.calls for word in call.arguments]
    places += [(file.start, file.end) for file in script.files]
    places += [(tool.start, tool.end) for tool in script.tools]
    places += [*script.heredocs]
    unfailing = why_unfailing(script)
    if unfailing is not None:
        places.append((unfailing.start, unfailing.end))
    places += [(prefix.start, prefix.end) for prefix in find_prefixes(script)]
    assert all(0 <= start <= end <= length for start, end in places)
    deciding_calls(script)


@examples(300)
@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    check_places(read_script(text))


TOKENS = st.sampled_from(
    "a | || && ; & ( ) { } $( ) ` ' \" \\ < > << <<< EOF \n if then fi for do done while case esac "
    "[[ ]] [ ] (( )) $x ${ } ! -f # = x=1 bash -c eval é \x00 \ud800 \udc80 \u200b function f() "
    "cd exit true env timeout".split(" ")
)


@examples(500)
@given(st.lists(TOKENS, max_size=40).map(" ".join))
def test_any_mixture_of_shell_is_read(text: str) -> None:
    check_places(read_script(text))


@examples(500)
@given(
    st.sampled_from(COMMANDS),
    st.lists(
        st.tuples(
            st.floats(0, 1), st.integers(0, 3), st.sampled_from([*"'\"`$(){}|&;<>\\\n é\x00", ""])
        ),
        max_size=5,
    ),
)
def test_a_damaged_command_is_read(text: str, damages: list[tuple[float, int, str]]) -> None:
    for place, length, put in damages:
        offset = int(place * len(text))
        text = f"{text[:offset]}{put}{text[offset + length :]}"
    check_places(read_script(text))


@pytest.mark.parametrize("text", COMMANDS)
def test_real_commands_are_understood(text: str) -> None:
    assert not read_script(text).broken


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("( ", " )"), ("$(", ")"), ("{ ", "; }"), ("if a; then ", "; fi"), ('"$(', ')"'), ("! ", "")],
)
def test_deep_nesting_is_given_up_on_not_crashed_on(opening: str, closing: str) -> None:
    for depth in (MAXIMUM_DEPTH + 10, 700):
        script = read_script(f"{opening * depth}cat a.txt{closing * depth}")
        assert script.broken
        assert script.files == ()
    check_places(read_script(opening * 3000))


def test_functions_that_call_functions_are_given_up_on_not_crashed_on() -> None:
    chain = "; ".join(f"f{place}() {{ f{place + 1}; f{place + 1}; }}" for place in range(200))
    assert why_unfailing(read_script(f"{chain}; f200() {{ true; }}; f0")) is None


@pytest.mark.parametrize(
    "text", ["{\U000def9f5", "{\U000771a8\U000ee563", "a{1\U0010ffff,2}", "\udcff{é"]
)
def test_characters_that_the_grammar_crashes_on_are_kept_from_it(text: str) -> None:
    check_places(read_script(text))


def test_a_text_of_any_length_takes_bounded_time() -> None:
    assert read_script("a; " * MAXIMUM_LENGTH).broken
    assert not read_script("a; " * (MAXIMUM_LENGTH // 4)).broken


# -- the real shell ----------------------------------------------------------------------------

CHECKS = [
    "a || true",
    "a && b || echo no",
    "a | cat",
    "! a; echo x",
    "a && echo x; echo y",
    "if a; then echo x; else echo y; fi",
    "set +e; a; echo x",
    "{ a; b; } || true",
    "(a || true)",
    "x=$(a); echo $x",
    "export X=$(a)",
    "a; echo x",
    "a && b",
    "a || b",
    "! a",
    "! exit 1; true",
    "if a; then b; fi",
    "if exit 1; then echo x; fi",
    "set -o pipefail; a | cat",
    "echo x | a",
    "for i in 1 2; do a; done",
    "while read -r x; do a; done <<< y",
    "bash -c 'a; echo x'",
    "bash -ec 'a; echo x'",
    "f() { a; echo x; }; f",
    "f() { a || exit 1; }; f || true",
    "a & wait",
    "a & wait $!",
    "(exit 1) || echo x",
    "a && exit 1 || exit 0",
    "case x in x) a;; esac",
    "true && a; true || b; echo x",
]


@pytest.mark.parametrize("text", CHECKS)
def test_the_shell_agrees_on_what_can_fail(text: str, tmp_path: Path) -> None:
    for name in "ab":
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\nexit ${name.upper()}\n", encoding="utf-8")
        program.chmod(0o755)
    codes = [
        subprocess.run(
            ["bash", "-e", "-c", text],
            env={"PATH": f"{tmp_path}:/usr/bin:/bin", "A": first, "B": second},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        ).returncode
        for first in "01"
        for second in "01"
    ]
    unfailing = why_unfailing(read_script(text))
    assert (unfailing is None) == any(codes)

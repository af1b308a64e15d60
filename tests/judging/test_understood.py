"""Which calls are understood, so that a contract may reach E3, and which are not."""

from __future__ import annotations

import pytest

from planbound.judging.meaning import is_test_file
from planbound.script import read_script
from planbound.script.understood import Place, Surrounding, unknown_call

_FILES = frozenset({"tests/check.sh", "tests/calc.c", "src/tool", "tests/check.js"})
_UNDERSTOOD = """
test -e src/one
grep -q done src/one && ! grep -q todo src/one
diff <(bash src/tool 1 2) expected.txt
[ "$(src/tool 1 2)" = 3 ]
python -m pytest -q tests | tail -n 5
time PYTHONPATH=src python3 -m unittest
flock /tmp/lock taskset -c 0 prlimit --as=1000 cargo test
find src -name '*.py' | xargs grep -l main
find src -name '*.py' -print0 | xargs -0 -n1 python3 -m unittest
git diff --exit-code && git status --porcelain
go vet ./... && go test ./...
cargo build && cargo test
npm ci && npm run lint && npm test
make build && make test
uv run pytest -q
npx tsc --noEmit && npx eslint src
bash -c 'python -m pytest'
for f in tests/*.sh; do bash "$f" || exit 1; done
run() { grep -q "$1" src/one; }; run done
PY=python3; "$PY" -m unittest
cc -o build/app src/app.c && ./build/app | grep -q 3
tar -czf a.tgz src && ls -l a.tgz
node tests/check.js
. .venv/bin/activate && pytest
command -v jq && env | sort
"""
_NOT_UNDERSTOOD = """
script -qec 'python3 -m unittest' /dev/null
env -S 'python3 -m unittest'
find tests -name 'test_*.py' -exec python3 -m unittest {} +
CMD='python3 -m unittest'; bash -c "$CMD"
run=(node --test); "${run[@]}"
source <(echo 'python3 -m unittest')
strace -f node --test
parallel ::: 'node --test'
TOOL=node; $TOOL --test
eval "$CMD"
"$@"
cc -o build/app tests/calc.c && ./build/app
./build/test_calc
mvn -q test
bats tests
docker run image npm test
awk 'BEGIN { exit system("node --test") }'
go test -c -o it
bash /tmp/made.sh
trial-and-error --now
"""


def _unknown(text: str) -> str:
    script = read_script(text)
    assert not script.broken
    known = Surrounding((script,), _FILES, lambda path: path in _FILES - {"src/tool"}, is_test_file)
    return unknown_call([Place(script)], known)


@pytest.mark.parametrize("text", _UNDERSTOOD.strip().splitlines())
def test_what_is_known_of_every_call_is_understood(text: str) -> None:
    assert _unknown(text) == ""


@pytest.mark.parametrize("text", _NOT_UNDERSTOOD.strip().splitlines())
def test_one_call_of_which_nobody_knows_what_it_runs_is_named(text: str) -> None:
    assert _unknown(text)


def test_a_function_of_the_product_is_none_that_starts_a_runner() -> None:
    script = read_script(". src/lib.sh\nadd 1 2 | grep -qx 3\n")
    assert unknown_call([Place(script, takes_in=True)], Surrounding((script,))) == ""
    script = read_script(". src/lib.sh\nlocked /tmp/it node --test\n")
    assert unknown_call([Place(script, takes_in=True)], Surrounding((script,)))

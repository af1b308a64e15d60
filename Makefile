# Every target sets up what it needs: a machine with python3, python3-venv, git, make and a
# package index is enough.

PYTHON ?= python3
UV_VERSION := 0.13.7
UV := .tools/bin/uv
BIN := .venv/bin
READY := .venv/.ready

# What Python has compiled is kept, whatever the shell says: collecting the tests takes a third.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo demo-language demo-judging test test-every test-agents test-bare test-all coverage check fmt lock docs fuzz model attacks crashes storm real evals bench screenshots clean

setup: $(READY)

# uv gets an environment of its own, so that syncing the project's never removes it.
$(UV):
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

$(READY): $(UV) requirements.lock pyproject.toml
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	$(UV) pip sync --quiet --require-hashes --compile-bytecode --python $(BIN)/python requirements.lock
	$(UV) pip install --quiet --no-deps --python $(BIN)/python --editable .
	$(BIN)/python -m compileall -q src
	touch $(READY)

demo: $(READY)
	@$(BIN)/python demo/run.py

demo-language: $(READY)
	@$(BIN)/python demo/plan_language.py

demo-judging: $(READY)
	@$(BIN)/python demo/judging.py

# `ARGS` is given to pytest: `make test ARGS="-k reuse"`.
# tests/README.md says what is left out. One worker more than there are cores: many
# tests wait for processes that sleep.
test: $(READY)
	$(BIN)/python -m pytest --quick -n $$(($$(nproc) + 1)) --dist worksteal $(ARGS)

# Every attack, every kill, PostgreSQL, DBOS, all kinds of cells, and agents' dialects.
test-every: $(READY)
	$(BIN)/python -m pytest -n $$(($$(nproc) + 1)) --dist worksteal $(ARGS)

# Installs real agent programs into a cache of their own, and lets each do a plan.
test-agents: $(READY)
	$(BIN)/python -m tests.agents.install && $(BIN)/python -m pytest tests/agents_installed -n 2 $(ARGS)

# `make test` without the programs that the README does not ask for; needs root.
test-bare: $(READY)
	$(BIN)/python -m tests.bare --quick -n $$(($$(nproc) + 1)) --dist worksteal $(ARGS)

# Everything; CI runs it.
test-all: test-every test-bare test-agents

# Says how many points of branch coverage `make test` loses against `make test-every`; with
# `ARGS="--folder FOLDER"` what was measured is kept, and the next call goes on with the rest.
coverage: $(READY)
	$(BIN)/python -m tools.coverage_loss $(ARGS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.receipt_files --check
	$(BIN)/python -m tools.reference --check
	$(BIN)/python -m benchmarks.table --check
	$(BIN)/python -m tools.house --check
	$(BIN)/python -m tools.repository

# Mends what `make check` can mend by itself.
fmt: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Writes the reference and the map of the house anew, and what the commands in the pages print.
docs: $(READY)
	$(BIN)/python -m tools.receipt_files
	$(BIN)/python -m tools.reference
	$(BIN)/python -m tools.house --write
	$(BIN)/python -m tools.console

fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --inputs 100000

# Plays runs in which everything may happen at any time; a failure names the seed that repeats it.
model: $(READY)
	$(BIN)/python -m tests.run_model --minutes 5

# Fights every attack at every level of isolation; takes some minutes.
attacks: $(READY)
	$(BIN)/python -m tests.attacks

# Kills workers every few seconds until they have proved 100 plans; takes some minutes.
storm: $(READY)
	$(BIN)/python -m tests.run.dbos.storm

# Kills a run at every append and at random times, on both databases; takes some minutes.
crashes: $(READY)
	$(BIN)/python -m tests.run.matrix --all

# Takes real projects from the package indexes the whole way; needs the network and some minutes.
real: $(READY)
	$(BIN)/python -m tools.real

# Judges public exercises in the folder that PLANBOUND_EVALS names; evals/README.md says more.
# `make evals ARGS="--sample 10"` judges some of them.
evals: $(READY)
	$(BIN)/python -m evals $(ARGS)

# Takes about 25 minutes, on a quiet machine. `make bench ARGS="judge suite"` measures only these.
bench: $(READY)
	$(BIN)/python -m benchmarks $(ARGS)

# Looks at every page with Chromium, in light and dark, on a phone and in forced colours: into
# build/screenshots, and with `ARGS=--docs` into docs/images, too.
screenshots: $(READY)
	$(BIN)/python -m tests.page.screenshots $(ARGS)

# The lock holds versions and hashes and no address; see docs/decisions/002.
lock: $(UV)
	$(UV) pip compile --quiet --universal --generate-hashes --no-header --group dev --all-extras --upgrade \
		--output-file requirements.lock pyproject.toml

clean:
	rm -rf .venv .tools build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

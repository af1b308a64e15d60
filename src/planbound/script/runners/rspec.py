"""rspec: one more file of examples."""

from __future__ import annotations

import re

from planbound.script.runners.runner import (
    COUNT,
    CallWords,
    Canary,
    Declared,
    Habits,
    JudgedTree,
    Language,
    Runner,
    RunnerCall,
    Summary,
    added,
    counted,
    joined,
    names,
    number,
)
from planbound.script.tree import below, words
from planbound.source import lazy_pattern

# -- rspec: one more file of examples ------------------------------------------------------------


_ALLOWED = words(
    "-c --color --no-color --colour --force-color -b --backtrace -w --warnings --fail-fast "
    "--no-fail-fast -p --profile --no-profile"
)
_VALUED = words("-f --format -o --out -r --require -I --order --seed")
_CHOOSES = lazy_pattern(
    r"(?m)(?:^|\s)(?:-P|--pattern|--exclude-pattern|--default-path|-e|--example)"
)
_TAG = lazy_pattern(r"(?m)(?:^|\s)(?:-t|--tag)[ =]?[^~\s]")
_EXAMPLES = """\
RSpec.describe "{group}" do
  it "{names[0]}" do
    raise "{names[0]}"
  end
{more}end
"""
_MORE = """
  it "{names[1]}" do
    expect(1).to eq(2)
  end

  it "{names[2]}" do
    expect(false).to be(true)
  end
"""


def make(found: RunnerCall, project: JudgedTree) -> Canary | None:
    """Return a file in the directory that is run."""
    operands = found.operands(_VALUED)
    options = project.text(joined(found.directory, ".rspec")) or ""
    if found.unknown(_ALLOWED, _VALUED) or _CHOOSES.search(options) or _TAG.search(options):
        return None
    directory = below(found.directory, operands[0] if operands else "spec")
    if directory is None or not any(path.endswith("_spec.rb") for path in project.below(directory)):
        return None
    if directory.endswith(".rb"):
        return None
    stops = found.call.has("--fail-fast") or "--fail-fast" in options
    names = project.several(1 if stops else 3)
    more = "" if stops else _MORE.format(names=names)
    content = _EXAMPLES.format(group=project.called("group"), names=names, more=more).encode()
    return Canary(((joined(directory, f"{project.name}_spec.rb"), content),), names)


# -- what rspec says: `3 examples, 1 failure, 1 pending` -----------------------------------------


_LAST = lazy_pattern(
    rf"^({COUNT}) examples?, ({COUNT}) failures?(?:, ({COUNT}) pending)?"
    rf"(?:, ({COUNT}) errors? occurred outside of examples)?$",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what rspec says, all its runs together."""
    return added("rspec", (_run(*map(number, found)) for found in _LAST.findall(text)))


def _run(examples: int, failures: int, pending: int, outside: int) -> Summary:
    return Summary("rspec", max(0, examples - failures - pending), failures + outside, pending)


RUNNER = Runner(
    programs=("rspec",),
    name="rspec",
    language=Language.RUBY,
    words=CallWords(
        valued=words("-e --example -t --tag -f --format -o --out -r --require -I -P --pattern -O")
    ),
    habits=Habits(names(".rspec .rspec-local"), lazy_pattern(r"spec/.*")),
    loaded=((lazy_pattern(r"\.rspec"), "rspec takes its options from it"),),
    read=read,
    canary=make,
    silent=True,
    declared=Declared(
        ("_spec.rb",),
        counted(lazy_pattern(r"(?m)^\s{0,40}(?:it|specify|example|scenario)\b")),
    ),
)

"""rspec: one more file of examples."""

from __future__ import annotations

from planbound.engine.judging.canary.model import Canary, Found, Project, joined
from planbound.plan.command.directory import below
from planbound.plan.command.word import words
from planbound.source.pattern import lazy_pattern

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


def make(found: Found, project: Project) -> Canary | None:
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

"""A plan that went through everything, with agents and contracts that print what they like."""

from __future__ import annotations

import json
from pathlib import Path

from tests.run.bench import Bench, Step

HOSTILE = (
    "</pre></style></title></script><script>alert(1)</script><img src=x onerror=alert(2)>"
    "\" onload=\"alert(3)' onclick='alert(4) javascript:alert(5) <!-- ]]> &lt;b&gt;"
)
UNSEEN = "\u202e\u200b\u2066\x1b[31mred\x1b[0m\x07\u00ad\ufeff"


def printed(*, right: bool, file: str, tokens: int | None = None) -> str:
    """Return the work of an agent that says what it used, and prints what should do nothing."""
    usage = json.dumps({"tokens": tokens, "dollars": (tokens or 0) / 1_000_000})
    said = [] if tokens is None else [f"echo 'planbound-usage: {usage}'"]
    words = f"cat <<'ENDE'\n{HOSTILE}{UNSEEN}\nENDE"
    work = f"echo {'right' if right else 'wrong'} > {file}"
    return "\n".join([*said, work, words, r"printf '\xff\xfe\x00'"])


def play(folder: Path) -> Bench:
    """Run a plan of proved, waived and attested steps with hostile words all over it."""
    bench = Bench(folder)
    bench.write("src/hostile.txt", f"{HOSTILE}{UNSEEN}\n")
    flood = "yes '<script>alert(6)</script>' | head -c 10000000"
    bench.prepare(
        Step(
            "make one",
            work=(
                printed(right=False, file="src/one", tokens=41_000),
                printed(right=True, file="src/one", tokens=38_000),
            ),
            contract="cat src/hostile.txt; printf '\\377\\000'; grep -qx right src/one",
        ),
        Step(
            "make <b onclick=x>two</b> two",
            work=printed(right=True, file="src/two", tokens=52_000),
        ),
        Step(
            "make three",
            work=f"{flood}\necho wrong > src/three",
            contract=f"{flood}; grep -qx right src/three",
        ),
        Step("sign it", attest="the notes are <i>right</i>"),
        fields=f"**Context:** About {HOSTILE}\n\n**Budget:** max 250k tokens, $1.50\n",
        settings="[recipes]\n",
        after=("test -d src", "grep -qx right src/two"),
    )
    bench.goes("run", "--no-input", code=4)
    bench.goes("waive", "PLAN", "3", "--reason", f"no need {HOSTILE}", "--as", "ann<b>")
    bench.goes("resume", "--no-input", code=4)
    bench.goes("attest", "PLAN", "4", "--as", "ann")
    bench.goes("resume", "--no-input")
    return bench

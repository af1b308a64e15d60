"""What keeps a contract from saying anything: a program, a module, the network that is not there.

Careful: what the work is still to make is missing, too, and that is an honest red. So only what
cannot be the work's counts.
"""

from __future__ import annotations

from planbound.plan.command import Script
from planbound.plan.command.tool import BUILTINS
from planbound.plan.command.word import words

_WITHOUT_PYTHON = BUILTINS | words("""
    awk base64 basename bun cargo cat chmod cmp comm composer cp cut date deno diff dirname du
    egrep env expr fgrep file find gawk git go grep gunzip gzip head java javac jest jq ls ln mawk
    md5sum mkdir mktemp mocha mv node npm npx nl od paste php phpunit pnpm realpath readlink rg rm
    rmdir rspec ruby rustc sed seq sha1sum sha256sum sleep sort stat tac tail tar tee timeout touch
    tr tsc uname uniq vitest wc which xargs yarn zcat
    """)


def may_use_python(script: Script) -> bool:
    """Say whether a contract may need a Python: all but what is known to need none."""
    return script.broken or any(
        word is not None and (word.value or "/").rpartition("/")[2] not in _WITHOUT_PYTHON
        for call in script.calls
        for word in (call.word, *call.wrappers)
    )

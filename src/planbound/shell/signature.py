"""Signatures by OpenSSH: made by `ssh-keygen -Y sign`, checked by `ssh-keygen -Y verify`."""

from __future__ import annotations

import os
import subprocess

from planbound.errors import FileProblem, Refused, UsageError

# By absolute path: PATH is anybody's.
PROGRAM = "/usr/bin/ssh-keygen"
_SECONDS = 30


def allowed_signers() -> str:
    """Return the file of those who may sign: in the user's configuration, outside any workspace."""
    home = os.environ.get("HOME") or os.path.expanduser("~")
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(folder, "planbound", "allowed_signers")


def check_signature(statement: bytes, *, signature: str, signer: str, namespace: str) -> None:
    """Refuse a signature that is not the signer's, of exactly this statement, for this purpose."""
    signers = allowed_signers()
    if not os.path.isfile(signature):
        raise UsageError(f"there is no signature `{signature}`")
    if not os.path.isfile(signers):
        raise Refused(
            "nobody may sign yet",
            hint=f"write `NAME {_KIND} KEY` to {signers}, as in `man ssh-keygen`",
        )
    command = [PROGRAM, "-Y", "verify", "-f", signers, "-I", signer, "-n", namespace]
    try:
        done = subprocess.run(  # noqa: S603 - OpenSSH's own program
            [*command, "-s", signature],
            input=statement,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        )
    except OSError as error:
        raise FileProblem(
            f"a signature cannot be checked: {PROGRAM}: {error.strerror}", hint="install OpenSSH"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise FileProblem(f"a signature cannot be checked: over {_SECONDS} s") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        raise Refused(
            f"the signature does not hold: {said[-1] if said else 'it was refused'}",
            hint="it is for another text, by another key, or not for this purpose",
        )


_KIND = "ssh-ed25519"

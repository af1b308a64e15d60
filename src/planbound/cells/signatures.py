"""Signatures by OpenSSH: made by `ssh-keygen -Y sign`, checked by `ssh-keygen -Y verify`."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from planbound.errors import FileProblem, Refused, UsageError

# -- the program ----------------------------------------------------------------------------------

# By absolute path: PATH is anybody's.
PROGRAM = "/usr/bin/ssh-keygen"
_SECONDS = 30
_SECONDS_OF_A_PERSON = 300
"""Somebody may have to touch a key, or to type a passphrase."""
# Times in a list of signers are in UTC, wherever somebody is.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
_OF_A_PERSON = ("HOME", "SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY")


class KeygenAnswer(NamedTuple):
    """How ssh-keygen ended, and what it said."""

    code: int
    out: str
    error: str

    @property
    def words(self) -> str:
        """Return the last line of what it said."""
        lines = (self.error or self.out).strip().splitlines()
        return lines[-1] if lines else "it was refused"


def has_keygen() -> bool:
    """Say whether there is an ssh-keygen."""
    return os.access(PROGRAM, os.X_OK)


def ssh_keygen(words: Sequence[str], given: bytes = b"", *, person: bool = False) -> KeygenAnswer:
    """Run ssh-keygen; with `person` it may ask one, and use the keys of an agent of theirs."""
    own = {name: os.environ[name] for name in _OF_A_PERSON if person and name in os.environ}
    seconds = _SECONDS_OF_A_PERSON if person else _SECONDS
    try:
        done = subprocess.run(  # noqa: S603 - OpenSSH's own program
            [PROGRAM, *words],
            input=given,
            capture_output=True,
            timeout=seconds,
            check=False,
            env=_ENVIRONMENT | own,
            # It asks at the terminal of the person, who may stop it; else nobody is asked.
            start_new_session=not person,
        )
    except OSError as error:
        raise FileProblem(
            f"`ssh-keygen` cannot be run: {PROGRAM}: {error.strerror}", hint="install OpenSSH"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise FileProblem(f"`ssh-keygen` did not end within {seconds} s") from error
    said = (done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
    return KeygenAnswer(done.returncode, *said)


def make_key(path: str, comment: str) -> None:
    """Make an ed25519 key without a passphrase: the file, and its public part beside it."""
    said = ssh_keygen(["-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path])
    if said.code != 0:
        raise FileProblem(f"the key `{path}` cannot be made: {said.words}")


def sign(message: bytes, *, key: str, namespace: str, person: bool) -> str:
    """Return the armored signature of a message by the key of a file."""
    with tempfile.TemporaryDirectory(prefix="planbound-sign-") as folder:
        path = os.path.join(folder, "message")
        with open(path, "wb") as file:
            file.write(message)
        said = ssh_keygen(["-Y", "sign", "-f", key, "-n", namespace, path], person=person)
        if said.code != 0:
            raise Refused(
                f"`{key}` does not sign: {said.words}",
                hint="is it there, readable by you alone, and its passphrase at hand?",
            )
        with open(f"{path}.sig", encoding="ascii") as file:
            return file.read()


# -- approvals: who may sign, and whether it was signed -------------------------------------------

SIGNERS = "allowed_signers"
COMMON_SIGNERS = f"/etc/planbound/{SIGNERS}"
"""Where root writes it: no agent of the user's can add itself."""


def allowed_signers() -> str:
    """Return the file of those who may sign: root's, else that of the user's configuration."""
    if os.path.lexists(COMMON_SIGNERS):
        return COMMON_SIGNERS
    home = os.environ.get("HOME") or os.path.expanduser("~")
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(folder, "planbound", SIGNERS)


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
    words = ["-Y", "verify", "-f", signers, "-I", signer, "-n", namespace, "-s", signature]
    said = ssh_keygen(words, statement)
    if said.code != 0:
        raise Refused(
            f"the signature does not hold: {said.words}",
            hint="it is for another text, by another key, or not for this purpose",
        )


_KIND = "ssh-ed25519"

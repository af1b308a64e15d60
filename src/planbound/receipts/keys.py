"""The keys that sign receipts: the harness's own, in the state home, and a person's."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import NamedTuple

from planbound.cells.isolation import refuse_in_cell
from planbound.cells.signatures import has_keygen, make_key, ssh_keygen
from planbound.disk.files import remove, write_whole
from planbound.errors import FileProblem, NothingToDo, Refused
from planbound.receipts.predicate import SigningKey
from planbound.receipts.ssh_signature import (
    NAMESPACE,
    fingerprint,
    key_line,
    key_type,
    read_key,
)
from planbound.workspace.context import Context
from planbound.workspace.root import plans_root

HARNESS, PERSON = "harness", "person"
_MOST_BYTES = 1 << 20

# -- keys -----------------------------------------------------------------------------------------


class Signer(NamedTuple):
    """A key that can sign."""

    path: str
    """The file that `ssh-keygen -f` is given."""
    owner: str
    """`harness` or `person`."""
    key: bytes
    """The public part, as OpenSSH encodes it."""
    is_new: bool = False
    """Whether it was made just now."""

    @property
    def said(self) -> SigningKey:
        """Return what a receipt says of it."""
        return SigningKey(
            owner=self.owner,
            type=key_type(self.key),
            fingerprint=fingerprint(self.key),
            public=key_line(self.key),
        )


class KnownKey(NamedTuple):
    """A key that signs now, or that has signed."""

    principal: str
    """How it is called in a list of signers."""
    key: bytes
    since: str
    """In UTC, as a list of signers writes it; empty: nobody knows."""
    until: str
    """The same; empty: it still signs."""

    @property
    def line(self) -> str:
        """Return it as a line of a list of signers."""
        options = [f'namespaces="{NAMESPACE}"']
        options += [f'valid-after="{self.since}"'] if self.since else []
        options += [f'valid-before="{self.until}"'] if self.until else []
        return f"{self.principal} {','.join(options)} {key_line(self.key)}"


class KeyFolder:
    """Where the harness keeps its key: in the state home, which no cell shows."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.folder = os.path.join(context.state.folder, "keys")
        self.path = os.path.join(self.folder, "receipts")
        self._signers = os.path.join(self.folder, "signers")
        self.principal = f"planbound@{context.state.project}"

    def current(self) -> bytes | None:
        """Return the public part of the key that signs now; None where there is none yet."""
        if not os.path.lexists(self.path):
            return None
        return _public(f"{self.path}.pub")

    def known(self) -> list[KnownKey]:
        """Return every key that there ever was, the oldest first."""
        if not os.path.lexists(self._signers):
            return []
        return [_known(line, self._signers) for line in _read(self._signers).splitlines() if line]

    def make(self) -> bytes:
        """Make a key; raise NothingToDo where there is one."""
        refuse_in_cell()
        refuse_without_keygen()
        if os.path.lexists(self.path):
            raise NothingToDo(
                f"there is a key already: {self.path}", hint="`planbound keys rotate` makes another"
            )
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            os.chmod(self.folder, 0o700)
        except OSError as error:
            raise FileProblem(f"cannot make `{self.folder}`: {error.strerror}") from error
        # The name comes last: who is cut off before leaves no key behind.
        fresh = f"{self.path}.new"
        for path in (fresh, f"{fresh}.pub"):
            remove(path)
        make_key(fresh, self.principal)
        key = _public(f"{fresh}.pub")
        now = self._context.now()
        mine = KnownKey(self.principal, key, _stamp(now), "")
        self._keep([*self._ended(now), mine])
        try:
            os.replace(f"{fresh}.pub", f"{self.path}.pub")
            os.replace(fresh, self.path)
        except OSError as error:
            raise FileProblem(f"cannot write `{self.path}`: {error.strerror}") from error
        return key

    def rotate(self) -> bytes:
        """Make another key; the old one's private part is destroyed, its public part stays."""
        refuse_in_cell()
        refuse_without_keygen()
        old = self.current()
        if old is None:
            raise Refused("there is no key yet", hint="`planbound keys new` makes one")
        self._keep(self._ended(self._context.now()))
        remove(self.path)
        return self.make()

    def _ended(self, now: str) -> list[KnownKey]:
        """Return all keys, of which none signs from now on."""
        # What one signed in this very second it signed while it did.
        until = _stamp(now, seconds=1)
        return [each if each.until else each._replace(until=until) for each in self.known()]

    def _keep(self, keys: list[KnownKey]) -> None:
        text = "".join(f"{each.line}\n" for each in keys)
        write_whole(self._signers, text.encode("ascii"), private=True)


def refuse_without_keygen() -> None:
    """Refuse to sign where there is no ssh-keygen."""
    if not has_keygen():
        raise Refused(
            "there is no `ssh-keygen`, which signs receipts",
            hint="install OpenSSH; `--unsigned` writes a receipt without a signature",
        )


# -- which key signs ------------------------------------------------------------------------------


def signer_of(context: Context) -> Signer:
    """Return who signs the receipts of a workspace: a person's key, else the harness's own.

    The harness's is made where there is none yet.
    """
    refuse_in_cell()
    refuse_without_keygen()
    configured = context.configuration.receipts.key
    if configured is not None:
        return _of_person(context, configured)
    folder = KeyFolder(context)
    key = folder.current()
    if key is not None:
        return Signer(folder.path, HARNESS, key)
    return Signer(folder.path, HARNESS, folder.make(), is_new=True)


def _of_person(context: Context, configured: str) -> Signer:
    path = os.path.join(plans_root(context.root), os.path.expanduser(configured))
    public = path if path.endswith(".pub") else f"{path}.pub"
    if os.path.isfile(public):
        return Signer(path, PERSON, _public(public))
    if not os.path.isfile(path):
        raise Refused(
            f"`receipts.key` names `{configured}`, which is not there",
            hint="name a private key, or the public part of one that an agent of SSH has",
        )
    said = ssh_keygen(["-y", "-f", path], person=True)
    if said.code != 0:
        raise Refused(f"`{configured}` is no key that can be used: {said.words}")
    return Signer(path, PERSON, _key(said.out, configured))


def _public(path: str) -> bytes:
    return _key(_read(path), path)


def _key(text: str, path: str) -> bytes:
    try:
        return read_key(text)
    except (ValueError, UnicodeError) as error:
        raise FileProblem(f"`{path}` is no public key: {error}") from error


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise FileProblem(f"cannot read `{path}`: {error.strerror}") from error


def _known(line: str, path: str) -> KnownKey:
    principal, options, rest = [*line.split(" ", 2), "", ""][:3]
    values = {}
    for option in options.split(","):
        name, _, value = option.partition("=")
        values[name] = value.strip('"')
    since, until = values.get("valid-after", ""), values.get("valid-before", "")
    return KnownKey(principal, _key(rest, path), since, until)


def _stamp(now: str, *, seconds: int = 0) -> str:
    """Return a time of the journal as a list of signers has it: `20261119203000Z`."""
    moment = datetime.fromisoformat(now) + timedelta(seconds=seconds)
    return moment.strftime("%Y%m%d%H%M%SZ")

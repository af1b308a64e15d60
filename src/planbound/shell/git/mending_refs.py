"""Puts back refs, stashes and reflogs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from planbound.shell.cell.inside.tree import remove_entry
from planbound.shell.git.directory import Refs, head_of, meaning, read_refs
from planbound.shell.git.keeping import HEAD, STASHES, stashes
from planbound.shell.git.mendable import SHOWN, Mendable, many, more_of

_FREE = ("refs/bisect/", "refs/rewritten/", "refs/worktree/")
"""Refs that belong to a command that is under way."""
LOG = re.compile(r"(?:worktrees/([^/]+)/)?logs/(.+)", re.DOTALL)
_OLD = 30 * 86400


class RefsMender(Mendable):
    """Lets refs lead where they led, or further on."""

    # -- refs ----------------------------------------------------------------------------------

    def put_tables(self) -> None:
        """Put back refs that are kept in tables, where git cannot read them any more."""
        if self.run("for-each-ref", "--count=1").code == 0:
            return
        self.destroyed.append("the refs")
        self.note()
        for name in (*self.now, *self.record.small):
            if name.startswith("reftable/"):
                self.put_small(name)

    def put_refs(self) -> None:
        """Put back refs that are gone, broken, or moved elsewhere than on."""
        before, unread = read_refs(self.record.copies)
        after, broken = read_refs(self.path)
        base = self.record.base
        back = {
            name: value
            for name, value in before.items()
            if after.get(name) != value
            and name != "refs/stash"
            and not self._may_move(name, base.get(name), after.get(name), broken, before)
        }
        gone = [
            name
            for name in {*after, *broken} - before.keys() - unread
            if name.startswith("refs/replace/")
            or name in broken
            or not self._is_intact(after[name], before.values())
        ]
        is_packed = "packed-refs" in self.now or "packed-refs" not in self.record.small
        if not back and not gone and is_packed:
            return
        shown = [_shown(name, value) for name, value in sorted(back.items())]
        self.destroyed += [*shown[:SHOWN], *([more_of(shown, "ref")] if shown[SHOWN:] else [])]
        self.destroyed += [f"history, by `{name}`" for name in gone if "/replace/" in name][:1]
        self.mended += [f"`{name}`, which led nowhere" for name in gone if "/replace/" not in name]
        self.note()
        if not is_packed:
            self.put_small("packed-refs")
        for name in gone:
            remove_entry(f"{self.path}/{name}")
        for name, value in back.items():
            self.write(name, f"{value}\n")
        at = head_of(self.path + "/" + self.own) or ""
        self.wants_index = at.removeprefix("ref: ") in back

    def _may_move(
        self, name: str, base: str | None, new: str | None, broken: set[str], before: Refs
    ) -> bool:
        """Say whether a ref may lead elsewhere now, or nowhere."""
        if name.startswith(_FREE) or self.moved(name):
            return True
        if new is None:
            return base is None and name not in broken
        if not self._is_intact(new, before.values()):
            return False
        if base is None or new.startswith("ref: ") or name.startswith("refs/remotes/"):
            return True
        return not name.startswith("refs/tags/") and self.is_forward(base, new)

    def is_forward(self, old: str, new: str) -> bool:
        """Say whether a commit leads back to another one."""
        return old == new or self.run("merge-base", "--is-ancestor", old, new).code == 0

    def _is_intact(self, value: str, known: Iterable[str]) -> bool:
        """Say whether all that a ref leads to is there, as far as it is new."""
        if value.startswith("ref: "):
            return True
        names = [each for each in known if not each.startswith("ref: ")]
        if value in names:
            return True
        lines = "\n".join([value, *(f"^{name}" for name in names)])
        words = ("rev-list", "--objects", "--quiet", "--ignore-missing", "--stdin")
        if self.run("cat-file", "-e", value).code != 0:
            return False
        return self.run(*words, given=f"{lines}\n".encode()).code == 0

    # -- stashes and reflogs -------------------------------------------------------------------

    def put_stashes(self) -> None:
        """Put back stashes, those that the agent made on top."""
        kept, there = stashes(self.record.copies), stashes(self.path)
        mine = self.record.base.get(STASHES, "").split()
        leads = read_refs(self.path)[0].get("refs/stash")
        last = there[-1] if there else None
        if there[: len(mine)] == mine and (leads == last or not mine):
            return
        lost = [each for each in kept if each not in there]
        self.destroyed.append(many(len(lost), "stash") if lost else "`stash`")
        self.note()
        lines = _lines(f"{self.record.copies}/{STASHES}")
        lines += [line for line in _lines(f"{self.path}/{STASHES}") if _id(line) not in kept]
        chained, before = [], self.record.no_id.encode()
        for line in lines:
            chained.append(before + line[len(before) :])
            before = line.split(b" ", 2)[1]
        self.write(STASHES, b"".join(line + b"\n" for line in chained))
        self.write("refs/stash", before + b"\n")

    def put_logs(self) -> None:
        """Put back lines of reflogs, what the agent did below them."""
        refs, _ = read_refs(self.path)
        cut: list[str] = []
        for name, state in self.record.small.items():
            found = LOG.fullmatch(name)
            if found is None or name == STASHES or self.now.get(name) == state:
                continue
            of = found[2]
            if name not in self.now and of != HEAD and of not in refs:
                continue  # gone with its ref, which nobody misses
            if found[1] and self.moved(f"worktrees/{found[1]}"):
                continue
            before = _lines(f"{self.record.copies}/{name}")
            after = _lines(f"{self.path}/{name}")
            if after[: len(before)] == before:
                continue
            there = set(after)
            lost = [line for line in before if line not in there]
            if lost and all(map(_is_old, lost)):
                self.mended.append("old lines of a reflog")
            else:
                cut.append(f"the reflog of `{of.removeprefix('refs/heads/')}`")
            self.note(cut)
            known = set(before)
            lines = [*before, *(line for line in after if line not in known)]
            self.write(name, b"".join(line + b"\n" for line in lines))
        self.destroyed += cut if len(cut) < 2 else [f"{len(cut)} reflogs"]


def _lines(path: str) -> list[bytes]:
    try:
        with open(path, "rb") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _id(line: bytes) -> str:
    words = line.split(b" ", 2)
    return words[1].decode("ascii", "replace") if len(words) == 3 else ""


def _is_old(line: bytes) -> bool:
    """Say whether a line of a reflog is so old that git's own housekeeping may take it."""
    words = line.partition(b"\t")[0].rsplit(b" ", 2)
    return len(words) == 3 and words[1].isdigit() and int(words[1]) < time.time() - _OLD


def _shown(name: str, value: str) -> str:
    for prefix in ("refs/heads/", "refs/tags/", "refs/remotes/"):
        if name.startswith(prefix):
            name = name.removeprefix(prefix)
            break
    return f"`{name}`" if meaning(value) is None else f"`{name}` at {value[:10]}"

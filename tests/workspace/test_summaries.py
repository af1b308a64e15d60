"""Of a folder that is summarised it is known which files are not as they were."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planbound.workspace import summaries
from planbound.workspace.manifest import Manifest
from planbound.workspace.scan import scan
from planbound.workspace.summaries import Summaries


class Scene:
    """A workspace with an environment, and what was kept of it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.site = self.root / ".venv" / "lib"
        self.site.mkdir(parents=True)
        (self.root / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
        for name in ("a.py", "b.py", "data.txt"):
            (self.site / name).write_text(f"{name} as it was\n")
        (self.site / "link").symlink_to("a.py")
        self.kept = Summaries(str(folder / "kept"))
        self.before = self.keep()

    def keep(self) -> Manifest:
        """Read and keep."""
        found = scan(str(self.root))
        self.kept.keep(str(self.root), found)
        return found

    def changed(self) -> tuple[str, ...] | None:
        """Return what changed since."""
        now = scan(str(self.root))
        before = self.before.entries[b".venv"]
        assert now.entries[b".venv"] != before
        return self.kept.changed(str(self.root), ".venv", before.content, now)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def _rewrite(path: Path, text: str) -> None:
    """Write as many bytes as there were, and set the times back."""
    found = path.stat()
    assert len(text) == found.st_size
    path.write_text(text)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def test_a_change_of_the_same_size_and_time_is_named(scene: Scene) -> None:
    _rewrite(scene.site / "a.py", "a.py as I like\n")
    assert scene.changed() == (".venv/lib/a.py",)


def test_what_is_added_removed_linked_elsewhere_or_has_another_mode_is_named(scene: Scene) -> None:
    (scene.site / "evil.pth").write_text("import evil\n")
    (scene.site / "b.py").unlink()
    (scene.site / "link").unlink()
    (scene.site / "link").symlink_to("b.py")
    (scene.site / "data.txt").chmod(0o755)
    assert scene.changed() == tuple(
        f".venv/lib/{name}" for name in ("b.py", "data.txt", "evil.pth", "link")
    )


def test_what_only_looks_different_is_no_change(scene: Scene, tmp_path: Path) -> None:
    os.link(scene.site / "a.py", tmp_path / "another-project-has-it-too")
    _rewrite(scene.site / "b.py", "b.py as it was\n")
    (scene.site / "data.txt").touch()
    again = scene.site / "new"
    again.symlink_to("a.py")
    again.rename(scene.site / "link")
    assert scene.changed() == ()


def test_a_folder_that_nobody_kept_is_known_by_nobody(scene: Scene, tmp_path: Path) -> None:
    (scene.site / "a.py").write_text("x")
    scene.kept = Summaries(str(tmp_path / "elsewhere"))
    assert scene.changed() is None


def test_a_file_whose_content_was_not_read_yet_counts_as_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "_SECONDS", -1.0)
    scene = Scene(tmp_path)
    (scene.site / "data.txt").touch()
    assert scene.changed() == (".venv/lib/data.txt",)


def test_what_was_read_once_is_not_read_again_and_the_rest_is(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scene.site / "a.py").write_text("another\n")
    read: list[bytes] = []
    digest = summaries._digest

    def noted(path: bytes) -> bytes | None:
        read.append(os.path.basename(path))
        return digest(path)

    monkeypatch.setattr(summaries, "_digest", noted)
    scene.before = scene.keep()
    assert read == [b"a.py"]
    (scene.site / "b.py").touch()
    assert scene.changed() == ()


def test_a_record_that_is_damaged_is_none(scene: Scene, tmp_path: Path) -> None:
    for path in (tmp_path / "kept").iterdir():
        path.write_bytes(path.read_bytes()[:40])
    (scene.site / "a.py").touch()
    assert scene.changed() is None

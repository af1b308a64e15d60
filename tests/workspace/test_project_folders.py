"""What tools have made for a project, and where."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path

import pytest

from planbound.workspace.environment import made_folders, program_folder


def environment(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "pyvenv.cfg").touch()
    return folder


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("POETRY_CACHE_DIR", "XDG_CACHE_HOME", "RUSTUP_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def test_environments_by_any_name_are_found_at_the_top_and_beside_projects(tmp_path: Path) -> None:
    environment(tmp_path / "env")
    environment(tmp_path / "api/.venv")
    environment(tmp_path / "notes/.venv")
    (tmp_path / "web/node_modules").mkdir(parents=True)
    paths = ["README.md", "api/pyproject.toml", "web/package.json", "notes/a.txt"]
    assert list(made_folders(str(tmp_path), paths)) == ["env", "api/.venv", "web/node_modules"]


def test_the_environment_in_the_cache_of_poetry_is_found(tmp_path: Path, home: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "pyproject.toml").write_text('[tool.poetry]\nname = "My App"\n')
    cache = home / ".cache/pypoetry/virtualenvs"
    environment(cache / "my_app-00000000-py3.12")  # of another folder
    assert list(made_folders(str(workspace), ["pyproject.toml"])) == []
    # As poetry names it: the project's name, and a digest of its real path.
    mark = base64.urlsafe_b64encode(hashlib.sha256(bytes(workspace)).digest()).decode()[:8]
    environment(cache / f"my_app-{mark}-py3.11")
    environment(cache / f"my_app-{mark}-py3.12")
    assert list(made_folders(str(workspace), ["pyproject.toml"])) == [
        f"~/.cache/pypoetry/virtualenvs/my_app-{mark}-py3.12"
    ]


def test_programs_of_the_caller_are_named_without_the_name_of_a_home(home: Path) -> None:
    program(home / ".nvm/bin/node")
    program(home / ".asdf/shims/npm")
    program(home / ".cargo/bin/rustup")
    (home / ".cargo/bin/cargo").symlink_to("rustup")
    toolchain = program(home / ".rustup/toolchains/stable-x/bin/cargo").parent
    (home / ".rustup/settings.toml").write_text('default_toolchain = "stable-x"\n')
    folders = (".nvm/bin", ".asdf/shims", ".cargo/bin")
    path = os.pathsep.join(["relative", *(str(home / name) for name in folders)])
    assert program_folder("node", {"PATH": path}) == "~/.nvm/bin"
    assert program_folder("npm", {"PATH": path}) is None  # it would look into a home
    assert program_folder("cargo", {"PATH": path}) == f"~/{toolchain.relative_to(home)}"
    (home / ".rustup/settings.toml").unlink()
    assert program_folder("cargo", {"PATH": path}) is None
    assert program_folder("go", {"PATH": path}) is None

"""What cells show of a home: toolchains wherever people have them, and nobody's project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planbound.workspace.home import (
    hidden_parts,
    host_view,
    in_home,
    kept_in_tools,
    named_paths,
    narrow,
)

pytestmark = pytest.mark.requirement("cell.home")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home with a project in it."""
    home = tmp_path / "home"
    (home / "work" / "project").mkdir(parents=True)
    return home


def _file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def _shown(home: Path, *folders: Path) -> tuple[str, ...]:
    view = host_view(
        str(home / "work" / "project"), [str(each) for each in folders], {"HOME": str(home)}
    )
    return in_home(view)


def test_toolchains_and_caches_that_are_there_are_shown(home: Path) -> None:
    for name in (".cargo/bin/cargo", ".nvm/nvm.sh", ".cache/uv/x", ".aws/credentials", "go/src/x",
                 "go/bin/x", ".config/any/token", ".npm/_logs/log", ".npm/_cacache/x"):  # fmt: skip
        _file(home / name)
    assert _shown(home) == ("~/.cache/uv", "~/.cargo", "~/.npm/_cacache", "~/.nvm", "~/go/bin")


def test_programs_of_the_path_come_with_what_they_are_installed_with(home: Path) -> None:
    tool = _file(home / ".local/share/pipx/venvs/tool/bin/tool")
    own = _file(home / "apps/own/bin/own")
    script = _file(home / "scripts/script.sh")
    for target in (tool, own, script):
        (home / ".local/bin").mkdir(parents=True, exist_ok=True)
        (home / ".local/bin" / target.stem).symlink_to(target)
    for name in ("bin/node", "lib/node_modules/npm/x", "include/node.h", "share/man/x"):
        _file(home / "node-22" / name)
    _file(home / ".local/share/keyrings/login")
    assert _shown(home, home / ".local/bin", home / "node-22/bin") == (
        "~/.local/bin", "~/.local/share/pipx", "~/apps/own/bin", "~/node-22/bin",
        "~/node-22/include", "~/node-22/lib", "~/node-22/share", "~/scripts/script.sh",
    )  # fmt: skip


def test_packages_beside_the_home_come_with_the_folder_of_their_programs(home: Path) -> None:
    modules = home.parent / "elsewhere/node_modules"
    jest = _file(modules / "jest/bin/jest.js")
    (modules / ".bin").mkdir()
    (modules / ".bin/jest").symlink_to(jest)
    view = host_view(str(home / "work/project"), [str(modules / ".bin")], {"HOME": str(home)})
    assert str(modules) in view.tools


def test_a_prefix_of_the_path_shows_no_more_than_what_was_installed(home: Path) -> None:
    names = (
        *(".fly/bin/fly", ".fly/config.yml", ".fly/state/x", "scripts/deploy", "jdk/bin/java"),
        *("jdk/jmods/x", "jdk/conf/x", "go1/bin/go", "go1/pkg/tool/x", "go1/src/x"),
    )
    for name in names:
        _file(home / name)
    (home / "scripts/deploy.env").write_text("KEY=1\n")
    shown = _shown(home, home / ".fly/bin", home / "scripts", home / "jdk/bin", home / "go1/bin")
    assert shown == ("~/.fly/bin", "~/go1", "~/jdk", "~/scripts/deploy")


def test_many_programs_of_a_folder_are_counted(home: Path) -> None:
    for number in range(4):
        _file(home / f"scripts/run-{number}")
    assert _shown(home, home / "scripts") == ("~/scripts (4 programs)",)


_HIDDEN = """
    .cargo/.env .nvm/versions/node/v20/etc/npmrc .virtualenvs/x/pip.conf miniconda3/.condarc
    .dotnet/corefx/cryptography/x509stores/my/k.pfx .pyenv/credentials.toml .rbenv/auth.json
    .rustup/access_token .volta/keystores
    """.split()
_OPEN = """
    .cargo/env .cargo/bin/cargo .nvm/versions/node/v20/bin/npm .pyenv/versions/3/lib/token.py
    .rustup/settings.toml .pyenv/.git/config .conda/pkgs/x/ssl/cacert.pem .volta/tokenize
    """.split()


def test_secrets_in_toolchains_are_found_by_name(home: Path) -> None:
    for name in (*_HIDDEN[:-1], ".volta/keystores/main", *_OPEN):
        _file(home / name)
    assert _kept(home) == sorted(_HIDDEN)


@pytest.mark.parametrize(
    ("name", "text", "harmless"),
    [
        (".cache/pre-commit/r/.git/config", "url = https://me:word@host/x", "url = https://host/x"),
        (".cargo/git/db/x/FETCH_HEAD", "https://ghp_abc@host/x", "ab12 https://host/x"),
        (".conda/envs/x/ssl/own.pem", "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN CERTIFICATE"),
        (".cargo/config.toml", "[registry]\ntoken = 'abcdefgh'", "[net]\n# token = 'abcdefgh'"),
        (".elan/config.json", '{"access_token": "abcdefgh"}', '{"tokens": {}}'),
    ],
)
def test_secrets_in_toolchains_are_found_by_content(
    home: Path, name: str, text: str, harmless: str
) -> None:
    _file(home / name).write_text(harmless)
    assert _kept(home) == []
    (home / name).write_text(text)
    assert _kept(home) == [name]


def _kept(home: Path) -> list[str]:
    view = host_view(str(home / "work" / "project"), [], {"HOME": str(home)})
    return sorted(os.path.relpath(path, home) for path in kept_in_tools(view))


def test_a_program_of_a_project_does_not_show_the_project(home: Path) -> None:
    for name in ("other/bin/start", "other/.git/HEAD", "third/tools/bin/run", "third/.env"):
        _file(home / name)
    assert _shown(home, home / "other/bin", home / "third/tools/bin") == (
        "~/other/bin", "~/third/tools/bin",
    )  # fmt: skip


def test_a_home_that_is_a_repository_has_toolchains_all_the_same(home: Path) -> None:
    for name in (".git/HEAD", "node-22/bin/node"):
        _file(home / name)
    assert _shown(home, home / "node-22/bin") == ("~/node-22/bin",)


def test_no_folder_of_the_path_shows_the_home_or_what_is_beside_the_workspace(home: Path) -> None:
    _file(home / "bin/mine")
    assert _shown(home, home, home / "work", home.parent, home / "bin") == ("~/bin",)


def test_a_home_that_is_the_workspace_is_no_home_of_a_cell(home: Path) -> None:
    view = host_view(str(home), [], {"HOME": str(home)})
    assert view.home is None
    assert host_view(str(home.parent), [], {"HOME": str(home)}).home is None


def test_an_environment_shows_no_hidden_folder_that_has_no_python(home: Path) -> None:
    """An agent could write its name into a file of the environment."""
    for name in (".aws/credentials", ".venvs/mine/pyvenv.cfg", ".tool/lib/x", "lib/src/x.py"):
        _file(home / name)
    view = host_view(str(home / "work" / "project"), [], {"HOME": str(home)})
    named = [str(home / name) for name in (".aws", ".venvs/mine", ".tool/lib", "lib/src")]
    assert list(hidden_parts(named, view)) == [str(home / ".aws"), str(home / ".tool/lib")]


def test_what_holds_a_whole_home_is_left_out(home: Path) -> None:
    paths = [str(home), str(home.parent), "/", str(home / "x")]
    assert list(narrow(paths, (str(home),))) == [str(home / "x")]


def test_variables_that_are_no_paths_lead_nowhere(home: Path) -> None:
    given = {"A": str(home), "B": "word", "C": str(home / "missing"), "PATH": os.sep}
    assert list(named_paths(("A", "B", "C", "D", "PATH"), given)) == [str(home)]

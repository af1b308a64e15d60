"""What a cell shows of the home and of the machine: a list, and nothing that is not on it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from planbound.cells.cell import HostView
from tests.cells import cell_bench
from tests.cells.cell_bench import APART, WALLED, Bench, cells

pytestmark = pytest.mark.requirement("cell.home")

bench = cell_bench.bench

SECRETS = (
    ".age/key.txt", ".cache/huggingface/token", ".config/stripe/config.toml", ".oci/config",
    ".bash_history", "other/.env", ".config/any/thing", ".netrc", ".aws/credentials", "notes.txt",
    ".cargo/credentials.toml", ".local/share/keyrings/login", ".local/state/tool/log",
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home with tools, a cache, and secrets all over it."""
    home = tmp_path / "home"
    for name in (*SECRETS, ".cargo/bin/tool", ".cache/uv/wheel", ".local/bin/other"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"content of {name}\n")
    return home


def _view(home: Path) -> HostView:
    return HostView(
        home=str(home),
        closed=(str(home),),
        tools=(str(home / ".cargo"), str(home / ".local/bin")),
        caches=(str(home / ".cache/uv"),),
    )


@cells(*WALLED)
@pytest.mark.parametrize("writable", [True, False])
def test_a_home_has_what_is_on_the_list_and_nothing_else(
    bench: Bench, home: Path, *, writable: bool
) -> None:
    masked = (str(home / ".cargo/credentials.toml"),)
    files = [path for path in home.rglob("*") if path.is_file()]
    words = " ".join(f"{path} /proc/self/root{path}" for path in files)
    said = bench.says(
        f"cat {words} 2> /dev/null | sort -u",
        view=_view(home),
        masked=masked,
        writable=writable,
    )
    shown = {"content of .cargo/bin/tool", "content of .local/bin/other"}
    assert set(said.splitlines()) == shown | {"content of .cache/uv/wheel"}


@cells("namespaces")
def test_the_home_is_at_its_own_path_and_written_privately(bench: Bench, home: Path) -> None:
    said = bench.says(
        "echo $HOME; echo new > ~/.cargo/bin/tool; echo x > ~/.cargo/lock; echo x > ~/.cache/uv/n;"
        " rm ~/.local/bin/other; echo x > ~/mine; cat ~/.cargo/bin/tool ~/mine; ls ~/.local/bin",
        view=_view(home),
        writable=True,
    )
    assert said == f"{home}\nnew\nx\n"
    assert (home / ".cargo/bin/tool").read_text() == "content of .cargo/bin/tool\n"
    assert not (home / ".cargo/lock").exists()
    assert os.listdir(home / ".cache/uv") == ["wheel"]
    assert (home / ".local/bin/other").exists()
    assert not (home / "mine").exists()


@cells(*APART)
def test_what_is_kept_of_a_home_is_there_the_next_time(
    bench: Bench, home: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    given = {"view": _view(home), "writable": True, "kept_home": str(kept)}
    bench.says("echo session > ~/session", **given)
    assert bench.says("cat ~/session", **given) == "session\n"


@cells(*APART)
def test_links_in_a_kept_home_lead_no_mount_elsewhere(
    bench: Bench, home: Path, tmp_path: Path
) -> None:
    kept, aim = tmp_path / "kept", tmp_path / "aim"
    kept.mkdir()
    aim.mkdir()
    (kept / ".local").symlink_to(aim)
    (kept / ".cargo").symlink_to(aim)
    bench.says("ls ~", view=_view(home), writable=True, kept_home=str(kept))
    assert os.listdir(aim) == []


@cells(*APART)
def test_a_workspace_in_the_home_is_there_and_its_neighbours_are_not(
    bench: Bench, home: Path, tmp_path: Path
) -> None:
    workspace = home / "deep" / "project"
    workspace.mkdir(parents=True)
    (workspace / "file").write_text("as it was\n")
    (home / "deep" / "other").mkdir()
    script = f"cat file; ls ..; cd {home} && ls deep; echo x > deep/project/new"
    request = bench.request(script, view=_view(home), writable=True)
    outcome = bench.cell.run(request._replace(workspace=str(workspace)))
    assert outcome.stdout.text() == "as it was\nproject\nproject\n"
    assert (workspace / "new").exists()


@cells(*APART)
def test_a_closed_folder_has_only_what_is_shown(bench: Bench, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    for name in ("shown/file", "beside/file"):
        (closed / name).parent.mkdir(parents=True)
        (closed / name).write_text(name)
    said = bench.says(
        f"ls {closed}; cat {closed}/shown/file; echo x > /srv/new || echo refused",
        view=HostView(closed=(str(closed), "/var", "/home", "/root", "/srv")),
        exposed=(str(closed / "shown"),),
    )
    assert said == "shown\nshown/filerefused\n"
    assert bench.says(
        "ls -A /home /srv /var/lib 2> /dev/null; test -d /var/tmp && echo x > /var/tmp/x",
        view=HostView(closed=("/var", "/home", "/root", "/srv")),
        masked=(),
    ).split() == [line for line in ("/home:", "/srv:") if os.path.isdir(line[:-1])]


@cells(*APART)
@pytest.mark.parametrize("network", [True, False])
def test_no_socket_of_the_host_answers(
    bench: Bench, home: Path, tmp_path: Path, *, network: bool
) -> None:
    """Neither one in the home, nor one that is shown with a toolchain, nor one in the workspace."""
    places = [
        home / "docker.sock",
        home / ".cargo" / "s",
        bench.workspace / "s",
        tmp_path / "exposed" / "s",
    ]
    (tmp_path / "exposed").mkdir()
    listeners = []
    for place in places:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(place))
        listener.listen()
        listeners.append(listener)
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0planbound-{os.getpid()}")
    abstract.listen()
    script = f"""
import socket
for place in {[str(place) for place in places] + [f"{chr(0)}planbound-{os.getpid()}"]!r}:
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.connect(place)
            print("answers:", place)
        except OSError:
            pass
"""
    bench.write("try.py", script)
    said = bench.says(
        "/usr/bin/python3 try.py",
        view=_view(home),
        writable=True,
        network=network,
        exposed=(str(tmp_path / "exposed"),),
    )
    for listener in (*listeners, abstract):
        listener.close()
    assert said == ""

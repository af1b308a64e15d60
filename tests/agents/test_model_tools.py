"""The tools of the kind `model`: what they do in a real cell, and what they refuse."""

import os
import socket
from pathlib import Path

import pytest

from tests.agents.model_scene import KEY, ModelScene
from tests.agents.script import Reply


@pytest.fixture
def scene(tmp_path: Path) -> ModelScene:
    return ModelScene(tmp_path)


def test_reading_gives_the_lines_that_were_asked_for_with_their_numbers(scene: ModelScene) -> None:
    scene.put("a.txt", "".join(f"line {number}\n" for number in range(1, 1001)))

    all_of_it, part, beyond = scene.says_all(
        ("read", {"path": "a.txt"}),
        ("read", {"path": "a.txt", "start": 500, "lines": 2}),
        ("read", {"path": "a.txt", "start": 1001}),
    )

    assert all_of_it.startswith("1\tline 1\n2\tline 2\n")
    assert all_of_it.endswith("400\tline 400\n[lines 1 to 400 of 1000; read on with start=401]")
    assert (
        part == "500\tline 500\n501\tline 501\n[lines 500 to 501 of 1000; read on with start=502]"
    )
    assert beyond == "refused: `a.txt` has 1000 lines, and none at 1001"


@pytest.mark.thorough
def test_what_cannot_be_read_as_text_is_said(scene: ModelScene) -> None:
    scene.put("binary", b"ab\0cd")
    scene.put("latin", "gr\xfcn".encode("latin-1"))
    scene.put("long", "x" * 100_000)
    with scene.put("huge", b"").open("r+b") as file:
        file.truncate(1 << 30)
    os.mkfifo(scene.workspace / "pipe")

    paths = ("binary", "latin", "huge", "pipe", "absent", ".", "a\0b")
    answers = scene.says_all(*(("read", {"path": path}) for path in (*paths, "long")))

    assert answers[0] == "refused: `binary` is a binary file (5 bytes)"
    assert answers[1] == "refused: `latin` is not UTF-8 text (4 bytes)"
    assert answers[2].startswith("refused: `huge` is too large (1073741824 bytes)")
    assert answers[3] == "refused: `pipe` is not a plain file"
    assert answers[4] == "refused: there is no `absent`"
    assert answers[5] == "refused: `.` is a folder: use `list`"
    assert answers[6].startswith("refused: ")
    assert answers[7].endswith("[cut: 100000 characters]")
    assert len(answers[7]) < 1100


@pytest.mark.thorough
def test_an_edit_replaces_what_is_there_exactly_once(scene: ModelScene) -> None:
    path = scene.put("a.py", "x = 1\ny = 1\nx = 1\n")
    path.chmod(0o755)
    scene.put("dos.txt", b"one\r\ntwo\r\n")

    answers = scene.says_all(
        ("edit", {"path": "a.py", "old": "x = 1", "new": "x = 2"}),
        ("edit", {"path": "a.py", "old": "z = 1", "new": "z = 2"}),
        ("edit", {"path": "a.py", "old": "y = 1", "new": "y = 2"}),
        ("edit", {"path": "a.py", "old": "x = 1", "new": "x = 3", "everywhere": True}),
        ("edit", {"path": "a.py", "old": "", "new": "x"}),
        ("edit", {"path": "dos.txt", "old": "one\ntwo", "new": "1\n2"}),
    )

    assert answers[0].startswith("refused: `old` is in `a.py` 2 times (lines 1, 3)")
    assert answers[1].startswith("refused: `old` is not in `a.py`")
    assert answers[2] == "replaced 1 time in `a.py`"
    assert answers[3] == "replaced 2 times in `a.py`"
    assert answers[4].startswith("refused: `old` is empty")
    assert path.read_text() == "x = 3\ny = 2\nx = 3\n"
    assert path.stat().st_mode & 0o777 == 0o755
    assert (scene.workspace / "dos.txt").read_bytes() == b"1\r\n2\r\n"


@pytest.mark.requirement("agent-model.workspace")
def test_no_file_tool_leaves_the_workspace(scene: ModelScene) -> None:
    secret = scene.folder / "secret"
    secret.write_text("a secret\n")
    (scene.workspace / "link").symlink_to(secret)
    (scene.workspace / "folder").symlink_to(scene.folder)
    (scene.workspace / "new").symlink_to(scene.folder / "not-there")
    scene.put("inside", "in it\n")
    (scene.workspace / "good").symlink_to("inside")

    answers = scene.says_all(
        ("read", {"path": "../secret"}),
        ("read", {"path": str(secret)}),
        ("read", {"path": "link"}),
        ("read", {"path": "folder/secret"}),
        ("list", {"path": "folder"}),
        ("search", {"pattern": "secret", "path": "folder"}),
        ("edit", {"path": "link", "old": "a secret", "new": "none"}),
        ("write", {"path": "new", "content": "none"}),
        ("write", {"path": "../../other", "content": "none"}),
        ("search", {"pattern": "secret"}),
        ("read", {"path": "good"}),
    )

    assert all(answer.endswith("is outside the workspace") for answer in answers[:9]), answers
    assert answers[9:] == ["[nothing found]", "1\tin it"]
    assert secret.read_text() == "a secret\n"
    assert not (scene.folder / "not-there").exists()


@pytest.mark.thorough
def test_a_judge_that_may_not_be_touched_is_refused_by_every_tool(tmp_path: Path) -> None:
    scene = ModelScene(tmp_path, read_only=("tests",))
    judge = scene.put("tests/test_a.py", "assert right\n")

    edited, written, new, ran = scene.says_all(
        ("edit", {"path": "tests/test_a.py", "old": "assert right", "new": "pass"}),
        ("write", {"path": "tests/test_a.py", "content": ""}),
        ("write", {"path": "tests/conftest.py", "content": ""}),
        ("shell", {"command": "echo > tests/test_a.py"}),
    )

    assert [answer.startswith("refused: `tests/") for answer in (edited, written, new)] == [
        True
    ] * 3
    assert ran.startswith("[exit code 1]")
    assert judge.read_text() == "assert right\n"
    assert not (scene.workspace / "tests" / "conftest.py").exists()


@pytest.mark.thorough
def test_files_are_listed_searched_and_written(scene: ModelScene) -> None:
    scene.put("src/a.py", "def right():\n    return 1\n")
    scene.put("src/deep/b.txt", "right\n")
    scene.put("node_modules/c.py", "right\n")
    scene.put("image", b"right\0")

    answers = scene.says_all(
        ("list", {}),
        ("list", {"path": "src", "depth": 2}),
        ("search", {"pattern": r"\bright\b"}),
        ("search", {"pattern": "right", "glob": "*.py"}),
        ("search", {"pattern": "(("}),
        ("write", {"path": "new/folder/file.txt", "content": "grün\n"}),
        ("write", {"path": "src", "content": ""}),
    )

    assert answers[0] == "image (6 bytes)\nnode_modules/\nsrc/"
    assert answers[1] == "a.py (26 bytes)\ndeep/\ndeep/b.txt (6 bytes)"
    assert answers[2] == "src/a.py:1: def right():\nsrc/deep/b.txt:1: right"
    assert answers[3] == "src/a.py:1: def right():"
    assert answers[4].startswith("refused: the pattern is no regular expression")
    assert answers[5] == "made `new/folder/file.txt` (6 bytes)"
    assert answers[6] == "refused: `src` is a folder"
    assert (scene.workspace / "new/folder/file.txt").read_text() == "grün\n"


def test_what_is_no_text_does_not_stop_the_model(scene: ModelScene) -> None:
    (scene.workspace / os.fsdecode(b"gr\xfcn")).write_text("")

    listed, printed = scene.says_all(("list", {}), ("shell", {"command": "printf 'gr\\374n'"}))

    assert listed == "gr?n (0 bytes)"
    assert printed == "[exit code 0]\ngr\ufffdn"


@pytest.mark.thorough
def test_a_command_says_how_it_ended_and_its_output_is_kept_at_both_ends(scene: ModelScene) -> None:
    mixed, big, slow, daemon = scene.says_all(
        ("shell", {"command": "echo one; echo two >&2; echo three; exit 3"}),
        ("shell", {"command": "echo first; seq 1 2000000; echo last"}),
        ("shell", {"command": "echo begun; sleep 60", "seconds": 1}),
        ("shell", {"command": "sleep 60 >/dev/null 2>&1 & echo left"}),
    )

    assert mixed == "[exit code 3]\none\ntwo\nthree"
    assert big.startswith("[exit code 0]\nfirst\n1\n")
    assert big.endswith("2000000\nlast")
    assert "\n[cut: about " in big
    assert len(big) < 31_000
    assert slow == "[timed out after 1 seconds; everything of it was ended]\nbegun"
    assert daemon == "[exit code 0]\nleft"


@pytest.mark.requirement("agent-model.credential")
def test_no_tool_sees_the_credential(scene: ModelScene) -> None:
    worked = scene.works(
        Reply(shell="env"),
        Reply("Seen."),
        env=("SCRIPTED_API_KEY", "PLAIN"),
        environment={"SCRIPTED_API_KEY": KEY, "PLAIN": "passed", "PATH": "/usr/bin:/bin"},
    )

    (answer,) = scene.asked[-1].results
    assert worked.outcome.exit_code == 0
    assert scene.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert "PLAIN=passed" in answer
    assert KEY not in answer
    assert all(KEY not in repr(dispatch) for dispatch in scene.launched)
    assert KEY not in (scene.home / "session.json").read_text()
    assert scene.home.name not in repr(scene.launched)


def test_a_cell_without_network_reaches_nobody_but_the_model_is_still_asked(
    scene: ModelScene,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        scene.works(
            Reply(shell=f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"),
            Reply("Seen."),
            network=False,
        )

    (answer,) = scene.asked[-1].results
    assert answer.startswith("[exit code 1]")


def test_only_the_tools_that_are_configured_are_offered(scene: ModelScene) -> None:
    scene.works(Reply("Fine."), tools=("read", "search"))

    assert scene.asked[0].tools == ("read", "search", "blocked")


@pytest.mark.thorough
def test_whoever_looks_on_is_told_what_the_model_does(scene: ModelScene) -> None:
    scene.put("a", "1\n")
    scene.says_all(
        ("list", {}),
        ("read", {"path": "a"}),
        ("search", {"pattern": "x"}),
        ("edit", {"path": "a", "old": "1", "new": "2"}),
        ("write", {"path": "b", "content": ""}),
        ("shell", {"command": "pytest -q\n| cat"}),
    )

    assert scene.notes == [
        *("lists .", "reads a", "searches for x", "edits a", "writes b", "runs pytest -q | cat")
    ]

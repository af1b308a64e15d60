"""Which environment contracts and agents get: the project's, and nothing of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planbound.workspace.configuration import Configuration, Contracts
from planbound.workspace.environment import (
    SYSTEM_PATH,
    ProjectEnvironment,
    agent_variables,
    find_environment,
    hidden_fault,
    installed_copies,
    without_ours,
)
from tests.project_environment import make_environment

OWN = str(Path(sys.executable).parent)


def find(root: Path, *path: str, env: tuple[str, ...] = (), **given: str) -> ProjectEnvironment:
    configuration = Configuration(contracts=Contracts(path=path, env=env))
    return find_environment(configuration, str(root), given)


def made(folder: Path) -> Path:
    return make_environment(folder, packages=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.mark.requirement("environment.none-of-ours")
def test_without_an_environment_there_are_the_systems_programs(root: Path) -> None:
    found = find(root, PATH=f"{OWN}:/usr/bin", VIRTUAL_ENV=sys.prefix)
    assert found.path == SYSTEM_PATH
    assert found.found is None
    assert found.variables == {}
    assert found.passed_over == sys.prefix


@pytest.mark.requirement("environment.found")
@pytest.mark.parametrize("name", [".venv", "venv", ".hatch/default", ".hatch/only"])
def test_an_environment_in_the_workspace_is_the_projects(root: Path, name: str) -> None:
    prefix = made(root / name)
    found = find(root, VIRTUAL_ENV=sys.prefix)
    assert found.path == (str(prefix / "bin"), *SYSTEM_PATH)
    assert found.variables == {"VIRTUAL_ENV": str(prefix)}
    assert found.fault is None
    assert os.path.realpath(sys.base_prefix) in [os.path.realpath(path) for path in found.shown]


@pytest.mark.requirement("environment.found")
def test_what_is_configured_wins_over_what_is_found(root: Path, tmp_path: Path) -> None:
    made(root / ".venv")
    other = made(tmp_path / "other")
    tools = root / "tools"
    tools.mkdir()
    (root / "node_modules" / ".bin").mkdir(parents=True)
    by_path = find(root, str(other / "bin"), VIRTUAL_ENV=str(root / ".venv"))
    assert by_path.path == (
        str(other / "bin"),
        str(root / "node_modules" / ".bin"),
        *SYSTEM_PATH,
    )
    assert by_path.variables == {"VIRTUAL_ENV": str(other)}
    beside = find(root, "tools", VIRTUAL_ENV=str(other))
    assert beside.path[:3] == (
        str(tools),
        str(root / ".venv" / "bin"),
        str(root / "node_modules" / ".bin"),
    )


@pytest.mark.requirement("environment.found")
def test_the_callers_environment_counts_where_the_workspace_has_none(
    root: Path, tmp_path: Path
) -> None:
    other = made(tmp_path / "other")
    assert find(root, VIRTUAL_ENV=str(other)).variables == {"VIRTUAL_ENV": str(other)}
    conda = tmp_path / "conda"
    (conda / "conda-meta").mkdir(parents=True)
    assert find(root, CONDA_PREFIX=str(conda)).variables == {"CONDA_PREFIX": str(conda)}
    assert find(root, UV_PROJECT_ENVIRONMENT="../other").found is None
    (root / "pyproject.toml").write_text("")
    (root / ".venv").mkdir()
    found = find(root, UV_PROJECT_ENVIRONMENT="../other").found
    assert found is not None
    assert found.origin == "`$UV_PROJECT_ENVIRONMENT`"


@pytest.mark.requirement("environment.none-of-ours")
def test_a_passed_path_is_the_callers_without_ours(root: Path, tmp_path: Path) -> None:
    made(root / ".venv")
    linked = tmp_path / "linked"
    linked.symlink_to(OWN)
    found = find(root, env=("PATH",), PATH=f"{linked}:/opt/bin:{OWN}:/usr/bin")
    assert found.path == ("/opt/bin", "/usr/bin")
    assert found.variables == {}


@pytest.mark.requirement("environment.none-of-ours")
def test_nothing_of_ours_is_left_in_the_variables(root: Path) -> None:
    package = Path(sys.prefix) / "lib"
    cleaned = without_ours(
        {
            "PATH": f"{OWN}:/usr/bin:{sys.prefix}/bin",
            "PYTHONPATH": f"{package}:/srv/lib",
            "PYTHONHOME": sys.prefix,
            "VIRTUAL_ENV": sys.prefix,
            "CONDA_PREFIX": sys.prefix,
            "UV_TOOL_DIR": f"{sys.prefix}/tools",
            "UV_INDEX_URL": "https://index.example",
            "HOME": sys.prefix,
        },
        str(root),
    )
    assert cleaned == {
        "PATH": "/usr/bin",
        "PYTHONPATH": "/srv/lib",
        "UV_INDEX_URL": "https://index.example",
        "HOME": sys.prefix,
    }


@pytest.mark.requirement("environment.found")
def test_where_ours_is_the_projects_it_is_used(root: Path) -> None:
    (root / ".venv").symlink_to(sys.prefix)
    found = find(root, VIRTUAL_ENV=sys.prefix, PATH=f"{OWN}:/usr/bin")
    assert found.path[0] == str(root / ".venv" / "bin")
    given = agent_variables(Configuration(), str(root), {"PATH": f"{OWN}:/usr/bin"})
    assert given["PATH"].split(":")[0] == str(root / ".venv" / "bin")


@pytest.mark.requirement("environment.none-of-ours", "environment.found")
def test_an_agent_has_the_projects_programs_before_the_callers(root: Path) -> None:
    prefix = made(root / ".venv")
    before = {"PATH": f"{OWN}:/home/me/bin:/usr/bin", "VIRTUAL_ENV": sys.prefix, "KEY": "k"}
    given = agent_variables(Configuration(), str(root), before)
    assert given == {
        "PATH": f"{prefix}/bin:/home/me/bin:/usr/bin",
        "VIRTUAL_ENV": str(prefix),
        "KEY": "k",
    }


@pytest.mark.requirement("environment.broken")
def test_a_broken_environment_is_a_fault_with_its_cure(root: Path, tmp_path: Path) -> None:
    prefix = made(root / ".venv")
    (prefix / "bin" / "python").unlink()
    (prefix / "bin" / "python").symlink_to("/gone/python3.9")
    fault = find(root).fault
    assert fault is not None
    assert fault.message == "the environment `.venv` is broken: there is no `/gone/python3.9`"
    assert f"python3 -m venv --clear {prefix}" in fault.hint
    (prefix / "pyvenv.cfg").unlink()
    assert "no `pyvenv.cfg`" in str(find(root).fault)
    away = find(tmp_path, VIRTUAL_ENV="/gone/environment")
    assert "there is no folder `/gone/environment`" in str(away.fault)
    dangling = tmp_path / "dangling"
    dangling.mkdir()
    (dangling / ".venv").symlink_to("../nowhere")
    assert "is broken" in str(find(dangling).fault)


@pytest.mark.requirement("environment.unset")
def test_a_copy_of_the_project_in_its_environment_is_found(root: Path) -> None:
    site = next((made(root / ".venv") / "lib").glob("*/site-packages"))
    for package in (root / "src" / "shop", root / "tools", site / "shop", site / "other"):
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
    assert installed_copies(find(root), str(root)) == [("shop", "src/shop")]
    (site / "shop" / "__init__.py").unlink()
    assert installed_copies(find(root), str(root)) == []


@pytest.mark.requirement("environment.broken")
def test_an_environment_in_a_hidden_place_is_a_fault(root: Path, tmp_path: Path) -> None:
    prefix = made(tmp_path / "secrets" / "environment")
    found = find(root, VIRTUAL_ENV=str(prefix))
    assert hidden_fault(found, [str(tmp_path / "elsewhere")]) is None
    fault = hidden_fault(found, [str(tmp_path / "secrets")])
    assert fault is not None
    assert "which no cell shows" in fault.message


@pytest.mark.requirement("environment.broken", "environment.found")
def test_a_worktree_does_not_judge_the_files_of_another_one(tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    who = ("-C", str(main), "-c", "user.name=a", "-c", "user.email=a@b")
    for words in (
        ("init", "--quiet", str(main)),
        (*who, "commit", "--quiet", "--allow-empty", "--message", "x"),
        (*who, "worktree", "add", "--quiet", str(linked)),
    ):
        subprocess.run(["git", *words], check=True, capture_output=True)
    prefix = made(main / ".venv")
    taken = find(linked)
    assert taken.path[0] == str(prefix / "bin")
    assert taken.fault is None
    site = next((prefix / "lib").glob("*/site-packages"))
    (site / "__editable__.project.pth").write_text(f"{main}/src\n")
    for found in (find(linked), find(linked, VIRTUAL_ENV=str(prefix))):
        assert found.fault is not None
        assert f"installed from another worktree, `{main}`" in found.fault.message
    assert find(main).fault is None
    own = made(linked / ".venv")
    assert find(linked).path[0] == str(own / "bin")
    # A copy of the main worktree's environment leads there, too; one that was made here does not.
    link = next((own / "lib").glob("*/site-packages")) / "__editable___shop_finder.py"
    link.write_text(f"MAPPING = {{'shop': '{linked}/src/shop'}}\n")
    assert find(linked).fault is None
    link.write_text(f"MAPPING = {{'shop': '{main}/src/shop'}}\n")
    assert find(linked).fault is not None

"""A real git repository with named plans, each with an agent that follows a script."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.run.bench import Bench, Step, plan_text

HOOKS = (
    "post-checkout pre-commit commit-msg post-commit pre-merge-commit post-merge post-index-change "
    "reference-transaction post-rewrite pre-auto-gc update fsmonitor-watchman"
).split()


class Team(Bench):
    """A repository, its plans and worktrees, and the program."""

    def __init__(self, folder: Path, *, name: str = "repo", settings: str = "") -> None:
        super().__init__(folder, settings=settings, name=name)
        shutil.rmtree(self.workspace / ".git")
        self.git("init", "--quiet", "--initial-branch", "main")
        self.write("planbound.toml", self.settings)
        (self.workspace / ".gitignore").write_text(".harness/\nplanbound.toml\n*.ignored\n")
        self.commit("begin")

    def git(self, *words: str, cwd: Path | None = None, check: bool = True) -> str:
        """Run git as a person does."""
        done = subprocess.run(
            ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *words],
            cwd=cwd or self.workspace,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder / "home"),
                "LC_ALL": "C.UTF-8",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.strip()

    def commit(self, message: str, cwd: Path | None = None) -> str:
        """Commit everything that is there; return the commit."""
        self.git("add", "--all", cwd=cwd)
        self.git("commit", "--quiet", "--allow-empty", "-m", message, cwd=cwd)
        return self.git("rev-parse", "HEAD", cwd=cwd)

    def named(
        self,
        name: str,
        *steps: Step,
        depends_on: str = "",
        touches: str | None = None,
        approve: bool = True,
        **more: Any,
    ) -> str:
        """Write a plan with an agent of its own, and approve it; return its name."""
        mine = [replace(step, target=f"coder-{name}") for step in steps or (Step(f"make {name}"),)]
        if touches is None:
            touches = ", ".join(f'"{glob}"' for step in mine for glob in _globs(step))
        agent = self.agent(f"coder-{name}", *mine)
        table = f'[agents.coder-{name}]\nkind = "command"\ncommand = ["{agent}"]\n'
        if table not in self.settings:
            self.settings = table + self.settings
        self.write("planbound.toml", self.settings)
        more.setdefault("after", [f"grep -qx right {mine[-1].file}"])
        text = plan_text(*mine, touches=touches, **more)
        if depends_on:
            text = text.replace("---\ntype", f"---\ndepends_on: [{depends_on}]\ntype", 1)
        if not touches:
            text = text.replace("touches: []\n", "", 1)
        self.write(f".harness/PLAN-{name}.md", text)
        if approve:
            self.approve(name)
        return name

    def worktree(self, name: str) -> Path:
        """Return where the worktree of a plan is by default."""
        return self.workspace.parent / f"{self.workspace.name}.worktrees" / name

    def tip(self, branch: str = "main") -> str:
        """Return the commit of a branch."""
        return self.git("rev-parse", branch)

    def contains(self, branch: str, commit: str) -> bool:
        """Say whether a commit is in a branch, by its id."""
        return commit in self.git("rev-list", branch).split()

    def worktrees(self, *, kept: bool = False) -> list[str]:
        """Return the worktrees that git knows; `kept`: with the one in which merges are judged."""
        lines = self.git("worktree", "list", "--porcelain").splitlines()
        found = [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]
        return [path for path in found if kept or not path.endswith("/merged/checkout")]

    def traps(self) -> Path:
        """Let everything that git may run leave a trace; return where the trace would be."""
        trace = self.folder / "trace"
        script = self.folder / "trap"
        script.write_text(f'#!/bin/sh\necho "$0 $*" >> "{trace}"\ncat 2>/dev/null\nexit 0\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        hooks = Path(self.git("rev-parse", "--git-common-dir"))
        hooks = (self.workspace / hooks / "hooks").resolve()
        hooks.mkdir(exist_ok=True)
        for hook in HOOKS:
            shutil.copy(script, hooks / hook)
        for key, value in {
            "core.fsmonitor": script,
            "filter.trap.clean": script,
            "filter.trap.smudge": script,
            "filter.trap.required": "true",
            "merge.trap.driver": f"{script} %A",
            "merge.default": "trap",
            "diff.external": script,
            "commit.gpgsign": "true",
            "gpg.program": script,
            "core.editor": script,
            "core.pager": script,
            "core.sshCommand": script,
            "credential.helper": script,
            "alias.worktree": f"!{script}",
            "alias.status": f"!{script}",
            "gc.auto": "1",
        }.items():
            self.git("config", key, str(value))
        return trace


def _globs(step: Step) -> list[str]:
    return (step.touches if step.touches is not None else step.file).split()

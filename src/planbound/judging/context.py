"""What it takes to judge contracts, put together for a workspace."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from planbound.cells.cell import Cell, HostView, Laid, Stage
from planbound.cells.isolation import Isolation, refuse_in_cell
from planbound.cells.orders import is_below
from planbound.cells.syntax import BashSyntax
from planbound.errors import BindingError, ConfigurationError
from planbound.git.repository import tracked_files
from planbound.journal.event import BaselineObserved, ContractEvaluated, EventKind, VerdictKind
from planbound.journal.record import Query
from planbound.script import FileUse, Script
from planbound.workspace.configuration import Configuration, HeldOut
from planbound.workspace.contents import RealTree, Tree
from planbound.workspace.context import Context
from planbound.workspace.environment import (
    ProjectEnvironment,
    cure_of,
    find_environment,
    hidden_fault,
    without_ours,
)
from planbound.workspace.held_out import is_file_of_cases, is_tracked
from planbound.workspace.home import (
    hidden_parts,
    host_view,
    kept_in_tools,
    named_paths,
    narrow,
    own_places,
)
from planbound.workspace.known import KnownFiles
from planbound.workspace.manifest import ScanRules
from planbound.workspace.measured import measured_tree, own_folders
from planbound.workspace.root import HARNESS, GitPlace, find_git, upwards
from planbound.workspace.vault import Vault, open_vault

if TYPE_CHECKING:
    from planbound.cells.scratch import Scratch
    from planbound.judging.measurement import Measurements


# -- judges that are kept outside the workspace, and laid into the cell of a contract only -------


_MAX_BYTES = 16 << 20


class HeldOutJudge(NamedTuple):
    """A file or folder that is laid for contracts."""

    path: str
    """Where it is."""
    target: str | None
    """Where it is laid, seen from the workspace; None: beside the tests, or over the root."""


def held_out_judges(root: str, configured: Sequence[HeldOut]) -> tuple[HeldOutJudge, ...]:
    """Return what is configured; refuse what cannot be used."""
    return tuple(HeldOutJudge(_path(root, item), item.target) for item in configured)


def laid_for(script: Script, judges: Sequence[HeldOutJudge]) -> tuple[Laid, ...]:
    """Return the files that are laid for a contract."""
    if not judges:
        return ()
    folder = _tested(script)
    return tuple(laid for judge in judges for laid in _laid(judge, folder))


def _path(root: str, item: HeldOut) -> str:
    path = os.path.realpath(os.path.join(root, os.path.expanduser(item.source)))
    real = os.path.realpath(root)
    if path == real or path.startswith(real + os.sep):
        raise ConfigurationError(
            f"`judging.held_out` names `{item.source}`, which lies in the workspace",
            hint="an agent can read what is in the workspace: keep it elsewhere",
        )
    if not os.path.exists(path):
        raise ConfigurationError(f"`judging.held_out` names `{item.source}`, which is not there")
    if is_tracked(real, path):
        raise ConfigurationError(
            f"`judging.held_out` names `{item.source}`, which the git repository has",
            hint="an agent can read what is committed: keep it outside of the repository",
        )
    return path


def _tested(script: Script) -> str:
    """Return the folder that a contract's runner is given, empty for the root."""
    for file in script.files:
        if file.use is FileUse.TESTED:
            name = file.path.split("::")[0]
            return os.path.dirname(name) if "." in os.path.basename(name) else name
    return ""


def _laid(judge: HeldOutJudge, folder: str) -> Iterator[Laid]:
    if not os.path.isdir(judge.path):
        target = judge.target or os.path.join(folder, os.path.basename(judge.path))
        if not is_file_of_cases(judge.path):
            yield _file(judge.path, target)
        return
    for parent, folders, names in os.walk(judge.path):
        folders.sort()
        for name in sorted(name for name in names if not is_file_of_cases(name)):
            path = os.path.join(parent, name)
            # A folder is laid over the root, each file where the folder has it.
            yield _file(path, os.path.join(judge.target or "", os.path.relpath(path, judge.path)))


def _file(path: str, target: str) -> Laid:
    try:
        with open(path, "rb") as file:
            content = file.read(_MAX_BYTES + 1)
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except OSError as error:
        raise ConfigurationError(
            f"a judge that is held out cannot be read: {path}: {error.strerror}"
        ) from error
    if len(content) > _MAX_BYTES:
        raise ConfigurationError(f"a judge that is held out is over {_MAX_BYTES >> 20} MB: {path}")
    return Laid(target, content, mode)


# -- what it takes to judge contracts ------------------------------------------------------------


class JudgingContext(NamedTuple):
    """What it takes to judge contracts in one workspace: values that are the same for all of them.

    It is apart from the `Context`: a run judges in copies of the workspace and in cells that end
    with it, each with another tree or cell in here, and the same configuration and journal.
    """

    cell: Cell
    tree: Tree
    vault: Vault
    syntax: BashSyntax
    rules: ScanRules
    configuration: Configuration
    environment: Mapping[str, str]
    """What a contract finds in its environment, apart from where it is."""
    masked: tuple[str, ...]
    """What no cell shows."""
    exposed: tuple[str, ...]
    """What a contract can read although its cell has that folder anew, or closes it."""
    view: HostView = HostView()
    """What cells show of the home and of the machine."""
    held_out: tuple[HeldOutJudge, ...] = ()
    """The judges that are laid into the contract's cell only, and that no agent sees."""
    git_root: str | None = None
    """Where git can say which folders it ignores; None: nowhere."""
    git_folders: tuple[str, ...] = ()
    """Where git keeps what it knows of the workspace, as far as that is not in it."""
    recorded: tuple[str, ...] = ()
    """Where else a table may be written: git's folders, plans. Its product does not see them."""
    lay: tuple[Laid, ...] = ()
    """Files that are others in the tree than in the workspace (`judging/control.py`)."""
    remove: tuple[str, ...] = ()
    """Files of the workspace that the tree does not have."""
    fault: tuple[str, str] | None = None
    """Why the project's own programs cannot be used, and what to do about it."""
    cure: str = "name its folder in `[contracts] path`"
    """What to do about a program or module that contracts do not find."""
    measurements: Measurements | None = None
    """What was measured before; None: everything is measured anew."""
    on_stage: Callable[[Stage | None], None] = lambda _stage: None
    """Shows somebody who waits what is judged now; None: nothing any more."""

    @property
    def hidden_from_agents(self) -> tuple[str, ...]:
        """What an agent's cell does not show."""
        return (*self.masked, *(judge.path for judge in self.held_out))


# -- places of secrets, which no cell shows ------------------------------------------------------


_IN_HOME = """
    .ssh .gnupg .aws .azure .kube .docker .netrc .git-credentials .pypirc .npmrc .yarnrc.yml
    .vault-token .password-store .pgpass .my.cnf .boto .s3cfg .terraform.d .terraformrc
    .config/gcloud .config/gh .config/glab-cli .config/hub .config/op .config/doctl .config/rclone
    .config/git/credentials .config/containers .m2/settings.xml .gradle/gradle.properties
    .bash_history .zsh_history .python_history .psql_history .node_repl_history
    .config/planbound .config/google-chrome .config/chromium .config/BraveSoftware .mozilla
    .local/share/keyrings .cargo/credentials .cargo/credentials.toml .gem/credentials
    .pub-cache/credentials.json .local/share/uv/credentials .local/share/gem/credentials
    .stack/upload .dotnet/corefx .foundry/keystores .cabal/config .rvm/user
    .npm-global/etc/npmrc .npm-packages/etc/npmrc .local/etc/npmrc
    .claude .claude.json .codex .gemini .config/opencode .config/goose
    """.split()
_ON_HOST = """
    /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssh
    /etc/ssl/private /etc/pki/tls/private /etc/letsencrypt /etc/kubernetes /etc/rancher
    /etc/NetworkManager/system-connections /etc/wireguard /etc/openvpn /etc/krb5.keytab /etc/docker
    /var/lib/docker /var/run/docker.sock /run/docker.sock
    """.split()
_MAY_HOLD = (".cargo/config.toml", ".cargo/config")
"""Settings that toolchains need, and in which some people keep a token."""
_SOCKETS = ("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST")


def secret_places(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return what is there of it, by absolute path."""
    home = environment.get("HOME") or os.path.expanduser("~")
    found = [os.path.join(home, name) for name in _IN_HOME]
    found += _ON_HOST
    for name in _SOCKETS:
        # `unix:path=/run/user/0/bus,guid=…` and `unix:///run/docker.sock` name a path too.
        value = environment.get(name, "").removeprefix("unix:").removeprefix("path=")
        path = value.split(",")[0].split(":")[0]
        if path.startswith("/"):
            found.append(os.path.normpath(path))
    if environment.get("XDG_RUNTIME_DIR"):
        found.append(environment["XDG_RUNTIME_DIR"])
    found += [path for path in (os.path.join(home, name) for name in _MAY_HOLD) if _has_token(path)]
    found += own_places(environment)
    return tuple(dict.fromkeys(path for path in found if os.path.lexists(path)))


def _has_token(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return re.search(rb"(?mi)^[^#\n]*\btoken\s*=", file.read(1 << 20)) is not None
    except OSError:
        return False


# -- puts together what judging needs ------------------------------------------------------------


def scratch(context: Context) -> Scratch:
    """Return where cells have their folders."""
    from planbound.cells.scratch import Scratch  # noqa: PLC0415 - not without a cell

    return Scratch(os.path.join(context.state.folder, "cells"))


def judging_context(
    context: Context, cell: Cell | None = None, *, beside_agent: bool = False
) -> JudgingContext:
    """Return the parts for judging; the strongest cell unless one is given.

    `beside_agent`: whether an agent works in the tree outside of any cell meanwhile.
    """
    refuse_in_cell()
    hide_harness()
    configuration = context.configuration
    cell = cell or strongest_cell(context)
    tree, rules = measured_tree(context)
    walled = cell.isolation.reaches(Isolation.I1) and not beside_agent
    tree = RealTree(tree.root, _known_files(context, tree.root, walled=walled))
    own = own_folders(context)
    project = find_environment(configuration, tree.root)
    git = _git_of(tree.root)
    of_git = tuple(_git_folders(git, tree.root))
    folders = without_ours(os.environ, tree.root).get("PATH", "").split(os.pathsep)
    view = host_view(tree.root, (*project.path, *folders), os.environ)
    hidden = tuple(hidden_parts(project.shown, view))
    exposed = exposed_places(configuration, tree.root)
    kept = [path for path in kept_in_tools(view) if path not in exposed]
    masked = (*secret_places(os.environ), *own, *kept)
    return JudgingContext(
        cell=cell,
        tree=tree,
        vault=open_vault(context),
        syntax=BashSyntax(),
        rules=rules,
        configuration=configuration,
        environment=contract_environment(configuration, tree.root, project),
        masked=masked,
        view=view._replace(
            closed=(*view.closed, *_around(git, tree.root)),
            sealed=(*view.sealed, *own, *own_places(os.environ)),
        ),
        exposed=(
            *exposed,
            *narrow(
                [path for path in project.shown if path not in hidden],
                (tree.root, view.home or ""),
            ),
            *narrow((*of_git, *_neighbours(git, tree.root, view.home)), (view.home or "",)),
            *narrow(named_paths(configuration.contracts.env, os.environ), (view.home or "",)),
        ),
        held_out=held_out_judges(tree.root, configuration.judging.held_out),
        git_root=None if git is None else tree.root,
        git_folders=of_git,
        recorded=tuple(_recorded(of_git, tree.root)),
        # Who works beside it without walls can change what is looked at, and keep its times.
        measurements=_measurements(context) if walled else None,
        on_stage=context.on_stage,
        cure=cure_of(project),
        fault=project.fault or hidden_fault(project, (*masked, *hidden)),
    )


def _measurements(context: Context) -> Measurements:
    from planbound.judging.measurement import FOLDER, Measurements  # noqa: PLC0415 - in a circle

    folder = os.path.join(context.state.folder, FOLDER)
    return Measurements(folder, context.existing_journal, context.now, fresh=context.fresh)


def _known_files(context: Context, root: str, *, walled: bool) -> KnownFiles | None:
    """Return what is known of the files of a workspace; nothing where an agent has no walls.

    It may set the clock, or let the kernel move a file's blocks: then looks prove nothing.
    """
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    file = os.path.join(context.state.folder, "known", name)
    if walled:
        return KnownFiles(file)
    with contextlib.suppress(OSError):
        os.unlink(file)
    return None


def strongest_cell(context: Context) -> Cell:
    """Return the strongest cell that holds here; refuse where it is weaker than demanded."""
    refuse_in_cell()
    hide_harness()
    from planbound.cells.choose import choose  # noqa: PLC0415 - not without a cell

    return choose(scratch(context), demanded=context.configuration.judging.isolation)


def hide_harness() -> None:
    """Let no process of the same user look into this one."""
    if sys.platform.startswith("linux"):
        from planbound.cells.inside.kernel import (  # noqa: PLC0415 - loads ctypes
            give_back_large_blocks,
            hide_memory,
        )

        with contextlib.suppress(OSError):
            hide_memory()
        give_back_large_blocks()  # a tree of many files is made of them


def contract_environment(
    configuration: Configuration, root: str, project: ProjectEnvironment
) -> dict[str, str]:
    """Return what a contract finds in its environment."""
    given = without_ours(os.environ, root)
    environment = {name: given[name] for name in configuration.contracts.env if name in given}
    environment |= project.variables
    environment |= {
        "CI": "1",
        "LC_ALL": "C.UTF-8",
        "HOME": "{home}",
        "SHELL": "/bin/bash",
        "TERM": "dumb",
    }
    environment["PATH"] = os.pathsep.join(project.path)
    # Compiled files that lie where an agent can write are not trusted.
    environment["PYTHONPYCACHEPREFIX"] = "{home}/.pycache"
    if is_below(_package(), os.path.join(os.path.expanduser("~"), ".local", "lib")):
        environment["PYTHONNOUSERSITE"] = "1"  # what is installed there came with Planbound
    return environment


def exposed_places(configuration: Configuration, root: str) -> tuple[str, ...]:
    """Return what a contract can read although it may lie in a folder that a cell has anew."""
    contracts = configuration.contracts
    named = [
        os.path.join(root, os.path.expanduser(path)) for path in (*contracts.path, *contracts.read)
    ]
    # This package too: who starts it in a cell is to be told why it will not work there.
    return (sys.prefix, sys.base_prefix, _package(), *named)


def _package() -> str:
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _git_of(root: str) -> GitPlace | None:
    """Return where git keeps what it knows of the workspace."""
    try:
        return find_git(root)
    except BindingError:  # told by who looks for the plans
        return None


def git_folders(root: str) -> Iterator[str]:
    """Yield where git keeps what it knows of a workspace, as far as that is not in it."""
    yield from _git_folders(_git_of(root), root)


def _git_folders(git: GitPlace | None, root: str) -> Iterator[str]:
    """Yield the same, where its place is known."""
    if git is None:
        return
    objects = os.path.join(git.common, "objects")
    named = [git.common, os.path.join(git.top, ".git")]
    with contextlib.suppress(OSError, ValueError):
        with open(os.path.join(objects, "info", "alternates"), encoding="utf-8") as file:
            lines = [os.path.normpath(os.path.join(objects, line.strip())) for line in file]
        # An agent that writes another line finds it put back before it is read here.
        named += [path for path in lines if path.endswith("/objects")]
    yield from (path for path in dict.fromkeys(named) if not is_below(path, root))


def _recorded(git: Iterable[str], root: str) -> Iterator[str]:
    """Yield where else than in the workspace the table of a plan may be written."""
    yield from git
    for folder in upwards(os.path.dirname(root)):
        yield from (os.path.join(folder, name) for name in (".git", HARNESS))


# -- what of a repository lies around a workspace that is only a part of it ----------------------


_INSTALLED = ("node_modules", ".yarn", ".pnp.cjs", ".pnp.loader.mjs")
"""What package managers keep at the top for all parts of a project, and nobody commits."""
_MOST_NEIGHBOURS = 2000


def _around(git: GitPlace | None, root: str) -> Iterator[str]:
    """Yield the worktree that the workspace is a part of: all else in it is closed."""
    if git is not None and git.top not in {root, "/"}:
        yield git.top


def _neighbours(git: GitPlace | None, root: str, home: str | None) -> tuple[str, ...]:
    """Return what git tracks beside the workspace, as few paths; nothing that it does not track.

    What is ignored beside a workspace is another project's: its `.env`, its database.
    """
    if git is None or git.top == root or (home is not None and is_below(home, git.top)):
        return ()
    found = list(_tracked_parts(git.top, root, tracked_files(git.top)))
    for folder in upwards(os.path.dirname(root)):
        if not is_below(folder, git.top):
            break
        found += [os.path.join(folder, name) for name in _INSTALLED]
    shown = (path for path in found if os.path.lexists(path))
    return tuple(shown)[:_MOST_NEIGHBOURS]


def _tracked_parts(top: str, root: str, tracked: Collection[str]) -> Iterator[str]:
    folders: set[str] = {top}
    for name in tracked:
        folder = os.path.dirname(os.path.join(top, name))
        while folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    files = {os.path.join(top, name) for name in tracked}
    whole, parts = _parts(top, root, files, folders)
    yield from [top] if whole else parts


def _parts(
    folder: str, root: str, files: Collection[str], folders: Collection[str]
) -> tuple[bool, list[str]]:
    """Return whether all of a folder is tracked, and the paths in it that are, folders as one."""
    whole, parts = True, []
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return False, []
    for entry in entries:
        path = entry.path
        if path != root and entry.is_dir(follow_symlinks=False) and path in folders:
            all_of_it, below = _parts(path, root, files, folders)
            parts += [path] if all_of_it else below
            whole = whole and all_of_it
        elif path != root and path in files:
            # By itself a link would be shown as what it leads to.
            if not entry.is_symlink() or os.path.realpath(path) in files:
                parts.append(path)
        else:
            whole = False
    return whole, parts


def earlier_verdicts(context: Context, slug: str) -> Mapping[tuple[str, str], set[VerdictKind]]:
    """Return which verdicts contracts had before, by the digests of contract and tree."""
    found: dict[tuple[str, str], set[VerdictKind]] = {}
    journal = context.existing_journal()
    kinds = (EventKind.CONTRACT_EVALUATED, EventKind.BASELINE_OBSERVED)
    for record in journal.read(Query(plan=slug, events=kinds)) if journal else ():
        event = record.event
        if isinstance(event, BaselineObserved | ContractEvaluated):
            key = (str(event.contract), str(event.tree))
            found.setdefault(key, set()).add(event.verdict)
    return found

"""GitHub, asked by its own program `gh`: the only way in which this program talks with it.

`gh` is told which repository is meant and runs outside of any: what an agent wrote into the
workspace or its repository has no say. It gets the variables that lead to a person's account, and
has a time by which it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from planbound.errors import GitHubProblem, UsageError
from planbound.workspace.root import path_outside

SECONDS = 60.0
"""How long one call of `gh` may take."""
HOST = "github.com"
_PASSED = (
    *("HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
    *("GH_CONFIG_DIR", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)
_TOKENS = ("GH_TOKEN", "GITHUB_TOKEN")
_TOKENS_ELSEWHERE = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", *_TOKENS)
_OWN = {
    "LC_ALL": "C.UTF-8",
    "NO_COLOR": "1",
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_PAGER": "cat",
}
_NAME = r"[A-Za-z0-9._-]{1,100}"
_HOST_NAME = r"[A-Za-z0-9][A-Za-z0-9.-]{0,250}"
_WEB = re.compile(
    rf"(?:https|ssh)://(?:[^/@]*@)?(?P<host>{_HOST_NAME})(?::\d+)?/(?P<owner>{_NAME})/(?P<name>{_NAME}?)(?:\.git)?/?"
)
_SHORT = re.compile(
    rf"(?:[^/@:]+@)?(?P<host>{_HOST_NAME}):(?P<owner>{_NAME})/(?P<name>{_NAME}?)(?:\.git)?/?"
)
_GIVEN = re.compile(rf"(?:(?P<host>{_HOST_NAME})/)?(?P<owner>{_NAME})/(?P<name>{_NAME})")
_PAGE = 100
_MOST_PAGES = 100


class HostedRepository(NamedTuple):
    """A repository at GitHub, or at an installation of it."""

    host: str
    owner: str
    name: str

    def __str__(self) -> str:
        """Return how people call it."""
        path = f"{self.owner}/{self.name}"
        return path if self.host == HOST else f"{self.host}/{path}"


class PullRequest(NamedTuple):
    """A pull request that is open."""

    number: int
    url: str


class IssueComment(NamedTuple):
    """A comment of a pull request."""

    id: int
    url: str
    author: int
    """The number of the account that wrote it."""
    body: str


def hosted_at(address: str) -> HostedRepository | None:
    """Return the repository that a remote's address means; None where that cannot be told."""
    match = _WEB.fullmatch(address) or _SHORT.fullmatch(address)
    if match is None or not match["name"]:
        return None
    # The same service, by the port that firewalls let through.
    host = HOST if match["host"].lower() in {"ssh.github.com", "www.github.com"} else match["host"]
    return HostedRepository(host.lower(), match["owner"], match["name"])


def hosted_by_name(given: str) -> HostedRepository:
    """Return the repository that somebody names: `OWNER/NAME`, with `HOST/` before it or not."""
    match = _GIVEN.fullmatch(given)
    if match is None:
        raise UsageError(
            f"`{given}` is no repository of GitHub", hint="write `OWNER/NAME` or `HOST/OWNER/NAME`"
        )
    return HostedRepository((match["host"] or HOST).lower(), match["owner"], match["name"])


class GitHub:
    """One repository of GitHub, seen by the account of the person who is here."""

    def __init__(
        self,
        repository: HostedRepository,
        *,
        roots: Iterable[str],
        environment: Mapping[str, str],
        named: bool = False,
        seconds: float = SECONDS,
    ) -> None:
        """Know the repository; no program is taken from below `roots`, where agents write.

        `named`: a person said which it is. The address of a remote an agent may have written.
        """
        self.repository = repository
        self._place = f"repos/{repository.owner}/{repository.name}"
        self._seconds = seconds
        path = environment.get("PATH", os.defpath)
        for root in roots:
            path = path_outside(root, path)
        passed = (*_PASSED, *_tokens_for(repository.host, environment, named=named))
        self._environment = {
            **{name: environment[name] for name in passed if name in environment},
            **_OWN,
            "PATH": path,
        }
        self._program = shutil.which("gh", path=self._environment["PATH"])

    def obstacle(self) -> str | None:
        """Return why nothing can be asked: no `gh`, or no account; None where it can."""
        if self._program is None:
            return "`gh`, the program of GitHub, is not on the PATH"
        code, _, error = self._run(("auth", "status", "--hostname", self.repository.host))
        if code != 0:
            why = next((line.strip(" X\t") for line in error.splitlines() if line.strip()), "")
            return f"`gh` has no account at {self.repository.host}{f': {why}' if why else ''}"
        return None

    def account(self) -> int:
        """Return the number of the account that `gh` speaks for."""
        return _number(self._ask("user"), "id")

    def default_branch(self) -> str:
        """Return the branch that pull requests are made into."""
        found = self._ask(self._place)
        branch = found.get("default_branch") if isinstance(found, dict) else None
        if not isinstance(branch, str) or not branch:
            raise GitHubProblem(f"GitHub does not say what the main branch of {self} is")
        return branch

    def __str__(self) -> str:
        """Return how people call it."""
        return str(self.repository)

    def pull_request(self, branch: str, base: str) -> PullRequest | None:
        """Return the open pull request of a branch into another; None where there is none."""
        words = {"head": f"{self.repository.owner}:{branch}", "base": base, "state": "open"}
        from urllib.parse import urlencode  # noqa: PLC0415 - only where GitHub is asked

        found = self._ask(f"{self._place}/pulls?{urlencode(words)}")
        return _pull_request(found[0]) if isinstance(found, list) and found else None

    def open_request(self, given: Mapping[str, object]) -> PullRequest:
        """Open a pull request."""
        return _pull_request(self._ask(f"{self._place}/pulls", "POST", given))

    def comments(self, number: int) -> Iterator[IssueComment]:
        """Yield the comments of a pull request, the oldest first."""
        for page in range(1, _MOST_PAGES + 1):
            where = f"{self._place}/issues/{number}/comments?per_page={_PAGE}&page={page}"
            found = self._ask(where)
            if not isinstance(found, list):
                raise GitHubProblem(f"GitHub does not list the comments of #{number} of {self}")
            yield from (_comment(each) for each in found)
            if len(found) < _PAGE:
                return

    def write_comment(self, number: int, body: str) -> IssueComment:
        """Write a comment to a pull request."""
        return _comment(
            self._ask(f"{self._place}/issues/{number}/comments", "POST", {"body": body})
        )

    def edit_comment(self, comment: int, body: str) -> IssueComment:
        """Put another text into a comment."""
        return _comment(
            self._ask(f"{self._place}/issues/comments/{comment}", "PATCH", {"body": body})
        )

    # -- asking ----------------------------------------------------------------------------------

    def _ask(
        self, where: str, method: str = "GET", given: Mapping[str, object] | None = None
    ) -> Any:
        words = ["api", "--hostname", self.repository.host, "--method", method, where]
        if given is not None:
            words += ["--input", "-"]
        sent = b"" if given is None else json.dumps(given).encode()
        code, printed, error = self._run(words, sent)
        if code != 0:
            raise GitHubProblem(
                f"GitHub refuses `{method} {where.partition('?')[0]}`: {_reason(printed, error)}"
            )
        try:
            return json.loads(printed)
        except (ValueError, RecursionError) as error_:
            raise GitHubProblem(
                f"what `gh` prints of `{where.partition('?')[0]}` is no JSON"
            ) from error_

    def _run(self, words: Sequence[str], given: bytes = b"") -> tuple[int, bytes, str]:
        if self._program is None:
            raise GitHubProblem("`gh` is not on the PATH")
        try:
            process = subprocess.Popen(  # noqa: S603 - the person's own program, from outside the workspace
                [self._program, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise GitHubProblem(f"`gh` cannot be started: {error.strerror}") from error
        try:
            printed, said = process.communicate(given, timeout=self._seconds)
        except subprocess.TimeoutExpired as error:
            raise GitHubProblem(
                f"`gh {words[0]}` did not end in {self._seconds:g} s",
                hint="nothing more was done; say it again when GitHub answers",
            ) from error
        finally:
            # Whatever it left: nobody is asked for a password behind our back.
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        return process.returncode, printed, said.decode("utf-8", "replace").strip()


def _tokens_for(host: str, environment: Mapping[str, str], *, named: bool) -> tuple[str, ...]:
    """Return the variables with tokens that `gh` may have.

    It gives that of an installation to any host but GitHub's own. What `gh` keeps by itself it
    keeps for each host.
    """
    if host == HOST:
        return _TOKENS
    meant = named or environment.get("GH_HOST", "").lower() == host
    return _TOKENS_ELSEWHERE if meant else ()


def _reason(printed: bytes, error: str) -> str:
    """Return why GitHub refuses: what it answers says more than the status."""
    said = error.splitlines()[0].removeprefix("gh: ") if error else "`gh` failed"
    try:
        body = json.loads(printed)
    except (ValueError, RecursionError):
        return said
    errors = body.get("errors") if isinstance(body, dict) else None
    details = [
        each["message"]
        for each in (errors if isinstance(errors, list) else ())
        if isinstance(each, dict) and isinstance(each.get("message"), str)
    ]
    return "; ".join([said, *details])


def _number(found: Any, key: str) -> int:
    value = found.get(key) if isinstance(found, dict) else None
    if not isinstance(value, int) or isinstance(value, bool):
        raise GitHubProblem(f"GitHub's answer has no `{key}`")
    return value


def _text(found: Any, key: str) -> str:
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, str) else ""


def _pull_request(found: Any) -> PullRequest:
    return PullRequest(_number(found, "number"), _text(found, "html_url"))


def _comment(found: Any) -> IssueComment:
    author = found.get("user") if isinstance(found, dict) else None
    # An account that is gone has none.
    number = _number(author, "id") if isinstance(author, dict) else 0
    return IssueComment(
        _number(found, "id"), _text(found, "html_url"), number, _text(found, "body")
    )

"""Places of secrets, which no cell shows."""

from __future__ import annotations

import os
from collections.abc import Mapping

_IN_HOME = """
    .ssh .gnupg .aws .azure .kube .docker .netrc .git-credentials .pypirc .npmrc .yarnrc.yml
    .vault-token .password-store .pgpass .my.cnf .boto .s3cfg .terraform.d .terraformrc
    .config/gcloud .config/gh .config/glab-cli .config/hub .config/op .config/doctl .config/rclone
    .config/git/credentials .config/containers .m2/settings.xml .gradle/gradle.properties
    .bash_history .zsh_history .python_history .psql_history .node_repl_history
    .config/planbound .config/google-chrome .config/chromium .config/BraveSoftware .mozilla
    .local/share/keyrings .cargo/credentials .cargo/credentials.toml .gem/credentials
    .claude .claude.json .codex .gemini .config/opencode .config/goose
    """.split()
_ON_HOST = """
    /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssh
    /var/lib/docker /var/run/docker.sock /run/docker.sock
    """.split()
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
    states = environment.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    shares = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    found += [os.path.join(states, "planbound"), os.path.join(shares, "planbound")]
    return tuple(dict.fromkeys(path for path in found if os.path.lexists(path)))

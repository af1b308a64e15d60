"""An extra is installed by the program that installed Planbound."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planbound.disk.extras import install_extra

UV = """[tool]
requirements = [{ name = "planbound", extras = ["model"], directory = "/src/planbound" }]
entrypoints = [{ name = "planbound", install-path = "/bin/planbound", from = "planbound" }]
"""


def pipx(spec: str) -> str:
    return json.dumps({"main_package": {"package": "planbound", "package_or_url": spec}})


@pytest.mark.parametrize(
    ("file", "text", "command"),
    [
        ("uv-receipt.toml", UV, "uv tool install '/src/planbound[mcp,model]'"),
        ("pipx_metadata.json", pipx("/s/p"), "pipx install --force '/s/p[mcp]'"),
        ("pipx_metadata.json", pipx("/s/p[acp, mcp]"), "pipx install --force '/s/p[acp,mcp]'"),
        ("uv-receipt.toml", "of = 'another version'", "pip install 'planbound[mcp]'"),
        ("pipx_metadata.json", "no JSON", "pip install 'planbound[mcp]'"),
        ("pyvenv.cfg", "", "pip install 'planbound[mcp]'"),
    ],
)
def test_the_cure_fits_the_installation(tmp_path: Path, file: str, text: str, command: str) -> None:
    (tmp_path / file).write_text(text)
    assert install_extra("mcp", str(tmp_path)) == command

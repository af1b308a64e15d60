"""Takes a picture of every page in every view: `make screenshots`, or `ARGS="FOLDER"`.

The project is made up, the runs are real. Three of the pictures are those of the docs; they are
written anew where `--docs` is given.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.browser import DARK, LIGHT, PHONE, VIEWS, Chromium, View, browsing
from tests.page.billing import PAGES, served
from tests.page.browser import RunningServer
from tests.page.visitor import visiting

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs/images"
DOCS = {
    "page-gate": ("gate", LIGHT._replace(width=900, height=780)),
    "page-run": ("run", DARK._replace(width=900, height=780)),
    "page-inbox": ("inbox", PHONE._replace(height=780)),
}
"""The pictures of the docs, with their page, and the window that is shown."""
LARGEST = 120_000


def main(arguments: list[str]) -> int:
    """Take all pictures; return the exit code."""
    parser = argparse.ArgumentParser(description="take a picture of every page in every view")
    parser.add_argument("folder", nargs="?", default=str(ROOT / "build/screenshots"))
    parser.add_argument("--docs", action="store_true", help="write the pictures of the docs, too")
    told = parser.parse_args(arguments)
    folder = Path(told.folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="planbound-") as project,
        served(Path(project)) as running,
        browsing() as chromium,
    ):
        for name, path in PAGES.items():
            for view in VIEWS:
                take(chromium, running, view, path, folder / f"{name}-{view.name}.png")
        if told.docs:
            IMAGES.mkdir(exist_ok=True)
            for image, (name, view) in DOCS.items():
                take(chromium, running, view, PAGES[name], IMAGES / f"{image}.png", whole=False)
    print(f"{len(PAGES) * len(VIEWS)} pictures in {os.path.relpath(folder)}")
    large = [each for each in IMAGES.glob("*.png") if each.stat().st_size > LARGEST]
    for each in large:
        print(f"{each.name} is larger than {LARGEST:,} bytes")
    return 1 if large else 0


def take(
    chromium: Chromium,
    running: RunningServer,
    view: View,
    path: str,
    file: Path,
    *,
    whole: bool = True,
) -> None:
    """Keep what a page looks like."""
    with visiting(chromium, running, view, path) as window:
        window.page.evaluate("document.fonts.ready.then(() => 0)")
        window.page.screenshot(path=file, full_page=whole)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

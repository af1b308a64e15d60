"""Homes of agents in a folder of the state home."""

from __future__ import annotations

import os

from planbound.errors import FileProblem


class FolderHomes:
    """See `ports.homes.Homes`: each is a folder directly below `root`."""

    def __init__(self, root: str) -> None:
        self.root = root

    def of(self, name: str) -> str:
        """Return the path of a home, made where it is not there."""
        path = os.path.join(self.root, name)
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
        except OSError as error:
            raise FileProblem(f"`{path}` cannot be made: {error.strerror}") from error
        return path

    def remove(self, name: str) -> None:
        """Remove a home with all that is in it; one that is not there is fine."""
        path = os.path.join(self.root, name)
        if not os.path.lexists(path):
            return
        import shutil  # noqa: PLC0415 - start-up

        # What an agent made unreadable stays until somebody removes it: that harms nobody.
        shutil.rmtree(path, ignore_errors=True)

"""What a start leaves out. Nothing else stands here: it is loaded before everything else."""

import sys


def load_msgspec() -> None:
    """Load msgspec without `typing_extensions`, before anything else asks for it.

    What it takes from there, `typing` has since Python 3.11; and with all that it imports it is
    half of what msgspec costs at every start.
    """
    if "typing_extensions" in sys.modules:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # so Python refuses one
    try:
        import msgspec  # noqa: F401, PLC0415 - not where nothing needs it
    finally:
        del sys.modules["typing_extensions"]

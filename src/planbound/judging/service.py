"""Ask a service in its cell over HTTP: what is sent, the shell that sends it, and what came back.

The cell has a network of its own, which the harness is not in. So a few lines of bash in the cell
carry bytes to and fro; they know no more of HTTP than the product may see, and the answer is read
out here.
"""

from __future__ import annotations

from typing import NamedTuple

from planbound.plan.data import Data, DataError, data_text

LISTENS = b"listens\n"
"""What is written before the first answer: the service took a connection."""
SERVICE_ENDED, PORT_TAKEN = 97, 98
_SCRIPT = r"""
set +e
exec 4>&1 1>&2
service=$1 mark=$2
shift 2
connect() { { exec 3<>"/dev/tcp/127.0.0.1/$PORT" || exec 3<>"/dev/tcp/::1/$PORT"; } 2>/dev/null; }
connect && exit 98
"$BASH" --noprofile --norc -e -c "$service" </dev/null 4>&- &
number=$!
until connect; do
  if [ -n "$number" ] && ! kill -0 "$number" 2>/dev/null; then
    wait "$number"
    code=$?
    # One that went into the background by itself may still come up.
    [ "$code" = 0 ] || { printf '%s\n' "$code" >&4; exit 97; }
    number=
  fi
  sleep 0.02
done
printf 'listens\n' >&4
first=yes
for size in "$@"; do
  [ -n "$first" ] || connect
  first=
  head -c "$size" >&3
  cat <&3 >&4
  exec 3>&-
  printf '\n%s\n' "$mark" >&4
done
exit 0
"""


def service_script() -> str:
    """Return the shell that starts a service, waits until it listens, and carries the bytes."""
    return _SCRIPT


def request_bytes(given: Data, port: int) -> bytes:
    """Return a request of a table as it goes over the wire."""
    described = given if isinstance(given, dict) else {"request": given}
    method, _, target = str(described["request"]).partition(" ")
    headers = {
        "Host": f"127.0.0.1:{port}",
        "User-Agent": "planbound-check",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
    }
    body = b""
    if "send" in described:
        sent = described["send"]
        is_text = isinstance(sent, str)
        text = sent if isinstance(sent, str) else data_text(sent, ascii_only=True)
        body = text.encode("utf-8", "surrogatepass")
        headers["Content-Type"] = "text/plain; charset=utf-8" if is_text else "application/json"
    if body or method not in {"GET", "HEAD", "DELETE", "OPTIONS"}:
        headers["Content-Length"] = str(len(body))
    own = described.get("headers")
    for name, value in own.items() if isinstance(own, dict) else ():
        headers = {key: text for key, text in headers.items() if key.lower() != name.lower()}
        headers[name] = str(value)
    # One connection for each request: its end is the end of the answer.
    headers["Connection"] = "close"
    lines = [f"{method} {target} HTTP/1.1", *(f"{key}: {text}" for key, text in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogatepass") + body


class ReplyError(ValueError):
    """An answer that is no HTTP; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Reply(NamedTuple):
    """What a service answered."""

    status: int
    body: bytes

    def text(self) -> str:
        """Return the body; raise DataError where it is no text."""
        try:
            return self.body.decode("utf-8")
        except UnicodeDecodeError:
            raise DataError("it is not UTF-8") from None


def read_reply(output: bytes, mark: str, count: int, request: str) -> Reply:
    """Return the last of so many answers; raise ReplyError."""
    parts = output.removeprefix(LISTENS).split(f"\n{mark}\n".encode("ascii"))
    if len(parts) != count + 1 or parts[-1]:
        raise ReplyError("not every request was answered")
    from http.client import HTTPException, HTTPResponse  # noqa: PLC0415 - loads a mail parser
    from io import BytesIO  # noqa: PLC0415 - see above

    class Pipe:
        def makefile(self, _mode: str) -> BytesIO:
            return BytesIO(parts[-2])

    response = HTTPResponse(Pipe(), method=request.partition(" ")[0])  # type: ignore[arg-type]  # all that it asks of a socket
    try:
        response.begin()
        return Reply(response.status, response.read())
    except (HTTPException, ValueError, OSError) as error:
        what = str(error) or type(error).__name__
        raise ReplyError(f"no HTTP: {what[:100]}") from None

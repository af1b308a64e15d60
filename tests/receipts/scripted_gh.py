"""A `gh` that follows a script: GitHub in some files, and a record of all that it was asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PROGRAM = """\
#!{python} -IS
import json, os, re, sys
from urllib.parse import parse_qs, urlsplit

HERE = {folder!r}
words = sys.argv[1:]
given = sys.stdin.read() if "--input" in words else ""


def read(name, otherwise):
    try:
        with open(os.path.join(HERE, name)) as file:
            return json.load(file)
    except FileNotFoundError:
        return otherwise


def write(name, value):
    with open(os.path.join(HERE, name), "w") as file:
        json.dump(value, file)


with open(os.path.join(HERE, "calls"), "a") as file:
    call = dict(words=words, given=given, cwd=os.getcwd(), variables=sorted(os.environ))
    file.write(json.dumps(call) + "\\n")
if os.path.exists(os.path.join(HERE, "hangs")):
    open(os.path.join(HERE, "hangs")).read()  # a FIFO to which nobody writes
if words[:2] == ["auth", "status"]:
    if os.path.exists(os.path.join(HERE, "no-token")):
        print("You are not logged into any GitHub hosts. To log in, run: gh auth login",
              file=sys.stderr)
        sys.exit(1)
    sys.exit(0)
assert words[0] == "api", words
method = words[words.index("--method") + 1]
where = words[words.index("--method") + 2]
url = urlsplit(where)
query = {{name: values[0] for name, values in parse_qs(url.query).items()}}
fails = read("fails", {{}}).get(f"{{method}} {{url.path}}")
if fails:
    print(json.dumps(fails["body"]))
    print("gh: " + fails["said"], file=sys.stderr)
    sys.exit(1)
me = read("me", 7)
value = json.loads(given) if given else None
pulls, comments = read("pulls", []), read("comments", [])
if url.path == "user":
    answer = dict(id=me, login="ann")
elif url.path == "repos/octo/lending":
    answer = dict(default_branch="main")
elif url.path == "repos/octo/lending/pulls" and method == "GET":
    answer = [p for p in pulls if p["state"] == query["state"]
              and "octo:" + p["head"] == query["head"] and p["base"] == query["base"]]
elif url.path == "repos/octo/lending/pulls":
    answer = dict(value, number=len(pulls) + 12, state="open",
                  html_url=f"https://github.com/octo/lending/pull/{{len(pulls) + 12}}")
    write("pulls", [*pulls, answer])
elif method == "POST":
    answer = dict(id=len(comments) + 100, body=value["body"], user=dict(id=me),
                  html_url=f"https://github.com/octo/lending/pull/12#{{len(comments) + 100}}")
    write("comments", [*comments, answer])
elif method == "PATCH":
    number = int(url.path.rsplit("/", 1)[1])
    (answer,) = [c for c in comments if c["id"] == number]
    assert answer["user"]["id"] == me, "nobody edits what others wrote"
    answer["body"] = value["body"]
    write("comments", comments)
else:
    first = (int(query["page"]) - 1) * int(query["per_page"])
    answer = comments[first:first + int(query["per_page"])]
print("not JSON" if os.path.exists(os.path.join(HERE, "babbles")) else json.dumps(answer))
"""


class ScriptedGh:
    """The program in a folder of its own, and what it keeps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "gh"
        self.programs = self.folder / "bin"
        self.programs.mkdir(parents=True)
        program = self.programs / "gh"
        program.write_text(PROGRAM.format(python=sys.executable, folder=str(self.folder)))
        program.chmod(0o755)

    def put(self, name: str, value: object = None) -> None:
        """Write one of the files that it goes by."""
        (self.folder / name).write_text(json.dumps(value))

    def kept(self, name: str) -> Any:
        """Return what it keeps."""
        path = self.folder / name
        return json.loads(path.read_text()) if path.exists() else []

    def calls(self) -> list[dict[str, Any]]:
        """Return all that it was asked, and forget it."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [json.loads(line) for line in lines]

    def changes(self) -> list[str]:
        """Return what it was asked to change, and forget all it was asked."""
        found = []
        for call in self.calls():
            words = call["words"]
            method = words[words.index("--method") + 1] if "--method" in words else "GET"
            if method != "GET":
                found.append(f"{method} {words[words.index('--method') + 2]}")
        return found

"""`[gate] signed = true` on the page: a statement to sign, and a signature that is taken."""

from __future__ import annotations

import html
import json
import re
import subprocess
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.needs import need
from tests.page.browser import RunningServer, serving
from tests.page.test_decide import approval, looked_at
from tests.run.bench import Bench, Step, until


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    need("ssh-keygen", "approvals are signed by it")
    made = Bench(tmp_path_factory.mktemp("signed"), settings="[gate]\nsigned = true\n")
    key = made.folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    signers = made.folder / "home" / ".config" / "planbound" / "allowed_signers"
    signers.parent.mkdir(parents=True)
    kind, public, *_ = key.with_suffix(".pub").read_text().split()
    signers.write_text(f"mara {kind} {public}\n")
    return made


@pytest.fixture(scope="module")
def page(bench: Bench) -> Iterator[RunningServer]:
    with serving(bench, "--decide-anyway") as running:
        running.enter()
        yield running


def signed(bench: Bench, statement: bytes) -> str:
    """Sign a statement as the page says."""
    path = bench.folder / "statement.json"
    path.write_bytes(statement)
    path.with_name("statement.json.sig").unlink(missing_ok=True)
    command = ["ssh-keygen", "-Y", "sign", "-f", str(bench.folder / "key"),
               "-n", "planbound-approval@v1", str(path)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return path.with_name("statement.json.sig").read_text()


@pytest.mark.requirement("page.signed")
def test_a_statement_is_shown_and_its_signature_approves(bench: Bench, page: RunningServer) -> None:
    bench.lay(Step("make one", target="coder-one"), name="one")
    gate = looked_at(page, "one")
    assert "ssh-keygen -Y sign -f ~/.ssh/id_ed25519 -n planbound-approval@v1 one.json" in gate.text
    shown = re.search(r'<pre id="statement">(.*?)</pre>', gate.text, re.DOTALL)
    assert shown is not None
    statement = page.get("/plan/one/statement").body
    assert re.sub(r"<[^>]*>", "", html.unescape(shown[1])).encode() == statement
    form = approval(gate, "one")
    assert page.post("/plan/one/approve", form).status == 409
    other = signed(bench, statement.replace(b'"one"', b'"two"'))
    refused = page.post("/plan/one/approve", {**form, "signature": other})
    assert (refused.status, "does not hold" in refused.text) == (409, True)
    assert bench.log("one").of("GATE_APPROVED") == []
    signature = signed(bench, statement).replace("\n", "\r\n")  # as a browser sends it
    done = page.post("/plan/one/approve", {**form, "signature": signature})
    assert done.status == 303, done.text
    given = bench.log("one").one("GATE_APPROVED").details
    assert (given["by"], given["method"], given["strength"]) == ("mara", "signature", "proof")
    assert (bool(given["signature"]), given["through"]) == (True, "page")


@pytest.mark.requirement("page.signed")
def test_a_statement_is_of_the_text_that_was_looked_at_and_has_a_name(
    bench: Bench, page: RunningServer
) -> None:
    bench.lay(Step("make odd", target="coder-odd"), name="odd")
    path = bench.workspace / ".harness" / "PLAN-x$(id).md"
    path.with_name("PLAN-odd.md").rename(path)
    at = f"/plan/{quote('x$(id)', safe='')}"
    began = page.submit(f"{at}/gate", f"{at}/look")
    assert began.status == 303, began.text
    until(lambda: "is run once now" not in page.get(f"{at}/gate").text)
    told = re.sub("<[^>]*>", "", html.unescape(page.get(f"{at}/gate").text))
    assert "-n planbound-approval@v1 'x$(id).json'" in told, "a shell runs nothing of a name"
    statement = page.get(f"{at}/statement")
    assert statement.status == 200
    named = "attachment; filename*=UTF-8''x%24%28id%29.json"
    assert statement.header("content-disposition") == named
    path.write_text(path.read_text().replace("grep -qx right", "grep -q right"))
    assert page.get(f"{at}/statement").status == 404


@pytest.mark.requirement("page.signed")
def test_another_persons_name_on_a_signature_is_refused(bench: Bench, page: RunningServer) -> None:
    bench.lay(Step("make two", target="coder-two"), name="two")
    form = approval(looked_at(page, "two"), "two", by="eve")
    signature = signed(bench, page.get("/plan/two/statement").body)
    refused = page.post("/plan/two/approve", {**form, "signature": signature})
    assert refused.status == 409
    assert bench.log("two").of("GATE_APPROVED") == []


# -- what an approval names of the gates of a branch ---------------------------------------------

GATES = '[integrate]\ngates = ["sh tests/check.sh"]\n'


@pytest.mark.requirement("page.signed", "integrate.gates")
def test_a_statement_names_the_files_of_gates_that_were_chosen(
    bench: Bench, page: RunningServer
) -> None:
    bench.write("tests/check.sh", "test -e src\n")
    step = Step("make three", target="coder-three", touches="src/three tests/**")
    bench.lay(step, name="three", settings=f"{bench.settings}\n{GATES}")
    gate = looked_at(page, "three")
    assert "a gate of the branch judges by `tests/check.sh`" in re.sub("<[^>]*>", "", gate.text)
    assert "gates" not in json.loads(page.get("/plan/three/statement").body)
    chosen = page.get("/plan/three/gate?gate-0=tests/check.sh&gate-1=src/other")
    (file,) = re.findall(r'href="(/plan/three/statement[^"]*)"', chosen.text)
    statement = page.get(html.unescape(file)).body
    assert json.loads(json.loads(statement)["gates"]) == ["tests/check.sh"]
    form = approval(chosen, "three")
    signature = signed(bench, statement)
    without = {**approval(gate, "three"), "signature": signature}
    assert page.post("/plan/three/approve", without).status == 409
    done = page.post("/plan/three/approve", {**form, "signature": signature})
    assert done.status == 303, done.text
    assert bench.log("three").one("GATE_APPROVED").details["gates"] == ["tests/check.sh"]


@pytest.mark.requirement("page.decides", "integrate.gates")
def test_a_yes_names_the_files_of_gates_that_were_chosen(bench: Bench, page: RunningServer) -> None:
    bench.write("tests/check.sh", "test -e src\n")
    for name, named in (("four", ["tests/check.sh"]), ("five", None)):
        step = Step(f"make {name}", target=f"coder-{name}", touches=f"src/{name} tests/**")
        bench.lay(step, name=name, settings=GATES)
        form = approval(looked_at(page, name), name)
        form |= {"gate-0": "tests/check.sh"} if named else {}
        done = page.post(f"/plan/{name}/approve", {**form, "gate-7": "src/never-shown"})
        assert done.status == 303, done.text
        assert bench.log(name).one("GATE_APPROVED").details.get("gates") == named

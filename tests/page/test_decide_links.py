"""Links that decide one question, once: made for a notification, and opened in any browser."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from planbound.workspace.links import LINK_SECONDS, DecisionLink, read_link, write_link
from tests.page.browser import Answer, RunningServer, hidden_fields, serving
from tests.run.bench import Bench, Step, until

SETTINGS = """
[page]
links = true

[[notify]]
events = ["RECOVERY_ESCALATION", "GATE_APPROVAL_REQUESTED", "GATE_CLARIFICATION_ASKED"]
command = ["sh", "-c", "echo \\"$PLANBOUND_PLAN $PLANBOUND_LINK\\" >> {told}"]
person = "mara"
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("linked")
    made = Bench(folder)
    made.settings = SETTINGS.format(told=folder / "told")
    made.write("planbound.toml", made.settings)
    made.run("notify")  # from now on
    return made


@pytest.fixture(scope="module")
def page(bench: Bench) -> Iterator[RunningServer]:
    """Serve the page; nobody enters: a link is opened by a browser that is not known."""
    with serving(bench, "--decide-anyway") as running:
        yield running


def stuck(bench: Bench, name: str) -> None:
    """Let a run come to a question."""
    step = Step(f"make {name}", target=f"coder-{name}", work="true",
                fields="**on_fail:** escalate")  # fmt: skip
    bench.prepare(step, name=name)
    bench.goes("run", name, code=4)


def asked(bench: Bench, name: str) -> None:
    """Ask for the approval of a plan."""
    bench.lay(Step(f"make {name}", target=f"coder-{name}"), name=name)
    bench.goes("approve", name, code=4)


def link_to(bench: Bench, name: str) -> str:
    """Return the path of the link that the last notification about a plan brought."""
    links: list[str] = []

    def is_told() -> bool:
        told = Path(bench.folder, "told").read_text(encoding="utf-8").splitlines()
        pairs = (line.partition(" ") for line in told)
        links[:] = [link for plan, _, link in pairs if plan == name and link]
        return bool(links)

    bench.run("notify")
    until(is_told)  # the page delivers, too
    return urlsplit(links[-1]).path


def key_of(bench: Bench) -> bytes:
    return Path(bench.folder, "state", "page", "key").read_bytes()


def unpacked(bench: Bench, path: str) -> DecisionLink:
    link = read_link(key_of(bench), path.removeprefix("/d/"))
    assert link is not None
    return link


def press(page: RunningServer, path: str, **fields: str) -> Answer:
    """Open a link, and press a button there."""
    shown = page.get(path)
    assert shown.status == 200, shown.text
    return page.post(path, {**hidden_fields(shown.text, path), **fields})


@pytest.mark.requirement("page.links")
def test_a_link_shows_by_get_and_decides_by_post_once(bench: Bench, page: RunningServer) -> None:
    stuck(bench, "one")
    path = link_to(bench, "one")
    assert "/inbox" not in page.get(path).text, "who has only a link is led nowhere else"
    before = len(bench.log())
    for _ in range(3):  # a gateway of mail looks at every link
        shown = page.get(path)
        assert shown.status == 200
        assert "mara" in shown.text
    assert page.ask("HEAD", path).status in {200, 405}
    assert len(bench.log()) == before
    form = hidden_fields(shown.text, path)
    done = page.post(path, {**form, "choice": "retry"})
    assert done.status == 200, done.text
    assert "The link is used up" in done.text
    said = bench.log("one").of("RECOVERY_ESCALATION")[-1].details
    assert (said["user_decision"], said["by"], said["method"]) == ("retry", "mara", "page")
    assert page.post(path, {**form, "choice": "abort"}).status == 410
    assert page.get(path).status == 410


@pytest.mark.requirement("page.links")
def test_a_link_is_dead_when_the_question_was_decided_elsewhere(
    bench: Bench, page: RunningServer
) -> None:
    stuck(bench, "two")
    path = link_to(bench, "two")
    form = hidden_fields(page.get(path).text, path)
    bench.goes("answer", str(bench.question("two")["id"]), "retry", "--as", "ben")
    assert page.post(path, {**form, "choice": "abort"}).status == 410
    assert page.get(path).status == 410


@pytest.mark.requirement("page.links")
def test_a_link_is_over_after_ten_minutes_and_cannot_be_made_up(
    bench: Bench, page: RunningServer
) -> None:
    stuck(bench, "three")
    path = link_to(bench, "three")
    link = unpacked(bench, path)
    assert 0 < link.until - time.time() <= LINK_SECONDS == 600
    old = DecisionLink(link.plan, link.question, link.seq, link.digest, link.person,
                       until=int(time.time()) - 1)  # fmt: skip
    over = page.get(f"/d/{write_link(key_of(bench), old)}")
    assert (over.status, "ten minutes are over" in over.text) == (410, True)
    assert page.get(f"/d/{write_link(bytes(32), link)}").status == 404
    assert page.get(path[:-1] + ("0" if path[-1] != "0" else "1")).status == 404


@pytest.mark.requirement("page.links")
def test_a_link_is_one_persons(bench: Bench, page: RunningServer) -> None:
    stuck(bench, "four")
    path = link_to(bench, "four")
    other = press(page, path, choice="retry", by="eve")
    assert (other.status, "another person" in other.text) == (409, True)
    assert bench.question("four")


@pytest.mark.requirement("page.links")
@pytest.mark.parametrize("site", ["", "cross-site"])
def test_a_link_is_decided_from_its_own_page_only(
    bench: Bench, page: RunningServer, site: str
) -> None:
    name = f"five{len(site)}"
    stuck(bench, name)
    path = link_to(bench, name)
    form = hidden_fields(page.get(path).text, path)
    headers = {"Sec-Fetch-Site": site, "Origin": "http://evil.example" if site else ""}
    assert page.post(path, {**form, "choice": "retry"}, **headers).status == 403
    assert bench.question(name)


@pytest.mark.requirement("page.links")
def test_a_plan_is_approved_by_a_link_as_it_was_asked_for(
    bench: Bench, page: RunningServer
) -> None:
    asked(bench, "six")
    path = link_to(bench, "six")
    assert "grep -qx right src/six" in page.get(path).text
    done = press(page, path, choice="approve")
    assert done.status == 200, done.text
    given = bench.log("six").one("GATE_APPROVED").details
    assert (given["by"], given["method"], given["strength"]) == ("mara", "page", "word")
    assert given["digest"] == bench.digest("six")


@pytest.mark.requirement("page.links")
def test_a_text_that_was_changed_since_is_not_approved_by_a_link(
    bench: Bench, page: RunningServer
) -> None:
    asked(bench, "seven")
    path = link_to(bench, "seven")
    form = hidden_fields(page.get(path).text, path)
    file = bench.workspace / ".harness" / "PLAN-seven.md"
    file.write_text(file.read_text().replace("grep -qx right", "grep -q right"))
    late = page.post(path, {**form, "choice": "approve"})
    assert late.status in {409, 410}, late.text
    assert bench.log("seven").of("GATE_APPROVED") == []


@pytest.mark.requirement("page.links")
def test_a_project_that_wants_signatures_has_no_links(bench: Bench, page: RunningServer) -> None:
    asked(bench, "eight")
    path = link_to(bench, "eight")
    form = hidden_fields(page.get(path).text, path)
    settings = (bench.workspace / "planbound.toml").read_text()
    bench.write("planbound.toml", f"{settings}\n[gate]\nsigned = true\n")
    try:
        assert page.get(path).status == 410
        assert page.post(path, {**form, "choice": "approve"}).status == 410
        bench.lay(Step("make nine", target="coder-signed"), name="signed")
        bench.write("planbound.toml", f"{bench.settings}\n[gate]\nsigned = true\n")
        bench.run("approve", "signed", "--statement")
        assert link_to(bench, "signed") == "/inbox", "no link that decides is made at all"
        assert bench.log("eight").of("GATE_APPROVED") == []
    finally:
        bench.write("planbound.toml", settings)


@pytest.mark.requirement("page.links")
def test_without_links_a_notification_leads_to_the_question_in_the_inbox(
    bench: Bench, page: RunningServer
) -> None:
    settings = (bench.workspace / "planbound.toml").read_text()
    bench.settings = bench.settings.replace("links = true", "links = false")
    try:
        stuck(bench, "nine")
        assert link_to(bench, "nine") == "/inbox"
    finally:
        bench.write("planbound.toml", settings)


@pytest.mark.requirement("page.links")
def test_the_page_that_decides_tells_of_what_is_asked_on_it(
    bench: Bench, page: RunningServer
) -> None:
    bench.lay(Step("make ten", target="coder-ten"), name="ten")
    page.enter()
    done = page.submit("/plan/ten/review", "/plan/ten/review", by="ben", **{"line-1": "why?"})
    assert done.status == 303, done.text
    told = Path(bench.folder, "told")
    until(lambda: any(line.startswith("ten http") for line in told.read_text().splitlines()))

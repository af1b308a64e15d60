"""What the harness wrote itself comes back as written; what came from outside has no secrets."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planbound.engine.gate.approval import Approval, Standing, mismatch
from planbound.journal.event import EVENTS, DetailSpec, DetailType, EventKind
from planbound.journal.record import Json
from planbound.journal.redact import Redactor
from planbound.testing.journal import MemoryJournal
from planbound.usecases.record import Recorder
from tests.journal import TEXT
from tests.journal.test_redact import IN_CONTEXT, SAMPLES, in_context

DIGEST = "5c2f0a7b9d1e" * 5 + "abcd"
CALLED_LIKE_SECRETS = """
tests/fixtures/token .netrc-nopassword api_key password credentials client_secret x.token secret
conf/db_password --token DB_PASSWORD= authorization a/b:password: "password" .env/API_KEY
""".split()
NAMES = (
    st.sampled_from(CALLED_LIKE_SECRETS)
    | st.sampled_from([secret for _, secret in SAMPLES])
    | TEXT
    | st.builds("{}/{}".format, TEXT, st.sampled_from(CALLED_LIKE_SECRETS))
)
ENVIRONMENT = {"DEPLOY_TOKEN": DIGEST[8:14], "API_KEY": "failed", "DB_PASSWORD": "master"}
"""Values that are also found in what the harness writes."""
OWN: dict[DetailType, Json] = {
    DetailType.EXACT: DIGEST,
    DetailType.EXACT_OR_NULL: DIGEST,
    DetailType.EXACTS: [DIGEST, "master", "step-1"],
    DetailType.INTEGER: 98765432,
    DetailType.INTEGER_OR_NULL: 98765432,
    DetailType.NUMBER: 1.5,
    DetailType.FLAG: True,
}


def own(spec: DetailSpec, name: str) -> Json:
    """Return what the harness may write of its own about a file of that name."""
    match spec.type:
        case DetailType.EXACT_OBJECT:
            return {name: DIGEST, "password": "vacuous", "x": {name: [DIGEST, "tampered"]}}
        case _:
            return OWN[spec.type]


def outside(spec: DetailSpec, text: str) -> Json:
    """Return a detail in which a text came from outside."""
    match spec.type:
        case DetailType.TEXTS:
            return ["fine", text]
        case DetailType.TEXTS_BY_ID:
            return {"step-1": text}
        case DetailType.SOURCES:
            return [f"file:{text} {DIGEST}", f"{text} missing"]
        case DetailType.OBJECT:
            return {"a": [{"b": text}], text: 1}
        case _:
            return text


def is_own(spec: DetailSpec) -> bool:
    return spec.type in OWN or spec.type is DetailType.EXACT_OBJECT


def recorder(environment: dict[str, str]) -> Recorder:
    return Recorder(MemoryJournal(), redactor=Redactor(environment), now=lambda: "now")


@pytest.mark.requirement("journal.own-words")
@given(NAMES)
@example("tests/fixtures/token")
@example("password")
def test_what_the_harness_wrote_of_its_own_comes_back_as_written(name: str) -> None:
    recording = recorder(ENVIRONMENT)
    for kind, event in EVENTS.items():
        details = {spec.name: own(spec, name) for spec in event.details if is_own(spec)}
        words = {spec.name: outside(spec, "fine") for spec in event.details if not is_own(spec)}
        draft = recording.draft(kind, "plan", {**details, **words, "x_own": "password=hunter2"})
        assert {each: draft.details[each] for each in details} == details
        sources = draft.details.get("subscriptions")
        assert sources is None or (isinstance(sources, list) and DIGEST in str(sources[0]))


@pytest.mark.requirement("journal.no-secrets-by-type")
@pytest.mark.parametrize("kind", EventKind, ids=lambda kind: kind.value)
def test_no_secret_gets_through_in_what_comes_from_outside(kind: EventKind) -> None:
    recording = recorder({"DEPLOY_TOKEN": "s3cr3t!-of-the-environment"})
    texts = [(f"found {secret}", [secret]) for _, secret in SAMPLES]
    texts += [in_context(template) for template, _ in IN_CONTEXT]
    texts += [("s3cr3t!-of-the-environment", ["s3cr3t!-of-the-environment"])]
    specs = [spec for spec in EVENTS[kind].details if not is_own(spec)]
    required = {spec.name: own(spec, "x") for spec in EVENTS[kind].details if is_own(spec)}
    for text, secrets in texts:
        details: dict[str, Any] = {spec.name: outside(spec, text) for spec in specs}
        details |= {**required, "x_more": {"a": text}, "x_password": "hunter2!"}
        draft = recording.draft(kind, "plan", details, task=("step-1", text))
        written = json.dumps([draft.details, draft.task_name], ensure_ascii=False)
        for secret in secrets:
            if len(secret) >= 6:  # a shorter one is part of other words
                assert json.dumps(secret, ensure_ascii=False)[1:-1] not in written
        assert "hunter2!" not in written
        assert draft.redactions >= len(specs) + 2


@pytest.mark.parametrize("kind", EventKind, ids=lambda kind: kind.value)
def test_every_digest_id_and_number_is_exact_by_its_type(kind: EventKind) -> None:
    wanted = re.compile(r"\b(digests?|SHA-256|commit|ids?|branch)\b")
    for spec in EVENTS[kind].details:
        if wanted.search(spec.meaning) and spec.type is not DetailType.TEXTS_BY_ID:
            assert is_own(spec) or spec.type is DetailType.SOURCES, spec


def test_an_object_of_somebodys_own_is_text_from_outside() -> None:
    details: dict[str, Json] = {"modifications": [], "x_a": {"password": "hunter2"}}
    draft = recorder({}).draft(EventKind.GATE_APPROVED, "plan", details)
    assert draft.details["x_a"] == {"password": "[redacted:credential]"}


def test_an_id_of_a_step_whose_title_holds_a_secret_does_not_tell_it() -> None:
    recording = recorder({"DEPLOY_TOKEN": "sesame-open"})
    assert recording.step_id("say-sesame-open", "3", "Say sesame-open") == "step-3"
    assert recording.step_id("say-it", "3", "Say it") == "say-it"


@pytest.mark.parametrize(
    "judges",
    [
        {"tests/token": "[redacted:credential]"},
        {"tests/[redacted:openai-key]": DIGEST},
        {"tests/token": f"{DIGEST[:10]}[redacted:environment]"},
    ],
)
def test_an_approval_that_lost_a_digest_says_so_and_not_that_a_judge_changed(
    judges: dict[str, str],
) -> None:
    approval = Approval("n", DIGEST, judges, DIGEST, "alice", "digest")
    standing = Standing(DIGEST, {"tests/token": DIGEST}, DIGEST, "now")
    reason = mismatch(approval, standing)
    assert reason is not None
    assert reason.startswith("its record is not whole: the digest of the judge `tests/")
    # A run that goes on is compared with its frozen tree, not with this.
    assert mismatch(approval, standing._replace(judges=judges)) is None

"""What the harness wrote itself comes back as written; what came from outside has no secrets."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planbound.journal.event import EVENTS, EventField, EventKind, GateApproved, fields_of
from planbound.journal.fields import Exact, FreeNames, FreeValues
from planbound.journal.record import Json
from planbound.journal.redact import Redactor
from planbound.journal.words import Method
from planbound.state.append import Recorder
from planbound.state.approval import Approval, CurrentPlan, mismatch
from planbound.testing.journal import MemoryJournal
from tests.journal import OBJECTS, TEXT, happened
from tests.journal.test_redact import IN_CONTEXT, SAMPLES, in_context
from tests.tables import one_fact

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
OWN: dict[str, Json] = {
    "exact text": DIGEST,
    "exact text or null": DIGEST,
    "list of exact texts": [DIGEST, "master", "step-1"],
    "integer": 98765432,
    "integer or null": 98765432,
    "number": 1.5,
    "true or false": True,
}


def own(field: EventField, name: str) -> Json:
    """Return what the harness may write of its own about a file of that name."""
    if field.words in OWN:
        return OWN[field.words]
    match field.name:
        case "dependencies":
            return {name: [DIGEST, "tampered"], "password": ["vacuous"]}
        case "budget" | "tests":
            return OBJECTS[field.name]
        case _:
            return {name: DIGEST, "password": "vacuous"}


def outside(field: EventField, text: str) -> Json:
    """Return a detail in which a text came from outside."""
    match field.words:
        case "list of texts":
            return ["fine", text]
        case "object of texts by id":
            return {"step-1": text}
        case "list of names with digests":
            return [f"file:{text} {DIGEST}", f"{text} missing"]
        case "list of objects":
            return [{"name": text, "result": "noticed", "reason": text, "output_tail": text}]
        case "object":
            return {text: {"name": "a", "arguments": {"b": [text], text: 1}}}
        case _:
            return text


def is_own(field: EventField) -> bool:
    return isinstance(field.marker, Exact)


def recorder(environment: dict[str, str]) -> Recorder:
    return Recorder(MemoryJournal(), redactor=Redactor(environment), now=lambda: "now")


@pytest.mark.requirement("journal.own-words")
@given(NAMES)
@example("tests/fixtures/token")
@example("password")
def test_what_the_harness_wrote_of_its_own_comes_back_as_written(name: str) -> None:
    recording = recorder(ENVIRONMENT)
    for kind, event in EVENTS.items():
        fields = fields_of(event)
        details = {field.name: own(field, name) for field in fields if is_own(field)}
        words = {field.name: outside(field, "fine") for field in fields if not is_own(field)}
        told_event = happened(kind, {**details, **words})
        draft = recording.draft(told_event, "plan", extras={"x_own": "password=hunter2"})
        written = draft.details.json()
        assert {each: written[each] for each in details} == details
        sources = written.get("subscriptions")
        assert sources is None or (isinstance(sources, list) and DIGEST in str(sources[0]))


@pytest.mark.requirement("journal.no-secrets-by-type")
@one_fact("kind", EventKind, ids=lambda kind: kind.value)
def test_no_secret_gets_through_in_what_comes_from_outside(kind: EventKind) -> None:
    recording = recorder({"DEPLOY_TOKEN": "s3cr3t!-of-the-environment"})
    texts = [(f"found {secret}", [secret]) for _, secret in SAMPLES]
    texts += [in_context(template) for template, _ in IN_CONTEXT]
    texts += [("s3cr3t!-of-the-environment", ["s3cr3t!-of-the-environment"])]
    fields = [field for field in fields_of(EVENTS[kind]) if not is_own(field)]
    required = {field.name: own(field, "x") for field in fields_of(EVENTS[kind]) if is_own(field)}
    for text, secrets in texts:
        details: dict[str, Any] = {field.name: outside(field, text) for field in fields}
        event = happened(kind, details | required)
        own_words: dict[str, Json] = {"x_more": {"a": text}, "x_password": "hunter2!"}
        draft = recording.draft(event, "plan", task=("step-1", text), extras=own_words)
        written = json.dumps([draft.details.json(), draft.task_name], ensure_ascii=False)
        for secret in secrets:
            if len(secret) >= 6:  # a shorter one is part of other words
                assert json.dumps(secret, ensure_ascii=False)[1:-1] not in written
        assert "hunter2!" not in written
        assert draft.redactions >= len(fields) + 2


@one_fact("kind", EventKind, ids=lambda kind: kind.value)
def test_every_digest_id_and_number_is_exact_by_its_type(kind: EventKind) -> None:
    wanted = re.compile(r"\b(digests?|SHA-256|commit|ids?|branch)\b")
    for field in fields_of(EVENTS[kind]):
        if wanted.search(field.marker.meaning) and not isinstance(field.marker, FreeValues):
            assert is_own(field) or isinstance(field.marker, FreeNames), field


def test_an_object_of_somebodys_own_is_text_from_outside() -> None:
    extras: dict[str, Json] = {"x_a": {"password": "hunter2"}}
    draft = recorder({}).draft(GateApproved(modifications=()), "plan", extras=extras)
    assert draft.details.json()["x_a"] == {"password": "[redacted:credential]"}


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
    approval = Approval("n", DIGEST, judges, DIGEST, "alice", Method.DIGEST)
    current = CurrentPlan(DIGEST, {"tests/token": DIGEST}, DIGEST, "now")
    reason = mismatch(approval, current)
    assert reason is not None
    assert reason.startswith("its record is not whole: the digest of the judge `tests/")
    # A run that goes on is compared with its frozen tree, not with this.
    assert mismatch(approval, current._replace(judges=judges)) is None

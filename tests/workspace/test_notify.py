"""`[[notify]]` as it is written."""

from __future__ import annotations

import pytest

from planbound.errors import ConfigurationError
from planbound.journal.event import EventKind
from planbound.workspace.configuration_file import read_configuration
from planbound.workspace.notify import Notify, NotifyCommand, Webhook, identity
from tests.tables import one_fact

HOOK = {"events": ["*"], "secret_env": "HOOK_SECRET"}


def read(entry: object, path: str = "planbound.toml") -> Notify:
    (found,) = read_configuration({"notify": [entry]}, path=path).notify
    return found


def test_an_entry_says_who_is_told_of_what() -> None:
    assert read({"events": ["EXECUTION_COMPLETE"], "command": ["say", "done"]}) == Notify(
        NotifyCommand(("say", "done")), (EventKind.EXECUTION_COMPLETE,), seconds=10.0, retries=5
    )
    url = "https://hooks.example.org/a/b?c=d"
    assert read({**HOOK, "url": url, "timeout": "2s", "retries": 0}) == Notify(
        Webhook(
            secure=True,
            host="hooks.example.org",
            port=443,
            path="/a/b?c=d",
            secret_env="HOOK_SECRET",
        ),
        (),
        seconds=2.0,
        retries=0,
    )
    assert read_configuration({}, path="planbound.toml").notify == ()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.example.org/secret/path", "https://hooks.example.org"),
        ("https://HOOKS.example.org:8443", "https://hooks.example.org:8443"),
        ("http://localhost:8080/x", "http://localhost:8080"),
        ("http://127.9.9.9/x", "http://127.9.9.9"),
        ("http://[::1]:99/x", "http://[::1]:99"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert read({**HOOK, "url": url}).target.shown == shown


@one_fact(
    "url",
    [
        "http://hooks.example.org/",
        "http://127.0.0.1.example.org/",
        "http://localhost.example.org/",
        "http://0.0.0.0/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://[::ffff:8.8.8.8]/",
        "http://127.0.0.1@hooks.example.org/",
        "https://me:word@hooks.example.org/",
        "https://hooks.example.org#x",
        "https://hooks.example.org:0/",
        "https://hooks.example.org:99999/",
        "https://hooks.example.org\\@127.0.0.1/",
        "https://hooks.example.org/\nx",
        "https://[fe80::1%25eth0]/",
        "https:///x",
        "https://",
        "ftp://127.0.0.1/",
        "file:/etc/passwd",
        "hooks.example.org",
        "",
        7,
    ],
)
def test_only_https_and_this_machine_are_addresses(url: object) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        read({**HOOK, "url": url})
    assert refusal.value.message.startswith("`notify[1].url` ")
    assert "word" not in f"{refusal.value.message} {refusal.value.hint}".split()


@pytest.mark.parametrize(
    ("entry", "message", "hint"),
    [
        ({"events": ["EXECUTION_COMPLET"]}, "`EXECUTION_COMPLET`", "mean `EXECUTION_COMPLETE`?"),
        ({"events": ["nothing of this kind"]}, "which is no event", "RECOVERY_ESCALATION"),
        ({"events": []}, "names no event", "RECOVERY_ESCALATION"),
        ({"events": "*"}, "names of events", "events"),
        ({}, "names no event", "RECOVERY_ESCALATION"),
        ({"url": "https://example.org"}, "both there, or neither", "one of them"),
        ({"command": []}, "names no program", "notify-send"),
        ({"command": "say done"}, "not a list of words", "command"),
        ({"command": ["./tell.sh"]}, "from the workspace", "outside the workspace"),
        ({"command": ["bin/../tell"]}, "from the workspace", "outside the workspace"),
        ({"secret_env": "S"}, "for a `url` only", "take it away"),
        ({"retries": -1}, "`notify[1].retries` is -1", "from 0 to 20"),
        ({"retries": True}, "is True", "from 0 to 20"),
        ({"timeout": "0s"}, "`notify[1].timeout`", "duration"),
        ({"event": ["*"]}, "unknown key `notify[1].event`", "mean `events`?"),
    ],
)
def test_what_makes_no_sense_is_refused(entry: dict[str, object], message: str, hint: str) -> None:
    usual = {"events": ["*"], "command": ["say"]}
    if entry == {}:
        usual.pop("events")
    with pytest.raises(ConfigurationError) as refusal:
        read({**usual, **entry})
    assert message in refusal.value.message
    assert hint in (refusal.value.hint or "")


@pytest.mark.parametrize("secret", [None, "", "a secret, not a name", 7])
def test_a_webhook_needs_the_name_of_its_secret(secret: object) -> None:
    entry = {"events": ["*"], "url": "https://example.org"}
    with pytest.raises(ConfigurationError, match="secret_env"):
        read(entry if secret is None else {**entry, "secret_env": secret})


def test_only_the_file_that_no_agent_can_write_names_receivers() -> None:
    entry = {"events": ["*"], "command": ["say"]}
    with pytest.raises(ConfigurationError) as refusal:
        read(entry, path="pyproject.toml [tool.planbound]")
    assert "write it in `planbound.toml`" in (refusal.value.hint or "")


@pytest.mark.parametrize("value", [{"events": ["*"]}, "x", ["x"]])
def test_notify_is_a_list_of_tables(value: object) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        read_configuration({"notify": value}, path="planbound.toml")
    assert "[[notify]]" in (refusal.value.hint or "")


def test_an_entry_stays_the_same_while_receiver_and_events_do() -> None:
    entry = {**HOOK, "url": "https://example.org/a"}
    name = identity(read(entry), "")
    same = {**entry, "retries": 9, "timeout": "1m", "secret_env": "OTHER"}
    assert identity(read(same), "") == name
    others = [
        identity(read({**entry, "url": "https://example.org/b"}), ""),
        identity(read({**entry, "events": ["TASK_FAILED"]}), ""),
        identity(read(entry), "postgresql://other"),
        identity(read({"events": ["*"], "command": ["say"]}), ""),
    ]
    assert len({name, *others}) == 5


def test_what_an_entry_is_known_by_never_changes() -> None:
    # How far each receiver has come is kept under this name.
    kinds = (EventKind.TASK_FAILED, EventKind.EXECUTION_COMPLETE)
    told = identity(Notify(NotifyCommand(("say", "done")), events=kinds), "j")
    assert told == "c7969bf516e528cba045bae773a8fbfc402e7dbc6efb1a16d3b8424b716980ab"
    hook = identity(Notify(Webhook(True, "x.example", 8443, "/a?b=c", "S")), "j")  # noqa: FBT003
    assert hook == "6aaccd915dd871d499be166216174fe22af7232a9f5e9975ffe42da9bad1977e"

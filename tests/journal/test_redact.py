"""Secrets are taken out, and nothing else is."""

import json
import time
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from planbound.errors import ConfigurationError
from planbound.journal.fields import SecretKind
from planbound.journal.record import Json
from planbound.journal.redact import Redactor, is_credential
from tests.journal import JSON
from tests.tables import one_fact

PLAIN = Redactor({})

# The secrets are made up, and put together here so that no scanner takes this file for a leak.
LOWER = "q7w8e9r0t1y2u3i4o5p6a7s8d9f0g1h2j3k4l5z6x7c8v9b0n1m2"
MIXED = "Qw7Er8Ty9Ui0Op1As2Df3Gh4Jk5Lz6Xc7Vb8Nm9Qa0Ws1Ed2Rf3Tg4Yh5Uj6"
UPPER = "Q7W8E9R0T1Y2U3I4O5P6"
HEX = "0123456789abcdef" * 6
JWT = ".".join(["ey" + "JhbGciOiJIUzI1NiJ9", "ey" + "JzdWIiOiIxMjM0In0", MIXED[:43]])
BODY = "\n".join(["MIIEpAIBAAKCAQEA" + MIXED[:48], MIXED[:60], MIXED[:12] + "=="])
BEGIN, END = (f"-----{edge} RSA " + "PRIVATE KEY-----" for edge in ("BEGIN", "END"))

SHAPES = {
    "aws-key": [
        "AKI" + "A" + UPPER[:16],
        "ASI" + "A" + UPPER[:16],
    ],
    "google-key": [
        "AIz" + "a" + MIXED[:35],
        "GOC" + "SPX-" + MIXED[:28],
        "ya2" + "9." + MIXED[:40],
    ],
    "azure-key": ["a1B" + "8Q~" + MIXED[:34]],
    "github-token": [
        *(f"gh{letter}" + "_" + MIXED[:36] for letter in "pours"),
        "github" + "_pat_" + MIXED[:22] + "_" + MIXED[:59],
        "ghs" + "_12345_" + JWT,
    ],
    "gitlab-token": ["glp" + "at-" + LOWER[:20], "glp" + "at-" + LOWER[:27] + ".01." + LOWER[:9]],
    "slack-token": [
        *(f"xox{letter}" + "-123456789012-" + MIXED[:24] for letter in "abprs"),
        "xap" + "p-1-A012345-" + MIXED[:30],
    ],
    "openai-key": [
        "sk" + "-" + MIXED[:48],
        "sk" + "-proj-" + MIXED[:20] + "-" + MIXED[:20] + "_" + MIXED[:9],
        "sk" + "-svcacct-" + MIXED[:40],
    ],
    "anthropic-key": ["sk" + "-ant-api03-" + MIXED[:50] + "-" + MIXED[:20] + "AA"],
    "stripe-key": [
        "sk" + "_live_" + MIXED[:24],
        "rk" + "_live_" + MIXED[:24],
        "whs" + "ec_" + MIXED[:32],
    ],
    "npm-token": ["np" + "m_" + MIXED[:36]],
    "pypi-token": ["pyp" + "i-AgEI" + MIXED * 3],
    "huggingface-token": ["h" + "f_" + MIXED[:34]],
    "sendgrid-key": ["S" + "G." + MIXED[:22] + "." + MIXED[:43]],
    "twilio-key": ["S" + "K" + HEX[:32]],
    "service-token": [
        "do" + "p_v1_" + HEX[:64],
        "dck" + "r_pat_" + MIXED[:27],
        "hv" + "s." + MIXED[:24],
        "gs" + "k_" + MIXED[:52],
        "shp" + "at_" + HEX[:32],
        "1234567" + "89:A" + "A" + MIXED[:33],
    ],
    "jwt": [JWT, "ey" + "JhbGciOiJkaXIifQ.." + MIXED[:16] + "." + MIXED[:32] + "." + MIXED[:22]],
    "private-key": [f"{BEGIN}\n{BODY}\n{END}", f"{BEGIN}\n{BODY}"],
}
SAMPLES = [(kind, secret) for kind, secrets in SHAPES.items() for secret in secrets]

# (text, what becomes of it); the part in «» is the secret.
IN_CONTEXT = [
    ("aws_secret_access_key = «{aws}»", "aws-key"),
    ('"SecretAccessKey": "«{aws}»"', "aws-key"),
    (f"AKI{'A'}{UPPER[:16]},«{{aws}}»", "aws-key"),
    ("DefaultEndpointsProtocol=https;AccountKey=«{aws}{aws}ab==»;x=y", "azure-key"),
    ("https://x.example/c?sv=2024&sig=«{aws}%3D»&se=1", "azure-key"),
    ("https://hooks.slack.com/services/«T01234567/B01234567/{mixed}»", "webhook"),
    ("https://discord.com/api/webhooks/«123456789012345678/{mixed}»", "webhook"),
    ("Authorization: Bearer «{mixed}»", "authorization"),
    ("authorization: bearer «abcdef12»", "authorization"),
    ("curl -H 'Authorization: Basic «dXNlcjpwYXNz»' x", "authorization"),
    ('{"Authorization": "Token «{mixed}»"}', "authorization"),
    ('headers={\\"Authorization\\": \\"Bearer «{mixed}»\\"}', "authorization"),
    ("Authorization: «{mixed}»", "authorization"),
    ("use Bearer «{mixed}==» here", "authorization"),
    ("https://user:«hunter2»@example.org/x", "url-password"),
    ("postgresql://app:«p@ss:w0rd»@db:5432/app", "url-password"),
    ("redis://:«x»@localhost:6379/0", "url-password"),
    ("amqp://a:«$ecret!»@mq, and more", "url-password"),
    ("'mongodb+srv://me:«hunter2»@cluster0.example.net'", "url-password"),
    ("https://«{lower}»@git.example.org/x.git", "url-password"),
    ("https://«{lower}»:«x-oauth-basic»@git.example.org/x.git", "url-password"),
    ("password=«hunter2»", "credential"),
    ("PGPASSWORD=«swordfish» psql", "credential"),
    ("export DB_PASSWORD='«correct-horse»'", "credential"),
    ("password: «hunter2»", "credential"),
    ("Password: «Tr0ub4dor&3»", "credential"),
    ("passwd = «hunter2»", "credential"),
    ("password=«123456»", "credential"),
    ('password="«swordfish»"', "credential"),
    ('{"password": "«hunter2»", "user": "me"}', "credential"),
    ('{\\"password\\": \\"«hunter2»\\"}', "credential"),
    ("{'db_password': '«it\\'s-me»'}", "credential"),
    ('PASSWORD: str = "«hunter2»"', "credential"),
    ('let password: &str = "«hunter2»";', "credential"),
    ("password = b'«hunter2»'", "credential"),
    ("mysql --password «hunter2» -u root", "credential"),
    ("mysql --password=«hunter2» -u root", "credential"),
    ("deploy --api-key «{lower}»", "credential"),
    ("<password>«hunter2»</password>", "credential"),
    ("Server=db;Password=«hunter2!»;User=sa", "credential"),
    ("https://example.org/?user=me&password=«swordfish»&x=1", "credential"),
    ("login failed (password=«hunter2»).", "credential"),
    ("a=1\\npassword=«hunter2»\\nb=2", "credential"),
    ("token: «{lower}»", "credential"),
    ("token=«abc123def456»", "credential"),
    ('"access_token": "«{mixed}»"', "credential"),
    ("api_key = '«{lower}»'", "credential"),
    ("X-Api-Key: «{lower}»", "credential"),
    ("//registry.example.org/:_authToken=«{lower}»", "credential"),
    ("SECRET_KEY_BASE=«{lower}{lower}{lower}{lower}»", "credential"),
    ("client_secret=«{lower}»&x=1", "credential"),
    ("clientSecret: '«{mixed}»'", "credential"),
    ("encryption_key: «{lower}»", "credential"),
    (f'key = "«{BEGIN}\\n{BODY}\\n{END}»\\n"'.replace("\n", "\\n"), "private-key"),
    (f"a\n«  {BEGIN}\n  {BODY}»\nand then\n".replace("«  ", "  «"), "private-key"),
]

HARMLESS = """
password: str
password: str | None = None
password: SecretStr = Field(min_length=12)
def login(user: str, password: str) -> Token:
token=None
token = None
token: Token
token: Optional[str] = None
tokens: 200k
tokens=200000
max_tokens=4096000
max tokens: 150000
total_tokens: 123456 (input 100000)
token_count: 123456
token: 123456789
tokenizer: bert-base-uncased-v2
password=password
password=self._password
password=args.password,
password = getpass.getpass()
password = os.environ["DB_PASSWORD"]
token = config.get("token")
token=get_token(user1, user2)
secret = secrets.token_hex(32)
password=$DB_PASSWORD
password="${DB_PASSWORD}"
password: ${{ secrets.DB_PASSWORD }}
password={password!r}
password=<your password>
password: ********
password=xxxxxxxx
token: <token>
password: required
password: must be at least 12 characters
"password": "This field is required."
"password": {"type": "string", "minLength": 12}
Enter your password:
the password is wrong
wrong password, try again
if password == "":
if token != expected_token1:
assert token is not None
token = "<YOUR_TOKEN>"
api_key: YOUR_API_KEY
secret: my-app-v2-config
secretName: app-tls-2
secrets: inherit
arn:aws:secretsmanager:us-east-1:123456789012:secret:app/db1-AbCdEf
secret: arn:aws:secretsmanager:us-east-1:123456789012:secret:app
password_file: /run/secrets/db_password_1
password: /run/secrets/db1
PWD=/home/alice/src
pass: 12 fail: 3
12 passed, 1 failed in 3.21s
use the --password option
the --token flag, see below
private_key: PKCS7PrivateKeyTypes
token: JWTToken2
key: value1234
monkey=banana123
public key: ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ
https://example.org/a?b=c@d
http://localhost:8080/@scope/package
http://localhost:8080?mail=me@example.org
https://user@example.org/x.git
ssh://git@example.org:22/x.git
git@github.com:user/repo.git
postgresql://app:${DB_PASSWORD}@db/app
postgresql://app:$DB_PASSWORD@db/app
postgresql://app:{password}@db/app
postgresql://app:***@db/app
postgresql://localhost/app
Authorization: Bearer $TOKEN
Authorization: Bearer <token>
Authorization: required for all endpoints
Authorization: Basic Auth
bearer authentication is required here
Bearer authentication-with-a-long-name
authorization = base64.decodebytes(authorization)
task-management-system-with-a-long-name
the disk-0123456789abcdef0123456789abcdef is full
sk-estimator-doc-link
risk_test_configuration1
test_task_test_something1234567
highs_and_lows_of_programming_1
npm_config_registry npm_package_dependencies_left_pad
hf_hub_download
pypi-publish-workflow-with-trusted-publishing-and-attestations-for-all
xoxo-hugs-and-kisses
SKILLS SK123
SG.short.x
eyJhbGciOi.a.b
the eyJ prefix
AKIA is a prefix
AIza is a prefix
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
grep found -----BEGIN RSA PRIVATE KEY----- in three files
from -----BEGIN RSA PRIVATE KEY----- to -----END RSA PRIVATE KEY----- and no more
5c2f0a7b5c2f0a7b5c2f0a7b5c2f0a7b5c2f0a7b5c2f0a7b5c2f0a7b5c2f0a7b
commit 8ec77a9d0f1b2c3d4e5f60718293a4b5c6d7e8f9
sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
550e8400-e29b-41d4-a716-446655440000
[redacted:environment] [redacted:jwt]
password=[redacted:credential]
https://user:[redacted:url-password]@example.org
redacted: 3
""".strip().splitlines()


def in_context(template: str) -> tuple[str, list[str]]:
    """Return a text and the secrets in it."""
    fillings = {"{aws}": MIXED[:40], "{mixed}": MIXED[:32], "{lower}": LOWER[:32]}
    for name, filling in fillings.items():
        template = template.replace(name, filling)
    secrets = [part.split("»")[0] for part in template.split("«")[1:]]
    return template.replace("«", "").replace("»", ""), secrets


# -- shapes ------------------------------------------------------------------------------------


@one_fact(("kind", "secret"), SAMPLES)
@one_fact(
    ("before", "after"),
    [
        ("", ""),
        ("the token ", " was found"),
        ('{"a": "', '"}'),
        ("x='", "',"),
        ("line one\\n", "\\nline two"),
        ("\x1b[32m", "\x1b[0m"),
        ("\x1b]8;;https://example.org/?t=", "\x07a link\x1b]8;;\x07"),
        ("\x1b]0;a window called ", "\x1b\\"),
        ("(", ")."),
        ("https://example.org/?t=", "&u=1"),
        ("key%3D", "%26"),
    ],
)
def test_a_well_known_secret_is_taken_out_wherever_it_stands(
    kind: str, secret: str, before: str, after: str
) -> None:
    assert PLAIN.redact(before + secret + after) == (f"{before}[redacted:{kind}]{after}", 1)


@one_fact(("template", "kind"), IN_CONTEXT)
def test_a_secret_that_its_surroundings_give_away_is_taken_out_alone(
    template: str, kind: str
) -> None:
    text, secrets = in_context(template)
    redacted = PLAIN.redact(text)
    expected = text
    for secret in secrets:
        expected = expected.replace(secret, f"[redacted:{kind}]", 1)
    if text.startswith("AKI"):  # the key's id, too
        expected = f"[redacted:aws-key]{expected[20:]}"
    assert redacted.text == expected
    assert redacted.redactions >= len(secrets)


@one_fact("text", HARMLESS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert PLAIN.redact(text) == (text, 0)


def test_harmless_lines_stay_in_company_too() -> None:
    text = "\n".join(line for line in HARMLESS if "PRIVATE" not in line)
    assert PLAIN.redact(text) == (text, 0)


@one_fact(("kind", "secret"), SAMPLES)
def test_the_more_telling_kind_wins(kind: str, secret: str) -> None:
    if "\n" not in secret:
        assert PLAIN.redact(f"password={secret}") == (f"password=[redacted:{kind}]", 1)


def test_each_secret_counts() -> None:
    one, other = (secret for kind, secret in SAMPLES if kind == "stripe-key" and "live" in secret)
    text = f"{one} {other} {one}"
    assert PLAIN.redact(text) == (" ".join(["[redacted:stripe-key]"] * 3), 3)


def test_every_kind_has_a_name_of_its_own() -> None:
    assert {kind.value for kind in SecretKind} >= {kind for kind, _ in SAMPLES}
    assert {kind.value for kind in SecretKind} >= {kind for _, kind in IN_CONTEXT}


def test_a_key_without_an_end_takes_only_what_is_a_key() -> None:
    text = f"{BEGIN}\n{BODY}\nthen the tests passed\n"
    assert PLAIN.redact(text) == ("[redacted:private-key]\nthen the tests passed\n", 1)


@pytest.mark.parametrize("before", ["", "x\n", "x ", "\x1b[32m", "x='", "… "])
def test_a_key_whose_beginning_was_cut_off_is_taken_out(before: str) -> None:
    text, redactions = PLAIN.redact(f"{before}{BODY}\n{END} end")
    assert (text[-26:], redactions) == ("[redacted:private-key] end", 1)
    assert len(text) <= len(before) + 26


def test_a_key_with_a_passphrase_is_taken_out_with_its_headers() -> None:
    headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n"
    assert PLAIN.redact(f"{BEGIN}\n{headers}{BODY}") == ("[redacted:private-key]", 1)


def test_two_keys_are_two_secrets_and_what_is_between_stays() -> None:
    key = f"{BEGIN}\n{BODY}\n{END}"
    text = f"{key}\nand\n{key}\n"
    assert PLAIN.redact(text) == ("[redacted:private-key]\nand\n[redacted:private-key]\n", 2)


# -- environment -------------------------------------------------------------------------------


@one_fact(
    ("name", "value"),
    [
        *(
            (name, "s3cr3t!")
            for name in (
                "TOKEN GITHUB_TOKEN github_token GITHUBTOKEN APP_SECRET DB_PASSWORD MYSQL_PASSWD"
                " API_KEY OPENAI_APIKEY PRIVATE_KEY AWS_CREDENTIALS NPM_AUTH AUTH BASIC_AUTH"
                " AWS_ACCESS_KEY_ID SESSION_KEY SMTP_PASS MYSQL_PWD GH_PAT SENTRY_DSN"
                " SSH_PASSPHRASE STRIPE_KEY AUTH_TOKEN PASSWORD SECRET PGPASSWORD JWT"
                " SESSION_COOKIE AZURE_STORAGE_CONNECTION_STRING HTTP_AUTHORIZATION"
            ).split()
        ),
        ("DATABASE_URL", "postgresql://app:hunter2@db/app"),
        ("PLANBOUND_DATABASE_URL", "postgresql://app:hunter2@db/app"),
        ("REDIS_URL", "redis://:hunter2@localhost"),
        ("DATABASE_URL", "host=db;mode=open"),
        ("SLACK_WEBHOOK_URL", "https://example.org/hook/abc"),
        ("TOKEN", "123456"),
        ("TOKEN", "secret"),
        ("TOKEN", "/Zm9vYmFyYmF6"),
    ],
)
def test_a_value_is_a_credential_by_its_name(name: str, value: str) -> None:
    assert is_credential(name, value)
    redactor = Redactor({name: value})
    assert redactor.redact(f"x{value}y") == ("x[redacted:environment]y", 1)


@one_fact(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/home/alice"),
        ("PWD", "/srv/secret"),
        ("OLDPWD", "/srv/secret"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-abc/agent.1"),
        ("SSH_ASKPASS", "/usr/bin/askpass"),
        ("GIT_ASKPASS", "/usr/bin/askpass"),
        ("XAUTHORITY", "/home/alice/.Xauthority"),
        ("GIT_AUTHOR_NAME", "Alice Example"),
        ("GIT_AUTHOR_EMAIL", "alice@example.org"),
        ("TOKENIZERS_PARALLELISM", "disabled"),
        ("MAX_TOKENS", "200000"),
        ("MAX_OUTPUT_TOKENS", "200000"),
        ("TOKEN_LIMIT", "200000"),
        ("DB_PASSWORD_FILE", "/run/secrets/db"),
        ("GITHUB_TOKEN", "/run/secrets/github"),
        ("GITHUB_TOKEN", "~/.github-token"),
        ("AWS_CREDENTIALS_PATH", "credentials.ini"),
        ("TOKEN_URL", "https://example.org/oauth/token"),
        ("DATABASE_URL", "postgresql://localhost/app"),
        ("SECRET_NAME", "app-database"),
        ("PUBLIC_KEY", "ssh-rsa AAAA"),
        ("AUTH_METHOD", "kerberos"),
        ("AUTH_TYPE", "oauth2-device"),
        ("TOKEN", "short"),
        ("TOKEN", " short "),
        ("TOKEN", ""),
        ("AUTH", "disabled"),
        ("AUTH", "Required"),
        ("BYPASS", "proxy-list"),
        ("COMPASS", "north-east"),
        ("KEYBOARD", "qwertz-de"),
        ("MONKEY", "banana-1"),
        ("LANG", "en_US.UTF-8"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
    ],
)
def test_a_harmless_variable_is_left_alone(name: str, value: str) -> None:
    assert not is_credential(name, value)
    text = f"before {value} after"
    assert Redactor({name: value}).redact(text) == (text, 0)


@pytest.mark.parametrize(
    "spelling",
    [
        'p&"ä/ss\\w0rd',
        'p&\\"\\u00e4/ss\\\\w0rd',
        'p&\\"ä/ss\\\\w0rd',
        "p%26%22%C3%A4%2Fss%5Cw0rd",
        "p%26%22%C3%A4/ss%5Cw0rd",
        b64encode('p&"ä/ss\\w0rd'.encode()).decode(),
        b64encode('p&"ä/ss\\w0rd\n'.encode()).decode(),
    ],
)
def test_a_value_is_found_as_tools_write_it(spelling: str) -> None:
    redactor = Redactor({"DB_PASSWORD": 'p&"ä/ss\\w0rd\n'})
    assert redactor.redact(f"<{spelling}>").text.startswith("<[redacted:environment]")


def test_a_value_of_several_lines_is_found_line_by_line() -> None:
    redactor = Redactor({"SIGNING_KEY": "first-line-of-the-key\nshort\nthird-line-of-the-key\n"})
    text = "1: third-line-of-the-key\n2: short\n"
    assert redactor.redact(text) == ("1: [redacted:environment]\n2: short\n", 1)


def test_of_two_values_one_inside_the_other_nothing_is_left() -> None:
    redactor = Redactor({"A_TOKEN": "secret", "B_TOKEN": "my-secret-value"})
    assert redactor.redact("my-secret-value") == ("[redacted:environment]", 1)
    assert redactor.redact("my-secret") == ("my-[redacted:environment]", 1)


# -- configuration -----------------------------------------------------------------------------


def test_patterns_of_the_configuration_are_taken_out() -> None:
    redactor = Redactor({}, [r"ACME-\d{4}", r"(?i)project \w+"])
    assert redactor.redact("ACME-1234, Project Zephyr") == (
        "[redacted:configured], [redacted:configured]",
        2,
    )


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "(?P<a", "a{2,1}"])
def test_a_pattern_that_is_none_is_a_configuration_error(pattern: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        Redactor({}, ["fine", pattern])
    assert refusal.value.message.startswith(f"`{pattern}` is not a regular expression: ")
    assert refusal.value.hint is not None


@pytest.mark.parametrize(
    "pattern", [r"\w*", r"\w+", ".", ".*", r"^.*?,", r"a|", "", r"\[.*?\]", "]"]
)
def test_a_pattern_that_matches_too_much_still_comes_to_an_end(pattern: str) -> None:
    redactor = Redactor({}, [pattern])
    once = redactor.redact("one,two,three [redacted:jwt] aaa")
    assert redactor.redact(once.text) == (once.text, 0)


# -- JSON --------------------------------------------------------------------------------------


def test_json_is_redacted_in_keys_and_values_at_any_depth() -> None:
    redactor = Redactor({"A_TOKEN": "s3cr3t!"})
    value: Any = {"a": ["x s3cr3t!", {"s3cr3t!": [1, None, True, 1.5]}], "b": "fine"}
    assert redactor.redact_json(value) == (
        {
            "a": [
                "x [redacted:environment]",
                {"[redacted:environment]": [1, None, True, 1.5]},
            ],
            "b": "fine",
        },
        2,
    )


def test_keys_that_become_the_same_are_all_kept() -> None:
    redactor = Redactor({"A_TOKEN": "s3cr3t!", "B_TOKEN": "s4cr4t!"})
    keys: dict[str, Json] = {"s3cr3t!": 1, "s4cr4t!": 2, "[redacted:environment]": 3}
    once = redactor.redact_json(keys)
    assert once.redactions == 2
    assert once.value == {
        "[redacted:environment] (2)": 1,
        "[redacted:environment] (3)": 2,
        "[redacted:environment]": 3,
    }
    assert redactor.redact_json(once.value) == (once.value, 0)


@one_fact(
    ("key", "value", "redacted"),
    [
        ("password", "hunter2", True),
        ("db_password", "swordfish", True),
        ("Token", LOWER[:20], True),
        ("apiKey", MIXED[:20], True),
        ("password", "required", False),
        ("password", "$DB_PASSWORD", False),
        ("token", "identifier", False),
        ("tokens", "200k of 1234567890", False),
        ("digest", HEX[:64], False),
        ("error_message", "wrong password", False),
        ("credential", "GITHUB_TOKEN", False),
    ],
)
@one_fact("patterns", [(), ("never",)])
def test_a_key_gives_its_value_away(
    key: str, value: str, *, redacted: bool, patterns: tuple[str, ...]
) -> None:
    expected = "[redacted:credential]" if redacted else value
    found = Redactor({}, patterns).redact_json([{key: value}])
    assert found == ([{key: expected}], int(redacted))


@given(JSON)
def test_json_without_secrets_is_left_as_it_is(value: Any) -> None:
    redactor = Redactor({"A_TOKEN": "never-in-there"})
    redacted = redactor.redact_json(value)
    assume(not redacted.redactions)
    assert redacted.value == value


# -- properties --------------------------------------------------------------------------------

SECRETS = st.text(st.characters(exclude_categories=["Cs"]), min_size=6, max_size=20).map(str.strip)
SNIPPETS = st.sampled_from(
    [secret for _, secret in SAMPLES]
    + [in_context(template)[0] for template, _ in IN_CONTEXT]
    + HARMLESS
    + "password= token: \" ' ` \\ \\n = : @ :// [redacted: ]".split()
    + "[redacted:jwt] a1 eyJ sk- . - {".split()
    + ["\n", " ", "secret", "redacted", "environment]", "---BEGIN", MIXED, LOWER[:9]]
)
TEXTS = st.lists(SNIPPETS | st.text(max_size=8), max_size=12).map("".join)


@given(TEXTS, st.lists(SECRETS, max_size=3))
@example("[redacted:environment]!!!!!!", ["ment]!!"])
@example("redacted", ["redacted"])
def test_redacting_again_changes_nothing(text: str, values: list[str]) -> None:
    environment = {f"VAR{number}_TOKEN": value for number, value in enumerate(values)}
    redactor = Redactor(environment, [r"internal-\w+"])
    once = redactor.redact(text)
    assert redactor.redact(once.text) == (once.text, 0)
    assert PLAIN.redact(once.text) == (once.text, 0)


@given(JSON, TEXTS)
def test_redacting_json_again_changes_nothing(value: Any, text: str) -> None:
    value = {"a": value, "password": text, text: [text]}
    once = PLAIN.redact_json(value)
    assert PLAIN.redact_json(once.value) == (once.value, 0)
    assert Redactor({}, ["never"]).redact_json(value) == once


@given(SECRETS, TEXTS, TEXTS)
def test_a_value_of_the_environment_never_survives(secret: str, before: str, after: str) -> None:
    assume(is_credential("MY_TOKEN", secret))
    assume(not any(secret in f"[redacted:{kind.value}]" for kind in SecretKind))
    redactor = Redactor({"MY_TOKEN": secret})
    text, redactions = redactor.redact(before + secret + after)
    assert secret not in text
    assert redactions >= 1
    found = redactor.redact_json({"a": [before + secret, {secret + after: secret}]})
    assert secret not in json.dumps(found.value, ensure_ascii=False)


# -- cost --------------------------------------------------------------------------------------

HOSTILE = """
eyJ eyJaaaaaaaa. eyJ\\n sk-proj- sk-ant- ghp_a1 SG.aaaaaaaaaaaaaaaa. AKIA ://a: ://a:{ -
-----BEGIN~PRIVATE~KEY----- -----END~PRIVATE~KEY-----
-----BEGIN~PRIVATE~KEY-----\\nAAAAAAAAAAAAAAAA password: password=" token=&a --password~
authorization:~bearer~ secret_access_key~ [redacted:jwt] [redacted: a A {
""".split()


@pytest.mark.thorough
@one_fact("unit", HOSTILE)
def test_hostile_text_takes_no_longer_than_its_length_allows(unit: str) -> None:
    # Processor time, with a wide margin: what backtracks without bounds takes minutes.
    unit = unit.replace("~", " ")
    text = unit * (100_000 // len(unit))
    began = time.process_time()
    assert Redactor({"A_TOKEN": "aaaaaaaa"}, [r"internal-\w+"]).redact(text).text
    assert time.process_time() - began < 1


@pytest.mark.thorough
@one_fact("unit", HOSTILE)
def test_a_megabyte_of_hostile_text_is_read_to_its_end(unit: str) -> None:
    unit = unit.replace("~", " ")
    text = unit * (1_000_000 // len(unit))
    redacted = Redactor({"A_TOKEN": "aaaaaaaa"}, [r"internal-\w+"]).redact(text)
    assert redacted.text


@pytest.mark.parametrize(
    "start", ["password=", 'token="', "://a:", "eyJ", BEGIN, "Bearer 1", "sk-"]
)
def test_a_secret_of_a_megabyte_is_taken_out_whole(start: str) -> None:
    redacted = PLAIN.redact(f"{start}{'a1' * 500_000}.{'b2' * 9}.{'c3' * 9}@ end")
    assert len(redacted.text) < 100

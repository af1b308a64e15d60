"""Which kind of failure it is."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.agents.output import ERROR_KINDS, READ
from planbound.agents.signs import OUTPUT_SIGNS
from planbound.cells.cell import CommandEnding
from planbound.journal.event import VerdictKind
from planbound.journal.words import FailureClass
from planbound.run.classify import Classified, Failure, Pattern, classify
from tests.tables import one_fact

pytestmark = pytest.mark.requirement("recovery.classify")

# Each block: the rule, then one output for each line; `\n` stands for a new line.
SAID = r"""
== transient agent-http-429
curl: (22) The requested URL returned error: 429
requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://api.example.com/v1/chat
openai.RateLimitError: Error code: 429 - {'error': {'message': 'Rate limit reached for gpt-4o in organization org-x on tokens per min', 'type': 'tokens'}}
API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit"}}
npm error code E429\nnpm error 429 Too Many Requests - GET https://registry.example.com/left-pad
toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating
AxiosError: Request failed with status code 429
< HTTP/2 429
{"type":"result","is_error":true,"api_error_status":429,"result":"busy"}
aiohttp.client_exceptions.ClientResponseError: 429, message='Too Many Requests', url='https://api.example.com'
urllib.error.HTTPError: HTTP Error 429: Too Many Requests
stream error: unexpected status 429 Too Many Requests: slow down
HTTP status client error (429 Too Many Requests) for url (https://crates.example.com/)
anthropic.APIStatusError: status_code: 429, body: {}
== transient agent-rate-limit
gh: API rate limit exceeded for user ID 1234. (HTTP 403)
botocore.exceptions.ClientError: An error occurred (ThrottlingException) when calling the InvokeModel operation: slow
google.api_core.exceptions.ResourceExhausted: Please slow down
litellm.RateLimitError: AnthropicException - busy
remote: You have exceeded a secondary rate limit. Please wait a few minutes before you try again.
error: rate limited by upstream
You exceeded your current quota, please check your plan. Quota exceeded for metric: generate_requests. Please retry in 22.6s
== transient agent-http-408
HTTP/1.1 408 Request Timeout
== transient agent-http-5xx
fatal: unable to access 'https://git.example.com/a.git/': The requested URL returned error: 503
requests.exceptions.HTTPError: 502 Server Error: Bad Gateway for url: https://api.example.com/
openai.InternalServerError: Error code: 500 - {'error': {'message': 'The server had an error'}}
API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
error parsing HTTP 504 response body: no error details found
received unexpected HTTP status: 503 Service Unavailable
HTTP/1.1 500 Internal Server Error
npm ERR! 503 Service Unavailable - GET https://registry.example.com/x
{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}
status=502
cloudflare: error 524
== transient agent-service
anthropic.InternalServerError: {'type': 'error', 'error': {'type': 'overloaded_error'}}
upstream says: Bad Gateway
fatal: the remote end hung up unexpectedly
Error: the service is temporarily unavailable, come back
OSError: [Errno 11] Resource temporarily unavailable
Overloaded
rpc error: the server is currently overloaded
Selected model is at capacity. Please try a different model.
== transient agent-network
ConnectionResetError: [Errno 104] Connection reset by peer
curl: (7) Failed to connect to api.example.com port 443 after 2 ms: Couldn't connect to server
curl: (56) Recv failure: Connection reset by peer
curl: (28) Operation timed out after 30001 milliseconds with 0 bytes received
requests.exceptions.ConnectionError: HTTPSConnectionPool(host='x', port=443): Max retries exceeded (Caused by NewConnectionError(': [Errno 111] Connection refused'))
requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='x', port=443): Read timed out. (read timeout=10)
openai.APIConnectionError: Connection error.
openai.APITimeoutError: Request timed out.
Error: connect ECONNREFUSED 127.0.0.1:8080
npm error code ETIMEDOUT
npm error network request to https://registry.example.com/x failed, reason: socket hang up
ssh: connect to host git.example.com port 22: Connection timed out\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.
OSError: [Errno 101] Network is unreachable
connect: no route to host
psycopg.OperationalError: server closed the connection unexpectedly
rpc error: code = DeadlineExceeded desc = context deadline exceeded
Get "https://registry.example.com/v2/": net/http: request canceled (Client.Timeout exceeded): i/o timeout
aiohttp.client_exceptions.ServerDisconnectedError: Server disconnected
error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly
== transient agent-dns
curl: (6) Could not resolve host: api.example.com
socket.gaierror: [Errno -3] Temporary failure in name resolution
socket.gaierror: [Errno -2] Name or service not known
dial tcp: lookup registry.example.com: no such host
ssh: Could not resolve hostname git.example.com: nobody knows
== transient agent-tls
ssl.SSLEOFError: [SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol (_ssl.c:1007)
fatal: unable to access 'https://git.example.com/': gnutls_handshake() failed: The TLS connection was non-properly terminated.
OpenSSL SSL_read: SSL_ERROR_SYSCALL, errno 0
error pulling image configuration: unexpected EOF
== transient agent-memory
FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
Killed
bash: fork: Cannot allocate memory
MemoryError
== transient agent-locked
sqlite3.OperationalError: database is locked
Error: SQLITE_BUSY: locked by another
psycopg.errors.DeadlockDetected: deadlock detected
FATAL: sorry, too many clients already
fatal: Unable to create 'repo/.git/index.lock': File exists.
E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 12
OSError: [Errno 24] Too many open files: 'a.txt'
== permission agent-missing-credential
Error: ANTHROPIC_API_KEY is not set
== permission agent-http-401
gh: Bad credentials (HTTP 401)
openai.AuthenticationError: Error code: 401 - {'error': {'message': 'nope'}}
requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://api.example.com/
npm error code E401
HTTP/1.1 401 Unauthorized
curl: (56) CONNECT tunnel failed, response 407
== permission agent-http-403
fatal: unable to access 'https://git.example.com/a.git/': The requested URL returned error: 403
ERROR 403: Forbidden.
npm error 403 403 Forbidden - PUT https://registry.example.com/x
urllib.error.HTTPError: HTTP Error 403: Forbidden
{"error": {"code": 403, "message": "Caller may not"}}
== permission agent-authentication
remote: HTTP Basic: Access denied\nfatal: Authentication failed for 'https://git.example.com/a.git/'
remote: Invalid username or token. Password authentication is not supported for Git operations.
Invalid API key · Please run /login
Error code: 400 - {'error': {'code': 400, 'message': 'API key not valid. Please pass a valid API key.', 'status': 'INVALID_ARGUMENT'}}
unauthorized: authentication required
npm error code ENEEDAUTH
Host key verification failed.\nfatal: Could not read from remote repository.
sudo: a password is required
psql: error: FATAL: password authentication failed for user "me"
OAuth token has expired. Please obtain a new one
gh: To use it, please run `gh auth login`
== permission agent-permission
bash: line 3: ./deploy.sh: Permission denied
PermissionError: [Errno 13] Permission denied: '/etc/hosts'
npm error Error: EACCES: permission denied, mkdir '/usr/local/lib/node_modules/x'\nnpm error     at async mkdir\nnpm error The operation was rejected by your operating system.
chown: changing ownership of 'x': Operation not permitted
git@git.example.com: Permission denied (publickey).\nfatal: Could not read from remote repository.
denied: requested access to the resource is denied
permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock
An error occurred (AccessDeniedException) when calling the InvokeModel operation
GraphQL: Resource not accessible by integration
-bash: ./agent: Permission denied
== permission agent-quota
openai.RateLimitError: Error code: 429 - {'error': {'message': 'You exceeded your current quota, please check your plan and billing details.', 'type': 'insufficient_quota'}}
Error code: 400 - Your credit balance is too low to access the API. Please go to Plans & Billing
Claude AI usage limit reached|1760000000
You've hit your usage limit. Upgrade to continue.
HTTP 402 Payment Required
== invalid-input agent-http-400
openai.BadRequestError: Error code: 400 - {'error': {'message': "Unknown parameter: 'foo'"}}
API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"messages: empty"}}
requests.exceptions.HTTPError: 400 Client Error: Bad Request for url: https://api.example.com/
== invalid-input agent-http-4xx
HTTP/1.1 422 Unprocessable Entity
openai.NotFoundError: Error code: 404 - {'error': {'message': 'The model `gpt-9` is not there'}}
npm error 404 Not Found - GET https://registry.example.com/lefft-pad
== invalid-input agent-context
anthropic.BadRequestError: prompt is too long: 210000 tokens > 200000 maximum
This model's maximum context length is 8192 tokens. However, you requested 9000
== invalid-input agent-invalid-request
pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings
OSError: [Errno 22] Invalid argument: 'a:b'
jsonschema.exceptions.ValidationError: {} is not valid under any of the given schemas
error: unknown model 'sonnett'
== invalid-input agent-usage
agent.py: error: unrecognized arguments: --modle
error: unknown option '--printt'
Error: No such option: --foo
error: unexpected argument '--foo' found
agent: error: the following arguments are required: prompt
tool: illegal option -- z
Error: unknown shorthand flag: 'q' in -q
agent: error: argument --mode: invalid choice: 'x' (choose from 'a', 'b')
usage: agent [-h] [--model MODEL] prompt
== agent agent-format
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
SyntaxError: Unexpected token '<', "<!DOCTYPE "... is not valid JSON
error: failed to parse the response of the server
Error: invalid response format: expected a list
litellm.APIError: OpenAIException - Unable to get json response - Expecting value
KeyError: 'choices'
openai.APIResponseValidationError: Data returned by API invalid for expected schema.
pydantic_ai.exceptions.UnexpectedModelBehavior: Invalid response from openai chat completions endpoint
== agent agent-tool-call
Error: malformed function call
could not parse the tool call of the model
finish reason: MALFORMED_FUNCTION_CALL
RepeatedFormatError: the model did not answer in the format
Tool 'edit' exceeded max retries count of 5
== agent agent-turns
requests exhausted
The next request would exceed the request_limit of 200
I've reached the maximum number of actions I can do without user input
Error: maximum iterations (30) reached
== agent agent-core-dumped
Aborted (core dumped)
Segmentation fault
== unrecoverable agent-disk-full
OSError: [Errno 28] No space left on device
npm error code ENOSPC
cp: error writing 'x': Disk quota exceeded
== unrecoverable agent-read-only
touch: cannot touch 'x': Read-only file system
== unrecoverable agent-corrupt
error: object file .git/objects/ab/cdef is empty\nfatal: loose object abcdef0123 (stored in .git/objects/ab/cdef0123) is corrupt
sqlite3.DatabaseError: database disk image is malformed
error: index file corrupt
fatal: bad object HEAD
"""  # noqa: E501 - as the programs print it

CREDENTIALS = r"""
== OPENAI_API_KEY
openai.OpenAIError: The api_key client option must be set either by passing api_key to the client or by setting the OPENAI_API_KEY environment variable
KeyError: 'OPENAI_API_KEY'
== ANTHROPIC_API_KEY
Error: ANTHROPIC_API_KEY environment variable not set
ANTHROPIC_API_KEY is not set
Invalid API key. Check ANTHROPIC_API_KEY.
Error: 401 Unauthorized\nhint: is ANTHROPIC_API_KEY right?
== GH_TOKEN
gh: To use GitHub CLI in a workflow, set the GH_TOKEN environment variable.
== FOO_TOKEN
please set FOO_TOKEN and try again
deploy.sh: line 4: FOO_TOKEN: unbound variable
== AWS_SECRET_ACCESS_KEY
Missing required environment variable: AWS_SECRET_ACCESS_KEY
== GEMINI_API_KEY
When using Gemini API, you must specify the GEMINI_API_KEY environment variable.\nNo API key found
== SERVICE_ACCOUNT
environment variable SERVICE_ACCOUNT is not set
== -
Unable to locate credentials. You can configure credentials by running "aws configure".
Error: Cannot perform an interactive login: no basic auth credentials
fatal: could not read Username for 'https://git.example.com': terminal prompts disabled
Error: API key is missing
"""  # noqa: E501 - as the programs print it

SAYS_NOTHING = r"""
tests/test_429.py::test_it SKIPPED
403 tests passed
error: 500 files changed
src/app.py:429:12: undefined name
line 503, in main
Traceback: File "app.py", line 401
took 502ms
1429 requests sent
4290
processed 429 rows
pid 403 exited
exit code 500
exit status 429
returned 500 rows
error 1429
assert response.status_code == 401
assert 403 == 200
expected status 403, found 200
expect(res.status).toBe(403)
https://example.com/status/404
port 503 is free
version 4.2.9
v5.0.3
0x500
commit 429403a
sha256:401403404
PASSED tests/test_net.py::test_connection refused
tests/test_net.py::test_permission_denied
test_rate_limit_exceeded_is_handled ... ok
✓ returns 429 Too Many Requests when busy (12 ms)
ok 12 - permission denied is shown
--- PASS: connection refused (0.00s)
+    raise PermissionError("permission denied")
-    # connection reset by peer
Added rate limit handling to the client
Fixed connection refused in the retry loop
handles permission denied gracefully
Added permission denied tests
No permission denied
0 rate limit errors
the MAX_SIZE is set
ReferenceError: FOO_BAR is not defined
The connection pool has 500 slots
I could not finish: the function is still wrong
AssertionError: 12 != 13
SyntaxError: invalid syntax
ModuleNotFoundError: No module named 'billing'
make: *** [Makefile:3: all] Error 2
segments: 429-431
The rate limit is 500 per minute
timeout = 30
we have 2 tests that timed out
user authentication module
permission to edit
overload resolution failed
Retry-After: 30
bash: line 4: unexpected EOF while looking for matching `"'
hypothesis.errors.DeadlineExceeded: Test took 300ms
error: no matching overloaded function
except PermissionError:
    raise ConnectionResetError("x")
# Authentication failed
usage: Usage = Usage()
if code == errno.EPERM:
"""


def rows(block: str) -> list[tuple[str, str]]:
    found, head = [], ""
    for line in block.strip("\n").split("\n"):
        if line.startswith("== "):
            head = line[3:]
        else:
            found.append((head, line.replace("\\n", "\n")))
    return found


def of_output(text: str) -> Classified:
    return classify(Failure(agent_ending=CommandEnding.EXITED, agent_exit=1, agent_output=text))


@one_fact(("head", "text"), rows(SAID))
def test_an_agent_s_output_tells_why_it_failed(head: str, text: str) -> None:
    kind, rule = head.split()
    found = of_output(f"Working on it\n{text}\n")
    assert (found.kind.value, found.rule) == (kind, rule)


TRACEBACK = """\
Traceback (most recent call last):
  File "/opt/agent/main.py", line 12, in <module>
    main()
  File "/opt/agent/main.py", line 7, in main
    return answer["choices"][0]
"""
TYPE_ERROR = "TypeError: 'NoneType' object is not subscriptable\n"
RUST = "thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds\n"
NODE = """\
/opt/agent/index.js:3
    throw new TypeError("x is not a function")
TypeError: x is not a function
    at main (/opt/agent/index.js:3:11)

Node.js v22.1.0
"""
GO = "panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n"


@pytest.mark.requirement("recovery.agent")
@pytest.mark.parametrize(
    "text",
    [
        TRACEBACK + TYPE_ERROR,
        f"connection refused, it says; I try again\n{TRACEBACK}{TYPE_ERROR}\n\n",
        f"{TRACEBACK}pydantic_core.ValidationError: 1 error\n  field\n    Input is wrong\n",
        RUST + "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
        NODE,
        GO,
        'Exception in thread "main" java.lang.NullPointerException\n\tat Main.main(Main.java:3)\n',
    ],
)
def test_an_agent_whose_own_program_breaks_down_is_told_from_one_that_failed(text: str) -> None:
    assert of_output(f"Working on it\n{text}").kind is FailureClass.AGENT


def test_what_an_exception_says_last_tells_more_than_that_there_was_one() -> None:
    found = of_output(f"{TRACEBACK}ConnectionResetError: [Errno 104] Connection reset by peer\n")
    assert found.kind is FailureClass.TRANSIENT
    found = of_output(f"{TRACEBACK}openai.AuthenticationError: Error code: 401\n")
    assert found.kind is FailureClass.PERMISSION


@pytest.mark.parametrize(
    "text",
    [
        f"{TRACEBACK}AssertionError: 1 != 2\n\n----------\nRan 3 tests in 1s\n\nFAILED (errors=1)",
        f"{TRACEBACK}{TYPE_ERROR}That is what I saw.\nIt is of the test.\nI could not mend it.",
        f"the test says:\n\n  {TRACEBACK}\nI give up",
    ],
)
def test_a_traceback_that_an_agent_tells_of_is_not_its_own(text: str) -> None:
    seen = Failure(VerdictKind.FAIL, CommandEnding.EXITED, 1, agent_output=text)
    assert classify(seen).kind in {FailureClass.LOGIC, FailureClass.UNKNOWN}


def test_an_exception_that_an_agent_reports_is_its_own() -> None:
    for error in ("TypeError: 'NoneType' object is not subscriptable", "litellm.APIError: what?"):
        seen = Failure(VerdictKind.FAIL, CommandEnding.EXITED, 0, agent_error=error)
        assert classify(seen).kind is FailureClass.AGENT


@pytest.mark.parametrize(("name", "text"), rows(CREDENTIALS))
def test_a_missing_credential_is_named_where_the_output_names_it(name: str, text: str) -> None:
    found = of_output(text)
    assert found.kind is FailureClass.PERMISSION, found
    assert found.credential == (None if name == "-" else name)


@one_fact("text", SAYS_NOTHING.strip("\n").split("\n"))
def test_numbers_and_stories_are_no_signs(text: str) -> None:
    assert of_output(text) == Classified(FailureClass.UNKNOWN, "unknown")
    seen = Failure(VerdictKind.FAIL, CommandEnding.EXITED, 0, agent_output=text)
    assert classify(seen) == Classified(FailureClass.LOGIC, "contract-failed")


def test_the_tables_are_as_large_as_they_have_to_be() -> None:
    assert len(rows(SAID)) + len(rows(CREDENTIALS)) >= 120
    assert len(SAYS_NOTHING.strip("\n").split("\n")) >= 40
    assert {head.split()[1] for head, _ in rows(SAID)} == {sign.rule for sign in OUTPUT_SIGNS}


@one_fact(
    ("verdict", "kind", "rule"),
    [
        (VerdictKind.FAIL, "logic", "contract-failed"),
        (VerdictKind.TIMEOUT, "hung", "contract-timed-out"),
        (VerdictKind.KILLED, "transient", "contract-killed"),
        (VerdictKind.UNRUNNABLE, "unrunnable", "verdict-unrunnable"),
        (VerdictKind.VACUOUS, "vacuous", "verdict-vacuous"),
        (VerdictKind.FLAKY, "flaky", "verdict-flaky"),
        (VerdictKind.TAMPERED, "tampered", "verdict-tampered"),
        (VerdictKind.OUT_OF_SCOPE, "out-of-scope", "verdict-out-of-scope"),
    ],
)
@one_fact("output", ["", "Connection reset by peer", "HTTP 429", "EACCES"])
def test_where_the_agent_came_to_its_end_the_verdict_decides(
    verdict: VerdictKind, kind: str, rule: str, output: str
) -> None:
    seen = Failure(verdict, CommandEnding.EXITED, 0, agent_output=output, contract_output=output)
    found = classify(seen)
    assert (found.kind.value, found.rule) == (kind, rule)
    assert classify(Failure(verdict, contract_output=output)).rule == rule


@pytest.mark.parametrize("verdict", [VerdictKind.FAIL, VerdictKind.TIMEOUT, VerdictKind.KILLED])
def test_where_the_agent_failed_its_failure_decides(verdict: VerdictKind) -> None:
    seen = Failure(verdict, CommandEnding.EXITED, 1, agent_output="HTTP 401: Bad credentials")
    assert classify(seen).rule == "agent-http-401"
    unclear = Failure(verdict, CommandEnding.EXITED, 1, agent_output="sorry")
    assert classify(unclear) == Classified(FailureClass.UNKNOWN, "unknown")
    content = Failure(verdict, CommandEnding.EXITED, 0, agent_output="sorry")
    assert classify(content).rule.startswith("contract-")


@pytest.mark.requirement("recovery.unknown")
@pytest.mark.parametrize(
    "seen",
    [
        Failure(VerdictKind.FAIL, CommandEnding.EXITED, 3, agent_output="zork happened"),
        Failure(VerdictKind.FAIL, CommandEnding.EXITED, 1),
        Failure(VerdictKind.FAIL, CommandEnding.EXITED, 0, agent_error="zork"),
        Failure(VerdictKind.FAIL, CommandEnding.SIGNALLED, agent_signal=10),
        Failure(
            VerdictKind.FAIL,
            CommandEnding.EXITED,
            1,
            agent_output="1 failed in 2s\n" + "zork\n" * 9,
        ),
    ],
)
def test_what_nobody_knows_of_an_agent_is_unknown(seen: Failure) -> None:
    assert classify(seen) == Classified(FailureClass.UNKNOWN, "unknown")


@pytest.mark.parametrize(
    "end",
    [
        "FAILED tests/test_a.py::test_b - assert 1 == 2\n=== 1 failed, 11 passed in 0.12s ===",
        "1 failed, 2 passed in 3.10s",
        "2 passed, 1 error in 0.10s",
        "Ran 3 tests in 0.001s\n\nFAILED (failures=1)",
        "Tests:       1 failed, 4 passed, 5 total\nTime: 2 s\nRan all test suites.",
        " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n   Duration  1s",
        "  3 passing (12ms)\n  1 failing",
        "ℹ pass 1\nℹ fail 1\nℹ cancelled 0",
        "# pass 1\n# fail 2",
        "test result: FAILED. 3 passed; 1 failed; 0 ignored; finished in 0.00s",
        "FAIL\texample.org/billing\t0.012s\nFAIL",
    ],
)
def test_an_agent_that_ends_with_failing_tests_has_not_done_the_work(end: str) -> None:
    seen = Failure(
        VerdictKind.FAIL, CommandEnding.EXITED, 1, agent_output=f"I ran the tests.\n{end}\n"
    )
    assert classify(seen) == Classified(FailureClass.LOGIC, "agent-tests-failed")


@pytest.mark.parametrize(
    "verdict",
    [
        VerdictKind.TAMPERED,
        VerdictKind.OUT_OF_SCOPE,
        VerdictKind.VACUOUS,
        VerdictKind.FLAKY,
        VerdictKind.UNRUNNABLE,
    ],
)
def test_nothing_that_an_agent_says_hides_a_verdict_about_the_judging(verdict: VerdictKind) -> None:
    every = (Pattern("mine", ".", FailureClass.TRANSIENT),)
    loud = Failure(
        verdict,
        CommandEnding.TIMED_OUT,
        137,
        9,
        "HTTP 429\nRetry-After: 5",
        "rate_limit",
        exhausted_memory=True,
        missing_credential="A_KEY",
    )
    assert classify(loud, every) == Classified(
        FailureClass(verdict.value), f"verdict-{verdict.value}"
    )


@one_fact(
    ("failure", "kind", "rule"),
    [
        (Failure(agent_ending=CommandEnding.TIMED_OUT), "hung", "agent-timed-out"),
        (Failure(VerdictKind.FAIL, CommandEnding.TIMED_OUT), "hung", "agent-timed-out"),
        (Failure(agent_ending=CommandEnding.NOT_STARTED), "unrunnable", "agent-not-started"),
        (Failure(agent_ending=CommandEnding.EXHAUSTED), "transient", "agent-exhausted"),
        (Failure(exhausted_memory=True), "transient", "memory-exhausted"),
        (Failure(agent_signal=9, agent_output="EACCES"), "transient", "agent-killed"),
        (Failure(agent_exit=137), "transient", "agent-killed"),
        (Failure(agent_signal=15), "transient", "agent-stopped"),
        (Failure(agent_exit=143), "transient", "agent-stopped"),
        (Failure(agent_signal=11), "agent", "agent-crashed"),
        (Failure(agent_exit=139), "agent", "agent-crashed"),
        (Failure(agent_exit=134, agent_output="heap out of memory"), "transient", "agent-memory"),
        (Failure(agent_exit=124), "hung", "agent-exit-124"),
        (Failure(agent_exit=126, agent_output="Permission denied"), "unrunnable", "agent-exit-126"),
        (Failure(agent_exit=127), "unrunnable", "agent-exit-127"),
        (Failure(VerdictKind.FAIL, agent_exit=127), "unrunnable", "agent-exit-127"),
        (Failure(agent_exit=64), "invalid-input", "agent-exit-64"),
        (Failure(agent_exit=65), "invalid-input", "agent-exit-65"),
        (Failure(agent_exit=70), "agent", "agent-exit-70"),
        (Failure(agent_exit=101), "agent", "agent-exit-101"),
        (Failure(agent_exit=75), "transient", "agent-exit-75"),
        (Failure(agent_exit=77), "permission", "agent-exit-77"),
        (Failure(agent_exit=77, agent_output="database is locked"), "transient", "agent-locked"),
        (Failure(missing_credential="X_KEY"), "permission", "credential-missing"),
        (Failure(contract_exit=1, agent_exit=0), "logic", "contract-failed"),
        (Failure(contract_exit=127, agent_exit=0), "unrunnable", "contract-exit-127"),
        (Failure(contract_signal=9, agent_exit=0), "transient", "contract-killed"),
        (Failure(agent_exit=1), "unknown", "unknown"),
        (Failure(VerdictKind.PASS, agent_exit=0), "unknown", "unknown"),
        (Failure(), "unknown", "unknown"),
    ],
)
def test_ends_signals_and_exit_codes_tell_the_kind(failure: Failure, kind: str, rule: str) -> None:
    found = classify(failure)
    assert (found.kind.value, found.rule) == (kind, rule)


@one_fact(
    ("error", "rule"),
    [
        ("rate_limit", "agent-error-rate-limit"),
        ("rate_limit_error", "agent-error-rate-limit"),
        ("openai.RateLimitError", "agent-error-rate-limit"),
        ("overloaded", "agent-error-service"),
        ("overloaded_error", "agent-error-service"),
        ("api_error", "agent-error-service"),
        ("APIConnectionError", "agent-error-network"),
        ("authentication", "agent-error-authentication"),
        ("authentication_failed", "agent-error-authentication"),
        ("missing-credential", "agent-error-missing-credential"),
        ("not-installed", "agent-error-not-installed"),
        ("invalid_request_error", "agent-error-input"),
        ("error_max_turns", "agent-error-turns"),
        ("error_max_budget_usd", "agent-error-budget"),
        ("crashed: it closed its output", "agent-error-crashed"),
        ("UnexpectedModelBehavior", "agent-error-format"),
        ("malformed_function_call", "agent-error-format"),
        ("billing_error", "agent-error-quota"),
        ("workspace-mismatch", "agent-error-workspace"),
        ("it was HTTP 503", "agent-http-5xx"),
    ],
)
def test_kinds_of_errors_that_agents_report_are_read_in_any_spelling(error: str, rule: str) -> None:
    seen = Failure(
        VerdictKind.FAIL, CommandEnding.EXITED, 0, agent_error=error, agent_output="EACCES"
    )
    assert classify(seen).rule == rule


def test_a_kind_that_nobody_knows_leaves_the_output_to_tell() -> None:
    seen = Failure(agent_exit=1, agent_error="odd", agent_output="Connection refused")
    assert classify(seen).rule == "agent-network"
    assert classify(Failure(agent_exit=1, agent_error="odd")).kind is FailureClass.UNKNOWN


def test_every_rule_has_a_name_of_its_own() -> None:
    rules = [sign.rule for sign in OUTPUT_SIGNS] + [kind.rule for kind in ERROR_KINDS]
    assert len(rules) == len(set(rules))
    assert all(re.fullmatch(r"agent-[a-z0-9]+(-[a-z0-9]+)*", rule) for rule in rules)


def test_what_is_said_last_counts() -> None:
    assert of_output("HTTP 429, waiting\nHTTP 401: Bad credentials").rule == "agent-http-401"
    assert of_output("HTTP 401: Bad credentials\nHTTP 429, waiting").rule == "agent-http-429"


def test_colours_do_not_hide_a_sign() -> None:
    assert of_output("\x1b[31mError: \x1b[1m429\x1b[0m").rule == "agent-http-429"


def test_only_the_end_of_an_output_is_looked_at() -> None:
    far = "HTTP 429\n" + "x\n" * READ
    assert of_output(far).kind is FailureClass.UNKNOWN
    assert of_output("x\n" * READ + "HTTP 429\n").kind is FailureClass.TRANSIENT


@one_fact(
    ("text", "seconds"),
    [
        ("Retry-After: 30", 30),
        ("retry-after: 120\r", 120),
        ("< Retry-After: 7", 7),
        ('"retry-after": "12"', 12),
        ("'retry_after': 12.5", 12),
        ("retry after 30s", 30),
        ("Please try again in 1m20s.", 80),
        ("Please try again in 6ms.", 0.006),
        ("Please try again in 20s. Visit https://example.com", 20),
        ("retry-after-ms: 1500", 1.5),
        ("Please retry in 22.63s.", 22.63),
        ('"retryDelay": "34s"', 34),
        ("please wait 2 minutes", 120),
        ("try again in 1 hour, 5 minutes", 3600),
        ("Retry-After: 86400", 3600),
        ("Retry-After: 0", 0),
        ("try again in 0s", 0),
        ("Retry-After: 10\nRetry-After: 20", 20),
        ("Retry-After: Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("retry after 3 attempts", None),
        ("retry 3 of 5", None),
        ("try again later", None),
        ("Retry-After: 2026-10-21", None),
    ],
)
def test_the_wait_that_a_service_asks_for_is_read(text: str, seconds: float | None) -> None:
    assert of_output(f"HTTP 429\n{text}\n").retry_after == seconds


def test_a_wait_is_read_only_where_waiting_helps() -> None:
    assert of_output("HTTP 401\nRetry-After: 30").retry_after is None
    seen = Failure(agent_exit=1, agent_error="rate_limit", agent_output="try again in 20s")
    assert classify(seen).retry_after == 20


def test_a_pattern_of_a_recipe_widens_a_class_or_only_picks_the_recipe() -> None:
    seen = Failure(
        VerdictKind.FAIL, CommandEnding.EXITED, 0, contract_output="upstream hiccup\nRetry-After: 4"
    )
    widened = classify(seen, (Pattern("proxy", "hiccup", FailureClass.TRANSIENT),))
    assert (widened.kind, widened.rule) == (FailureClass.TRANSIENT, "recipe-proxy")
    assert widened.recipe == "proxy"
    picked = classify(seen, (Pattern("other", "zzz", None), Pattern("mine", "hic+up", None)))
    assert picked == Classified(FailureClass.LOGIC, "recipe-mine")
    assert classify(seen, (Pattern("other", "zzz", None),)).recipe is None


@pytest.mark.parametrize("before", [0, 1, 249, 250, 499, 500, 501, 5000])
def test_a_pattern_is_found_anywhere_in_a_long_line(before: int) -> None:
    seen = Failure(VerdictKind.FAIL, agent_output="x" * before + "hiccup" + "y" * 700)
    assert classify(seen, (Pattern("mine", "hiccup", None),)).recipe == "mine"


def test_no_output_keeps_a_pattern_of_a_recipe_busy() -> None:
    # On the whole line at once this would take hours.
    slow = (Pattern("mine", "error.*error.*timeout", None),)
    seen = Failure(VerdictKind.FAIL, agent_output="error" * READ)
    began = time.process_time()
    assert classify(seen, slow).recipe is None
    assert time.process_time() - began < 5


HOSTILE = [
    "a" * READ,
    " " * READ,
    "A_" * (READ // 2),
    "A_KEY " * (READ // 6),
    "status: " * (READ // 8),
    "error code error code " * (READ // 22),
    "HTTP status error code response " * (READ // 32),
    "429 " * (READ // 4),
    "no EPERM " * (READ // 9),
    "retry after " * (READ // 12),
    "wait 1m1m1m1m" * (READ // 13),
    "missing required env variable " * (READ // 30),
    "object file " + "x" * READ,
    "loose object abc " * (READ // 17),
    "unable to create '" * (READ // 18),
    "ssl: " * (READ // 5),
    "model: " * (READ // 7),
    "argument a a" * (READ // 12),
    "\x1b[" * (READ // 2),
    "\n" * READ,
    "connection was has been " * (READ // 24),
    "rate limit " * (READ // 11),
    "x\n" * (READ // 2),
]


@pytest.mark.thorough
@one_fact("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_output_takes_long(text: str) -> None:
    # Processor time, with a wide margin: what backtracks without bounds takes minutes.
    began = time.process_time()
    of_output(text)
    of_output(f"{text}\nHTTP 429\n{text[: READ // 2]}")
    assert time.process_time() - began < 2


@given(
    st.builds(
        Failure,
        verdict=st.none() | st.sampled_from(VerdictKind),
        agent_ending=st.none() | st.sampled_from(CommandEnding),
        agent_exit=st.none() | st.integers(0, 255),
        agent_signal=st.none() | st.integers(1, 64),
        agent_output=st.text() | st.sampled_from([text for _, text in rows(SAID)]),
        agent_error=st.none() | st.text(),
        contract_exit=st.none() | st.integers(0, 255),
        contract_output=st.text(),
        exhausted_memory=st.booleans(),
        missing_credential=st.none() | st.text(),
    )
)
def test_every_failure_has_a_class_and_a_rule(failure: Failure) -> None:
    found = classify(failure)
    assert re.fullmatch(r"[a-z0-9-]+", found.rule)
    assert found.kind in FailureClass
    assert found.retry_after is None or 0 <= found.retry_after <= 3600
    assert found == classify(failure)

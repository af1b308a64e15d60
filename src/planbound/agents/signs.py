"""What the output of a failed agent says about why it failed, as patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planbound.journal.words import FailureClass
from planbound.source import lazy_pattern
from planbound.workspace.recipes import sign

# A number is a status only behind such a word and in front of such an end: `line 429`,
# `403 tests passed` and `error: 500 files` are none.
_BEFORE = (
    r"(?<![a-z])(?:http(?:/[\d.]{1,3})?(?:[ _-](?:status|error|code|response|request)){0,3}"
    r"|(?<!exit[ _])(?:status(?:[ _-]?code)?|code)|error(?:[ _-](?:code|status))?"
    r"|response(?:[ _-](?:code|status))?|returned|answered|failed with)"
    r"[\"']?\s{0,2}(?:[:=(](?!=)|of\b|is\b)?\s{0,2}[\"'(]?"
)
_AFTER = (
    r"(?=\s{0,2}(?:$|[{(\"'\])},;|<]|[.:](?!\w)|[-–—](?!\w))"
    r"|\s(?:for|from|on|when|while|response|error|status)\b)"
)


def http_status(codes: str, phrases: str) -> str:
    """Return a pattern of these codes with a reason, or behind a word that announces a status."""
    return (
        rf"{_BEFORE}(?:{codes})(?!\w)(?:{_AFTER}|\s(?:{phrases}))"
        rf"|(?<![\w.:/-])(?:{codes})(?:,? ?message=['\"]|[ :,]{{1,2}})(?:{phrases})"
        rf"|(?<![a-z])code E(?:{codes})(?!\w)"
    )


CREDENTIAL = (
    r"(?-i:(?<![A-Za-z0-9_])(?:[A-Z][A-Z0-9]{0,30}_){1,6}"
    r"(?:KEY|KEY_ID|TOKEN|SECRET|PASSWORD|PASSWD|PAT|CREDENTIALS?|APIKEY)(?![A-Za-z0-9_]))"
)
"""Matches such a name in any pattern: `OPENAI_API_KEY`, `GH_TOKEN`."""
_NAME = lazy_pattern(CREDENTIAL)
_ANNOUNCED = lazy_pattern(
    r"(?:environment|env) var(?:iable)?s?:? [\"'`$]{0,2}"
    r"(?-i:([A-Z][A-Z0-9_]{2,63}))(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_AROUND = 3


def is_credential(name: str) -> bool:
    """Say whether a variable of this name holds a credential."""
    return _NAME.fullmatch(name) is not None


def credential_near(lines: Sequence[str], index: int) -> str | None:
    """Return the variable that a line, or one of the few around it, names."""
    around = lines[max(0, index - _AROUND) : index + _AROUND + 1]
    for line in (lines[index], *around):
        if match := _NAME.search(line):
            return match.group()
        if match := _ANNOUNCED.search(line):
            return match[1]
    return None


_P = FailureClass.PERMISSION
_UNSET = (
    r"(?:(?:(?:is|was|has) )?not (?:been )?(?:set|defined|provided|found|exported|configured)"
    r"|(?:is |was )?(?:missing|required|empty|unset|undefined)|must be (?:set|provided|defined))\b"
)
QUOTA = sign(
    "quota",
    _P,
    r"\binsufficient_quota\b",
    r"exceeded your current quota",
    r"credit balance is too low",
    r"\busage limit (?:has been )?(?:reached|exceeded|hit)",
    r"\bhit your usage limit",
    r"\b(?:billing|payment) (?:is )?(?:required|hard limit)",
    http_status("402", "payment required|client error"),
    # A service that names a wait is only busy.
    unless=r"(?:retry|try again) (?:in|after) \d|retrydelay",
)
"""An account that is used up: waiting for minutes does not help."""
PERMISSION_SIGNS = (
    sign(
        "missing-credential",
        _P,
        rf"{CREDENTIAL}[\"'`]? (?:(?:environment|env) var(?:iable)? )?{_UNSET}",
        rf"\b(?:environment|env) variable [\"'`$]{{0,2}}(?-i:[A-Z][A-Z0-9_]{{1,63}})[\"'`]? "
        rf"{_UNSET}",
        rf"\b(?-i:[A-Z][A-Z0-9_]{{1,63}})[\"'`]? (?:environment|env) variable {_UNSET}",
        rf"\bset(?:ting)? (?:the |your |an? )?[\"'`$]{{0,2}}{CREDENTIAL}",
        rf"\bKeyError: ['\"]{CREDENTIAL}",
        r"\bmissing (?:required )?(?:environment|env) variables?:? [\"'`$]{0,2}(?-i:[A-Z])",
        rf"{CREDENTIAL}: (?:unbound variable|parameter (?:not set|null or not set))",
        r"\b(?:missing|no|without an?|provide an?|could not find an?|need an?) "
        r"(?:valid )?(?:api[ _-]?key|access token|auth token|credentials?)\b"
        r"(?! (?:is |are )?(?:needed|required|necessary))",
        r"\bapi[ _-]?key (?:is |was )?(?:missing|required|not (?:set|found|provided|configured))",
        r"\bunable to locate credentials\b",
        r"\bcould not (?:load|find) (?:the )?(?:default )?credentials\b",
        r"\bno basic auth credentials\b",
        r"could not read (?:username|password) for ",
    ),
    sign(
        "http-401",
        _P,
        http_status(
            "401|407", "unauthori[sz]ed|authentication|proxy authentication|client error|bad cred"
        ),
    ),
    sign(
        "authentication",
        _P,
        r"\bauthentication (?:has )?(?:failed|required|error|failure)\b",
        r"\bauthentication_?(?:error|failed)\b",
        r"\b(?:invalid|incorrect|wrong|expired|revoked) (?:x-)?(?:api[ _-]?key|access token"
        r"|auth(?:entication)? token|bearer token|oauth token|credentials?"
        r"|username or (?:password|token))",
        r"\b(?:api[ _-]?key|access token|auth token|oauth token|credentials?) "
        r"(?:is |are |has |have |was )?(?:not valid|invalid|expired|revoked|incorrect"
        r"|been revoked)",
        r"\bapi_key_invalid\b",
        r"\bbad credentials\b",
        r"\bnot (?:logged in|authenticated)\b",
        r"\bplease (?:run )?[`/']?(?:\w{1,20} )?(?:auth )?log ?in\b",
        r"(?-i:\bUNAUTHENTICATED\b|\bUnauthenticated\b)",
        r"^(?:error:? )?unauthori[sz]ed\b",
        r"\bENEEDAUTH\b",
        r"\bhost key verification failed",
        r"\bpassword is required\b",
        r"\bpassword authentication failed\b",
    ),
    sign(
        "http-403",
        _P,
        http_status("403", "forbidden|client error|permission|access denied"),
    ),
    sign(
        "permission",
        _P,
        r"\bpermission denied\b",
        r"\bpermission_?denied(?:_?error)?\b",
        r"\bPermissionError\b",
        r"\bEACCES\b",
        r"\bEPERM\b",
        r"\boperation not permitted\b",
        r"\baccess(?: is)? denied\b",
        r"\bAccessDenied(?:Exception)?\b",
        r"\bUnauthorizedOperation\b",
        r"\binsufficient (?:permissions?|privileges?|scopes?)\b",
        r"\bresource not accessible by\b",
        r"\baccess to the resource is denied\b",
        r"\bdoes not have (?:the )?(?:permission|access)\b",
    ),
)
_A = FailureClass.AGENT
_CALL = r"(?:tool|function)[ _-]?(?:call|use|invocation)s?"
_LIMITED = r"(?:turn|iteration|step|request|action|round|reflection)s?"
BREAKDOWN_SIGNS = (
    sign(
        "format",
        _A,
        r"\bJSONDecodeError\b",
        r"\bExpecting value: line \d{1,9} column \d",
        r"\bis not valid JSON\b",
        r"\bUnexpected (?:token|end of JSON input)\b.{0,200}\bJSON\b",
        r"\bunexpected end of JSON input\b",
        r"\b(?:failed|unable|could not|cannot) (?:to )?(?:parse|decode|deserialize|read)"
        r" (?:the |a )?(?:\w{1,20} )?(?:response|answer|reply|completion|stream)\b",
        r"\b(?:invalid|malformed|unparsable|unexpected) (?:\w{1,20} )?(?:response|completion)"
        r" (?:format|body|from|of)\b",
        r"\bunable to get json response\b",
        r"\b(?:missing|no) (?:field |key |property )?[`'\"]?choices\b",
        r"^KeyError: '(?:choices|message|content|output|usage)'",
        r"\bAPIResponseValidationError\b",
        r"\bUnexpectedModelBehavior\b",
    ),
    sign(
        "tool-call",
        _A,
        rf"\b(?:malformed|invalid|unreadable|unparsable|unparseable|incomplete) {_CALL}\b",
        rf"\b(?:failed|unable|could not|cannot) (?:to )?(?:parse|decode|read|understand)"
        rf" (?:the |a |its )?(?:{_CALL}|(?:tool|function) (?:arguments?|input))\b",
        r"\bMALFORMED_FUNCTION_CALL\b",
        r"\bRepeatedFormatError\b",
        r"\bexceeded max(?:imum)? (?:\w{1,20} )?retries\b",
    ),
    sign(
        "turns",
        _A,
        r"\brequests? (?:are |were |is |was )?exhausted\b",
        rf"\bmax(?:imum)? (?:number of )?{_LIMITED}\b.{{0,30}}\b(?:reached|exceeded|exhausted|hit)",
        rf"\b(?:reached|exceeded|exhausted|hit) (?:the |its |your |all )?(?:max(?:imum)? )?"
        rf"(?:number of )?{_LIMITED}\b",
        r"\brequest_limit of \d",
    ),
    sign("core-dumped", _A, r"\(core dumped\)", r"^Segmentation fault\b"),
)
"""What a line says; looked for after everything that is known of services and machines."""
_T, _I = FailureClass.TRANSIENT, FailureClass.INVALID_INPUT
_U, _AGENT_FAULT = FailureClass.UNRECOVERABLE, FailureClass.AGENT
OUTPUT_SIGNS = (
    QUOTA,
    sign(
        "disk-full",
        _U,
        r"no space left on device",
        r"\bENOSPC\b",
        r"disk quota exceeded",
        r"\bEDQUOT\b",
        r"there is not enough space on the disk",
    ),
    sign("read-only", _U, r"read-only file ?system", r"\bEROFS\b"),
    sign(
        "corrupt",
        _U,
        r"\bloose object [0-9a-f]{1,64}\b.{0,200} is corrupt",
        r"\bobject file \S{1,300} is empty",
        r"\bindex file (?:corrupt|smaller than expected)",
        r"\bbad object HEAD\b",
        r"packfile \S{1,300} (?:is corrupt|does not match index|cannot be accessed)",
        r"database disk image is malformed",
        r"\bfile is not a database\b",
        r"structure needs cleaning",
        r"\binput/output error\b",
    ),
    sign(
        "http-429",
        _T,
        http_status("429", "too many|client error|rate.?limit|resource.?exhausted"),
        r"\btoo ?many ?requests\b",
    ),
    sign(
        "rate-limit",
        _T,
        r"\brate[ -]limit(?:s|ed|ing)? (?:was |has been |is )?(?:exceeded|reached|hit|error)",
        r"\b(?:exceeded|reached|hit|exceeds?) (?:(?:the|your|a|api|our|secondary|pull) ){0,3}"
        r"(?:organization['’]?s )?rate[ -]?limit",
        r"\brate[ -]limited\b",
        r"\brate_?limit_?(?:error|exceeded)\b",
        r"\bsecondary rate limit\b",
        r"\bresource_?exhausted\b",
        r"\bthrottl(?:ed|ing)_?(?:exception|error)\b",
        r"\bquota exceeded for\b",
        r"\brequest was throttled\b",
    ),
    *PERMISSION_SIGNS,
    sign("http-408", _T, http_status("408|425", "request time-?out|too early|client error")),
    sign(
        "http-5xx",
        _T,
        http_status(
            r"50\d|51[01]|52\d|530|59[89]",
            r"internal (?:server )?error|bad gateway|(?:service )?(?:temporarily )?unavailable"
            r"|gateway time-?out|server error|overloaded|origin",
        ),
    ),
    sign(
        "service",
        _T,
        r"\boverloaded_error\b",
        r"(?:^|: |\b(?:is|are|server|model|service|currently|temporarily) )[\"']?overloaded\b",
        r"\binternal server error\b",
        r"\binternal_?server_?error\b",
        r"\bbad gateway\b",
        r"\bgateway time-?out\b",
        r"\bservice (?:is )?(?:temporarily |currently )?unavailable\b",
        r"\btemporarily unavailable\b",
        r"\bremote end hung up unexpectedly\b",
        r"\bmodel is (?:currently )?(?:loading|at capacity)\b",
        r"\bat capacity\b",
    ),
    sign(
        "network",
        _T,
        r"\bconnection (?:was |has been |got )?(?:reset|refused|aborted|timed out"
        r"|closed unexpectedly)",
        r"\b(?:ECONNRESET|ECONNREFUSED|ECONNABORTED|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN"
        r"|ENETDOWN|EPIPE|ESOCKETTIMEDOUT|UND_ERR_\w{1,30})\b",
        r"\bgetaddrinfo ENOTFOUND\b",
        r"\b(?:network|host) is (?:unreachable|down)\b",
        r"\bno route to host\b",
        r"\b(?:connection|connect|read|request|operation|network|socket|handshake|gateway|ssl|tls"
        r"|api|query|lookup|i/o) (?:has |operation )?time(?:d[ -]?|[ -]?)out\b",
        r"\bfailed to connect to \S{1,200} port \d",
        r"\b(?:Read|Connect|Connection|Pool|APIConnection|APITimeout|Request)(?:Timeout)(?:Error|Exception)?\b",
        r"\bAPI(?:Connection|Timeout)Error\b",
        r"\bConnection(?:Reset|Refused|Aborted)Error\b",
        r"(?<!errors\.)\bdeadline ?exceeded\b",
        r"\bserver closed (?:the )?(?:connection|idle connection)",
        r"\bserver disconnected\b",
        r"\bsocket hang up\b",
        r"\bbroken pipe\b",
        r"\bfetch failed$",
        r"\brecv failure\b",
        r"\bRPC failed\b",
    ),
    sign(
        "dns",
        _T,
        r"\btemporary failure in name resolution\b",
        r"\bname or service not known\b",
        r"\bcould not resolve (?:host|proxy)",
        r"\bnodename nor servname provided\b",
        r"\bno such host\b",
        r"\bfailed to resolve\b",
        r"\bname resolution (?:failed|error)\b",
        r"\bNameResolutionError\b",
    ),
    sign(
        "tls",
        _T,
        r"\bEOF occurred in violation of protocol\b",
        r"\bSSLEOFError\b",
        r"\bunexpected_eof_while_reading\b",
        r"\b(?:ssl|tls)\w{0,12}[: ].{0,40}\b(?:unexpected eof|syscall error|bad record mac)",
        r"\bTLS connection was non-properly terminated\b",
        r"\bTLS handshake (?:timeout|failed|error)",
        r"\bunexpected EOF\b(?! while (?:looking|parsing))",
        r"\bOpenSSL SSL_(?:connect|read): SSL_ERROR_SYSCALL\b",
    ),
    sign(
        "memory",
        _T,
        r"\bout of memory\b",
        r"\bout-of-memory\b",
        r"\boom[- ]?kill(?:ed|er)?\b",
        r"\bcannot allocate memory\b",
        r"\bENOMEM\b",
        r"^MemoryError\b",
        r"^Killed$",
    ),
    sign(
        "locked",
        _T,
        r"\bdatabase (?:table )?is locked\b",
        r"\bSQLITE_(?:BUSY|LOCKED)\b",
        r"\bdeadlock (?:detected|found)\b",
        r"\bcould not serialize access\b",
        r"\btoo many (?:clients already|connections|open files)\b",
        r"\bdatabase system is (?:starting up|shutting down|in recovery)",
        r"\bcould not get lock /",
        r"\bunable to create '.{1,300}\.lock': file exists",
        r"\bresource (?:temporarily unavailable|busy)",
        r"\b(?:EAGAIN|EBUSY|EMFILE|ENFILE)\b",
        r"\btext file busy\b",
    ),
    sign(
        "context",
        _I,
        r"\bcontext_length_exceeded\b",
        r"\bmaximum context length\b",
        r"\bprompt is too long\b",
        r"\binput (?:is )?too long\b",
        r"\bcontext window (?:exceeded|is full)",
        r"\bcontextwindowexceedederror\b",
    ),
    sign("http-400", _I, http_status("400", "bad request|client error|invalid")),
    sign(
        "http-4xx",
        _I,
        http_status(
            "404|405|406|409|410|413|415|422",
            "not found|method not allowed|not acceptable|conflict|gone|payload too large"
            "|request entity too large|unsupported media|unprocessable|client error",
        ),
    ),
    sign(
        "invalid-request",
        _I,
        r"\binvalid_request(?:_error)?\b",
        r"\bbad request\b",
        r"\bBadRequestError\b",
        r"\bmodel_not_found\b",
        r"\bmodel:? [\"'`]?[\w./:-]{1,80}[\"'`]? (?:does not exist|not found|is not supported)",
        r"\b(?:unknown|invalid|unsupported) model\b",
        r"\binvalid argument\b",
        r"\bINVALID_ARGUMENT\b",
        r"\b(?:invalid|malformed) (?:json|input|request|payload|schema|parameters?)\b",
        r"\bschema validation (?:failed|error)",
        r"\bvalidation errors? for \w",
        r"\bdoes not (?:match|conform to) (?:the )?(?:json )?schema\b",
        r"\bis not valid under any of the given schemas\b",
    ),
    sign(
        "usage",
        _I,
        r"\bunrecogni[sz]ed (?:arguments?|options?|flags?|subcommand)\b",
        r"\bunknown (?:options?|flags?|arguments?|switch|shorthand flag|(?:sub)?command)\b",
        r"\b(?:invalid|illegal) option\b",
        r"\bno such option\b",
        r"\bunexpected argument\b",
        r"\bthe following (?:required )?arguments (?:are required|were not provided)",
        r"\bmissing required (?:argument|option|flag)",
        r"\brequires an argument\b",
        r"\bargument \S{1,60}(?: \S{1,60})?: invalid (?:choice|\w{1,20} value)",
        r"^usage: [\w./-]{1,80} (?:[\[<{(-]|(?-i:[A-Z]{2}))",
    ),
    *BREAKDOWN_SIGNS,
)

"""Signs that somebody has to allow something, or to configure a credential."""

from __future__ import annotations

from planbound.engine.recovery.credential import CREDENTIAL
from planbound.engine.recovery.failure import FailureClass
from planbound.engine.recovery.http_status import http_status
from planbound.engine.recovery.sign import sign

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

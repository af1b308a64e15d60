"""Checks a receipt: nothing but the file is needed, no journal, no state home, no network.

Standard library only, as the modules that it uses: `planbound-check-receipt.py` is made of them.
What it cannot do by itself (OpenSSH, git, the reader of plans) it asks the doors that it is given.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from planbound.receipts.check_claims import check_claims
from planbound.receipts.check_facts import VERSION, approval_fault, is_slug, is_time
from planbound.receipts.check_journal import check_journal
from planbound.receipts.check_replay import check_replay
from planbound.receipts.check_tree import Git, check_replayed_tree, check_tree
from planbound.receipts.claims import (
    FAILS,
    GREEN,
    OK,
    OPEN,
    is_tested,
    item_name,
    test_result,
)
from planbound.receipts.envelope import (
    Envelope,
    ReceiptError,
    pae,
    read_envelopes,
    read_statement,
)
from planbound.receipts.git_tree import blob_id
from planbound.receipts.shape import faults_of
from planbound.receipts.ssh_signature import (
    APPROVAL_NAMESPACE,
    NAMESPACE,
    armored,
    dearmored,
    ed25519_part,
    fingerprint,
    is_signed_raw,
    key_line,
    key_type,
    raw_key,
    raw_keyid,
    read_signature,
    signed_bytes,
)

PLAN_RUN_KIND = "https://planbound.dev/attestation/plan-run/v0.1"
TEST_RESULT_KIND = "https://in-toto.io/attestation/test-result/v0.1"
REPLAY_KIND = "https://planbound.dev/attestation/replay/v0.1"
OUR_KINDS = "https://planbound.dev/attestation/plan-run/"
REQUIRABLE = re.compile(r"E[0-5]|I[0-4]|signed|proof|no-waiver|proved")


class CheckLine(NamedTuple):
    """One thing that was looked at."""

    name: str
    holds: bool | None
    """None: it cannot be told here, or there is nothing to tell."""
    words: str


class PlanMeaning(NamedTuple):
    """What a plan's text means, to who can read plans."""

    digest: str
    contracts: Mapping[str, str | None]
    """By item, such as `step 2`, the digest of its contract."""
    facts: Mapping[str, Mapping[str, object]] = {}
    """By item what else the text says of it, as an item of a receipt has it."""


Keygen = Callable[[Sequence[str], bytes, str], tuple[int, str]]
"""Runs `ssh-keygen` with words, a message and an armored signature; how it ended, what it said."""


class Doors(NamedTuple):
    """What a check may ask outside of itself; what is None is not there."""

    keygen: Keygen | None = None
    git: Git | None = None
    meaning: Callable[[str], PlanMeaning] | None = None
    verify: Callable[[bytes, bytes, bytes], bool] = is_signed_raw
    """Says of a raw ed25519 key, signature and message whether it holds."""


class CheckRules(NamedTuple):
    """What a receipt is held against."""

    signers: str | None = None
    """The file of those who may sign."""
    revoked: str | None = None
    """The file of keys that may not any more."""
    tree: str | None = None
    """The revision whose files are to be those that were judged."""
    require: tuple[str, ...] = ()
    earlier: bytes | None = None
    """An earlier receipt, which this one is to continue."""


class ReadReceipt(NamedTuple):
    """A receipt that can be read: nothing of it is believed yet."""

    envelopes: tuple[Envelope, ...]
    statements: tuple[Mapping[str, Any], ...]

    @property
    def run(self) -> Mapping[str, Any]:
        """Return the predicate of the first line."""
        found: Mapping[str, Any] = self.statements[0]["predicate"]
        return found

    @property
    def is_replay(self) -> bool:
        """Whether it tells of a receipt that was judged again."""
        return bool(self.statements[0]["predicateType"] == REPLAY_KIND)


def read_receipt(data: bytes) -> ReadReceipt:
    """Return a receipt; raise ReceiptError where it is none, or of another version."""
    envelopes = read_envelopes(data)
    statements = [read_statement(each, number) for number, each in enumerate(envelopes, 1)]
    kind = statements[0]["predicateType"]
    if kind not in (PLAN_RUN_KIND, REPLAY_KIND):
        if kind.startswith(OUR_KINDS):
            raise ReceiptError(f"it is of version {kind[len(OUR_KINDS) :]}, and this checks v0.1")
        raise ReceiptError(f"it is no receipt of a plan: the first line is `{kind}`")
    for number, each in enumerate(statements[1:], 2):
        if each["predicateType"] != TEST_RESULT_KIND or kind == REPLAY_KIND:
            raise ReceiptError(f"line {number} is `{each['predicateType']}`, not a test result")
    shape = "PlanReplay" if kind == REPLAY_KIND else "PlanRun"
    faults = list(faults_of(statements[0]["predicate"], shape))
    if faults:
        more = f" and {len(faults) - 1} more" if len(faults) > 1 else ""
        raise ReceiptError(f"line 1: {faults[0]}{more}")
    run = statements[0]["predicate"]
    if run["version"] != VERSION:
        raise ReceiptError(f"it is of version {run['version']}, and this checks v{VERSION}")
    slug = run.get("plan", run)["slug"]  # the receipt of a replay names it at its top
    if not is_slug(slug):
        raise ReceiptError(f"line 1: `{slug}` is no name of a plan")
    if not is_time(run["made"]):
        raise ReceiptError(f"line 1: `{run['made']}` is no time, as receipts write it")
    for path in _paths(statements[0]):
        if not _is_plain(path):
            raise ReceiptError(f"line 1: `{path}` is no path in a workspace")
    return ReadReceipt(tuple(envelopes), tuple(statements))


def _paths(statement: Mapping[str, Any]) -> Iterator[str]:
    run = statement["predicate"]
    for subject in statement["subject"]:
        if subject["name"] not in ("tree", "commit"):
            yield subject["name"]
    for item in run["items"]:
        yield from (judge["path"] for judge in item["judges"])
    if statement["predicateType"] == REPLAY_KIND:
        return
    yield from run["tree"]["removed"]
    if run["base"]["folder"]:
        yield run["base"]["folder"]


def _is_plain(path: str) -> bool:
    names = path.split("/")
    return "\0" not in path and not any(name in ("", ".", "..", ".git") for name in names)


# -- all checks -----------------------------------------------------------------------------------


def check(data: bytes, doors: Doors, rules: CheckRules) -> list[CheckLine]:
    """Return each check; raise ReceiptError for what is no receipt, or is of another version."""
    receipt = read_receipt(data)
    lines = [CheckLine("envelopes", OK, f"{len(receipt.envelopes)} lines, whole")]
    if receipt.is_replay:
        return [*lines, *_of_replay(receipt, doors, rules)]
    lines += _statements(receipt)
    lines += _signatures(receipt, doors, rules)
    lines += _approval(receipt.run, doors, rules)
    lines += _plan(receipt.run, doors)
    lines += (CheckLine(*each) for each in check_journal(receipt.run))
    if rules.earlier is not None:
        lines.append(_continues(receipt, _read_earlier(rules.earlier)))
    lines += (CheckLine(*each) for each in check_claims(receipt.run))
    if rules.tree is not None:
        subjects = receipt.statements[0]["subject"]
        lines.append(CheckLine(*check_tree(receipt.run, subjects, rules.tree, doors.git)))
    for word in rules.require:
        lines.append(_required(word, receipt.run, lines))
    return lines


def _of_replay(receipt: ReadReceipt, doors: Doors, rules: CheckRules) -> list[CheckLine]:
    lines = list(_signatures(receipt, doors, rules))
    subjects = receipt.statements[0]["subject"]
    lines += (CheckLine(*each) for each in check_replay(receipt.run, subjects))
    if rules.earlier is not None:
        lines.append(_is_about(receipt, rules.earlier))
    if rules.tree is not None:
        lines.append(CheckLine(*check_replayed_tree(receipt.run, rules.tree, doors.git)))
    for word in rules.require:
        lines.append(_required_again(word, receipt.run, lines))
    return lines


def holds(lines: Sequence[CheckLine]) -> bool:
    """Say whether nothing fails."""
    return all(line.holds is not False for line in lines)


_WORDS = {OK: "ok", FAILS: "FAILS", OPEN: "--"}


def shown_line(line: CheckLine) -> str:
    """Return a check as a line for people."""
    return f"{_WORDS[line.holds]:<5}  {line.name}: {plain(line.words)}"


def plain(text: str) -> str:
    """Return a text in which nothing acts on a terminal or hides from a reader."""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def required(words: str) -> tuple[str, ...]:
    """Return what is demanded, such as `E3,signed`; raise ReceiptError for what cannot be."""
    found = tuple(word.strip() for word in words.split(",") if word.strip())
    for word in found:
        if not REQUIRABLE.fullmatch(word):
            known = "E0 to E5, I0 to I4, signed, proof, no-waiver and proved"
            raise ReceiptError(f"nobody can demand `{word}`: there are {known}")
    return found


# -- the lines among themselves -------------------------------------------------------------------


def _statements(receipt: ReadReceipt) -> Iterator[CheckLine]:
    run, (first, *others) = receipt.run, receipt.statements
    digests = [each.sha256 for each in receipt.envelopes[1:]]
    same = digests == run["statements"]
    words = f"{len(others)} test results, those that line 1 names"
    yield CheckLine("statements", same, words if same else "not those that line 1 names")
    yield CheckLine("subjects", *_subjects(first, others))
    tested = [test_result(item) for item in run["items"] if is_tested(item)]
    agree = [each["predicate"] for each in others] == tested
    said = "the test results say what the items say"
    yield CheckLine("results", agree, said if agree else "the test results say something else")


def _subjects(first: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> tuple[bool, str]:
    run, subjects = first["predicate"], first["subject"]
    names = [each["name"] for each in subjects]
    tree = {"sha256": run["tree"]["tree"], "gitTree": run["tree"]["git_tree"]}
    wanted = {name: value for name, value in tree.items() if value is not None}
    if names[0] != "tree" or subjects[0]["digest"] != wanted:
        return FAILS, "the first subject is not the tree that the receipt speaks of"
    if len(set(names)) != len(names):
        return FAILS, "a subject stands there twice"
    if any(each["subject"] != subjects[:1] for each in others):
        return FAILS, "a test result is about something else"
    return OK, f"a tree and {len(names) - 1} more, the same in every line"


def _continues(receipt: ReadReceipt, before: ReadReceipt) -> CheckLine:
    """Say whether a receipt follows another one: its journal begins with that one's."""
    if before.is_replay:
        return CheckLine("earlier-receipt", FAILS, "that one tells of a replay")
    from_there = before.run["journal"]["checkpoint"].split("\n")
    here = receipt.run["journal"]["checkpoint"].split("\n")
    said = receipt.run["journal"]["earlier"]
    if from_there[0] != here[0]:
        return CheckLine("earlier-receipt", FAILS, "it is of another journal")
    if from_there == here:
        return CheckLine("earlier-receipt", OK, "both are of the same moment")
    if said is None or [str(said["size"]), said["root"]] != from_there[1:3]:
        words = "this receipt does not continue that one: another was made between, or the"
        return CheckLine("earlier-receipt", FAILS, f"{words} journal was rewritten")
    return CheckLine("earlier-receipt", OK, "this receipt continues that one")


def _read_earlier(data: bytes) -> ReadReceipt:
    try:
        return read_receipt(data)
    except ReceiptError as error:
        raise ReceiptError(f"the receipt that it is compared with: {error}") from error


def _is_about(replay: ReadReceipt, given: bytes) -> CheckLine:
    """Say whether a replay is of this receipt, and tells what stands in it."""
    name, run, before = "earlier-receipt", replay.run, _read_earlier(given)
    if before.is_replay or hashlib.sha256(given).hexdigest() != run["receipt"]["sha256"]:
        return CheckLine(name, FAILS, "it is not the receipt that was judged again")
    key, other = before.run["harness"]["key"], run["receipt"]["key"]
    if other is not None and (key is None or key["fingerprint"] != other):
        return CheckLine(name, FAILS, f"{other} is not the key that it names")
    plan = before.run["plan"]
    if any(run[field] != plan[field] for field in ("slug", "revision", "digest")):
        return CheckLine(name, FAILS, "it is of another plan")
    recorded = {item_name(item): _recorded(item, "result") for item in before.run["items"]}
    found = {item_name(item): _recorded(item, "recorded") for item in run["items"]}
    wrong = [each for each, said in found.items() if recorded.get(each) != said]
    wrong += [each for each in recorded if run["whole"] and each not in found]
    if wrong:
        return CheckLine(name, FAILS, f"it says something else of {wrong[0]}")
    return CheckLine(name, OK, "this is the receipt that was judged again, and says the same")


def _recorded(item: Mapping[str, Any], field: str) -> tuple[object, ...]:
    return item[field], item["contract"], item["title"]


# -- signatures -----------------------------------------------------------------------------------


def _signatures(receipt: ReadReceipt, doors: Doors, rules: CheckRules) -> Iterator[CheckLine]:
    said = receipt.run["harness"]["key"]
    signed = any(each.signatures for each in receipt.envelopes)
    if said is None or not signed:
        whole = said is None and not signed
        words = "not signed: whoever has the file can change it" if whole else "it was taken away"
        yield CheckLine("signature", OPEN if whole else FAILS, words)
        if rules.signers is not None:
            yield CheckLine("signer", FAILS, "nobody signed it")
        return
    first, *others = receipt.envelopes
    try:
        found = read_signature(first.signatures[0].sig)
    except (ValueError, IndexError, UnicodeError) as error:
        yield CheckLine("signature", FAILS, f"line 1 has no SSH signature: {error}")
        return
    name = fingerprint(found.key)
    stated = {"type": key_type(found.key), "fingerprint": name, "public": key_line(found.key)}
    if first.signatures[0].keyid != name or any(said[key] != stated[key] for key in stated):
        yield CheckLine("signature", FAILS, "it is not by the key that the receipt names")
        return
    yield CheckLine("signature", *_ssh(first.signatures[0].sig, pae(first.payload), doors))
    yield CheckLine("signer", *_signer(receipt, first, name, doors, rules))
    raw = [list(first.signatures[1:]), *(list(each.signatures) for each in others)]
    if any(raw):
        yield CheckLine("raw-signatures", *_raw(receipt, raw, raw_key(found.key), doors))


def _ssh(
    blob: bytes, message: bytes, doors: Doors, space: str = NAMESPACE
) -> tuple[bool | None, str]:
    """Say whether an SSH signature holds, whoever made it."""
    found = read_signature(blob)
    name = fingerprint(found.key)
    if found.namespace != space:
        return FAILS, f"it is for `{found.namespace}`, and not for `{space}`"
    key, signature = raw_key(found.key), ed25519_part(found)
    if key is not None:
        if signature and doors.verify(key, signature, signed_bytes(found, message)):
            return OK, f"signed by {name}"
        return FAILS, f"the signature of {name} does not hold"
    if doors.keygen is None:
        return OPEN, f"there is no ssh-keygen, which checks `{key_type(found.key)}`"
    words = ("-Y", "check-novalidate", "-n", space)
    code, said = doors.keygen(words, message, armored(blob))
    return (True, f"signed by {name}") if code == 0 else (False, f"it does not hold: {said}")


def _signer(
    receipt: ReadReceipt, first: Envelope, name: str, doors: Doors, rules: CheckRules
) -> tuple[bool | None, str]:
    if rules.signers is None:
        return OPEN, f"{name}, whom you do not know: `--signers FILE` says who may sign"
    blob, message = first.signatures[0].sig, pae(first.payload)
    return _known(blob, message, receipt.run["made"], doors, rules, (NAMESPACE, None))


def _known(
    blob: bytes,
    message: bytes,
    when: str,
    doors: Doors,
    rules: CheckRules,
    wanted: tuple[str, str | None],
) -> tuple[bool | None, str]:
    """Say whether a signer is in the list; `wanted` is what for, and who, if only one may."""
    if doors.keygen is None:
        return OPEN, "there is no ssh-keygen, which reads lists of signers"
    space, who = wanted
    if who is not None and "\0" in who:
        return FAILS, "nobody has such a name"
    signers = str(rules.signers)
    moment = "".join(re.findall(r"\d", when[:19]))
    at = (f"-Overify-time={moment}",)
    if who is None:
        words = ("-Y", "find-principals", *at, "-f", signers)
        code, said = doors.keygen(words, message, armored(blob))
        if code != 0:
            return FAILS, f"{fingerprint(read_signature(blob).key)} is not in {signers}"
        who = said.split("\n")[0].strip()
    revoked = ("-r", rules.revoked) if rules.revoked is not None else ()
    words = ("-Y", "verify", *at, "-f", signers, "-I", who, "-n", space, *revoked)
    code, said = doors.keygen(words, message, armored(blob))
    return (True, f"{who}, who may sign") if code == 0 else (False, f"{who}: {said}")


def _raw(
    receipt: ReadReceipt, found: Sequence[Sequence[Any]], key: bytes | None, doors: Doors
) -> tuple[bool, str]:
    if key is None or any(len(each) != 1 for each in found):
        return FAILS, "not every line has one, or the key is of another kind"
    for number, (envelope, (each,)) in enumerate(zip(receipt.envelopes, found, strict=True), 1):
        if each.keyid != raw_keyid(key):
            return FAILS, f"that of line {number} is by another key"
        if not doors.verify(key, each.sig, pae(envelope.payload)):
            return FAILS, f"that of line {number} does not hold"
    return OK, f"{len(found)}, by the same key"


# -- the approval and the plan --------------------------------------------------------------------


def _approval(run: Mapping[str, Any], doors: Doors, rules: CheckRules) -> Iterator[CheckLine]:
    given = run["approval"]
    if given is None:
        yield CheckLine("approval", OPEN, "nobody approved this text")
        return
    if given["digest"] != run["plan"]["digest"]:
        yield CheckLine("approval", FAILS, "it is of another plan")
        return
    fault = approval_fault(run)
    if fault is not None:
        yield CheckLine("approval", FAILS, fault)
        return
    words = f"by {given['by']}, {given['method']}: {given['strength']}"
    if given["signature"] is None or given["statement"] is None:
        claimed = given["method"] == "signature"
        why = f"{words}; the signature is not kept" if claimed else words
        yield CheckLine("approval", None if claimed else True, why)
        return
    wrong = _misstated(given, run["plan"]["slug"])
    if wrong is not None:
        yield CheckLine("approval", FAILS, f"what was signed has another `{wrong}`")
        return
    message = given["statement"].encode("utf-8", "surrogateescape")
    try:
        blob = dearmored(given["signature"])
        yield CheckLine("approval", *_ssh(blob, message, doors, APPROVAL_NAMESPACE))
    except (ValueError, UnicodeError) as error:
        yield CheckLine("approval", FAILS, f"its signature is none: {error}")
        return
    if rules.signers is not None:
        wanted = (APPROVAL_NAMESPACE, given["by"])
        yield CheckLine("approver", *_known(blob, message, given["at"], doors, rules, wanted))


def _misstated(given: Mapping[str, Any], slug: str) -> str | None:
    """Return what a signed statement says otherwise than the receipt; None: nothing."""
    try:
        said = json.loads(given["statement"])
    except (ValueError, RecursionError):
        return "form"
    judges = json.dumps(given["judges"], sort_keys=True).encode("ascii")
    wanted = {
        "configuration": given["configuration"],
        "digest": given["digest"],
        "judges": hashlib.sha256(judges).hexdigest(),
        "plan": slug,
        "project": given["project"],
        "tree": given["tree"],
        "namespace": APPROVAL_NAMESPACE,
    }
    if not isinstance(said, dict):
        return "form"
    return next((name for name, value in wanted.items() if said.get(name) != value), None)


def _plan(run: Mapping[str, Any], doors: Doors) -> Iterator[CheckLine]:
    plan = run["plan"]
    if plan["text"] is None:
        yield CheckLine("plan", OPEN, "its text cannot be compared: it is not there")
        return
    text = plan["text"].encode("utf-8", "surrogateescape")
    form = "sha256" if plan["git_blob"] and len(plan["git_blob"]) == 64 else "sha1"
    same = hashlib.sha256(text).hexdigest() == plan["sha256"]
    if plan["redacted"]:
        why = "its text cannot be compared: secrets were taken out of it"
        yield CheckLine("plan", FAILS if same else OPEN, "nothing was taken out" if same else why)
    else:
        same = same and plan["git_blob"] in (None, blob_id(text, form))
        yield CheckLine("plan", same, "its text has its digests" if same else "its text is another")
    if doors.meaning is None:
        why = "cannot be reckoned here: it takes planbound's reader of plans"
        yield CheckLine("digest", OPEN, why)
        yield CheckLine("contracts", OPEN, why)
        return
    meaning = doors.meaning(plan["text"])
    if plan["redacted"]:
        yield CheckLine("digest", OPEN, "cannot be reckoned: secrets were taken out of the text")
    else:
        right = meaning.digest == plan["digest"]
        word = "the text means what its digest says"
        yield CheckLine("digest", right, word if right else f"the text means {meaning.digest[:12]}")
    yield CheckLine("contracts", *_contracts(run, meaning))


def _contracts(run: Mapping[str, Any], meaning: PlanMeaning) -> tuple[bool, str]:
    """Say whether the items are those of the text, and say what it says of them."""
    said = {item_name(item): item["contract"] for item in run["items"]}
    whole = not run["plan"]["redacted"]
    for name in (*meaning.contracts, *said):
        if (name in said) != (name in meaning.contracts):
            return FAILS, f"not those of the text: {name}"
        if whole and said[name] != meaning.contracts[name]:
            return FAILS, f"not those of the text: {name}"
    for item in run["items"] if whole else ():
        facts = meaning.facts.get(item_name(item), {})
        for field, wanted in facts.items():
            probe = item["form"] == "probe" and field in ("form", "command")
            if item[field] != wanted and not (probe and facts["form"] == "none"):
                return FAILS, f"the text says another `{field}` of {item_name(item)}"
    if list(said) != list(meaning.contracts):
        return FAILS, "in another order"
    return OK, "those of the text, none left out"


# -- what somebody demands ------------------------------------------------------------------------


def _required_again(word: str, run: Mapping[str, Any], lines: Sequence[CheckLine]) -> CheckLine:
    """Say whether a replay comes to what somebody demands."""
    if word == "signed":
        return _required(word, run, lines)
    name = f"require {word}"
    if word[0] not in "EI":
        return CheckLine(name, FAILS, "a replay cannot say it: check the receipt that it judged")
    field = "evidence" if word[0] == "E" else "isolation"
    below = [
        f"{item_name(item)} has {item[field] or 'none'}"
        for item in run["items"]
        if item["outcome"] != "same" or (item[field] or "") < word
    ]
    return CheckLine(name, not below, "; ".join(below[:5]) or f"every item has {word}")


def _required(word: str, run: Mapping[str, Any], lines: Sequence[CheckLine]) -> CheckLine:
    name = f"require {word}"
    by_name = {line.name: line.holds for line in lines}
    match word:
        case "signed":
            known = by_name.get("signature") is True and by_name.get("signer") is True
            return CheckLine(name, known, "by who may sign" if known else "not by who may sign")
        case "proof":
            known = by_name.get("approval") is True and by_name.get("approver") is True
            words = "the approval is signed by who may"
            return CheckLine(name, known, words if known else "nobody can tell who approved it")
        case "proved":
            found = run["outcome"]
            return CheckLine(name, found == "proved", f"it is `{found}`")
        case "no-waiver":
            waived = [item_name(item) for item in run["items"] if item["result"] == "waived"]
            words = f"waived: {', '.join(waived)}" if waived else "nothing is waived"
            return CheckLine(name, not waived, words)
    field = "evidence" if word[0] == "E" else "isolation"
    below = [
        f"{item_name(item)} has {item[field] or 'none'}"
        for item in run["items"]
        if item["result"] not in GREEN or (item[field] or "") < word
    ]
    return CheckLine(name, not below, "; ".join(below[:5]) or f"every item has {word}")

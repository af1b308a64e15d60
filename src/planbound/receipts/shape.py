"""The shape of the predicate, made from `predicate.py` by `make docs`."""

from __future__ import annotations

from collections.abc import Iterator

SHAPES = {
    "PlanRun": (
        "version:str made:str outcome:str status:str archived:bool loop:bool "
        "plan:RunPlan approval:RunApproval? base:RunBase tree:RunTree "
        "settings:RunSettings items:[RunItem] counts:RunCounts deviations:[Deviation] "
        "agents:[RunAgent] harness:RunHarness journal:RunJournal statements:[str]"
    ),
    "RunPlan": (
        "slug:str path:str? revision:int digest:str text:str? sha256:str? git_blob:str? "
        "redacted:bool"
    ),
    "RunApproval": (
        "by:str method:str strength:str at:str expires:str? policy:str? nonce:str "
        "project:str? digest:str configuration:str tree:str? judges:{str} tools:{str} "
        "modifications:[str] statement:str? signature:str? seq:int"
    ),
    "RunBase": "tree:str? git_tree:str? commit:str? folder:str",
    "RunTree": "tree:str? git_tree:str? no_git_tree:str? removed:[str]",
    "RunSettings": (
        "digest:str env:[str] path:[str] network:bool seconds:number memory:int "
        "processes:int file_size:int temporary:int canary:bool mutate:bool held_out:int "
        "summarise:[str] caches:[str]"
    ),
    "RunItem": (
        "kind:str number:str id:str? title:str form:str contract:str? command:str? "
        "expectations:[str] timeout:number? repeat:int demanded_evidence:str? "
        "demanded_baseline:str? touches:[str] judges:[ItemJudge] result:str "
        "verdict:str? reason:str? evidence:str? isolation:str? exit_code:int? "
        "seconds:number? baseline:ItemBaseline? canary:str? tests:ItemTests? "
        "mutated:ItemMutated? tree:str? output:ItemOutput? attempts:int reused:int? "
        "seq:int? settled_by:int?"
    ),
    "ItemJudge": "path:str sha256:str git_blob:str? editable:bool",
    "ItemBaseline": "verdict:str red:bool at:str seq:int?",
    "ItemTests": "passed:int failed:int skipped:int",
    "ItemMutated": "tests:int sensitive:int blind:[str]",
    "ItemOutput": "bytes:int? stdout_sha256:str stderr_sha256:str begin:str? end:str",
    "RunCounts": (
        "items:int proved:int holds:int claimed:int attested:int waived:int skipped:int open:int"
    ),
    "RunAgent": (
        "name:str kind:str? model:str? attempts:int unknown:int tokens:int dollars:str claimed:bool"
    ),
    "RunHarness": "version:str digest:str python:str system:str key:SigningKey?",
    "SigningKey": "owner:str type:str fingerprint:str public:str",
    "RunJournal": "checkpoint:str nodes:[str] events:[CitedEvent] earlier:EarlierCheckpoint?",
    "CitedEvent": "seq:int event:str hash:str path:[int]",
    "EarlierCheckpoint": "size:int root:str proof:[str]",
    "PlanReplay": (
        "version:str made:str slug:str revision:int digest:str receipt:ReplayedReceipt "
        "tree:ReplayedTree whole:bool same:bool independent:bool items:[ReplayedItem] "
        "settings:RunSettings? not_given:[str] tools:[str] harness:RunHarness"
    ),
    "ReplayedReceipt": "sha256:str key:str? unsigned:bool refused:[str]",
    "ReplayedTree": "git_tree:str folder:str recorded:str? revision:str? commit:str? base:str?",
    "ReplayedItem": (
        "kind:str number:str title:str contract:str? recorded:str "
        "recorded_evidence:str? recorded_isolation:str? outcome:str reason:str "
        "verdict:str? evidence:str? short_of:[str] isolation:str? "
        "baseline:ItemBaseline? exit_code:int? seconds:number? canary:str? "
        "tests:ItemTests? mutated:ItemMutated? judges:[ReplayedJudge] "
        "output:ItemOutput?"
    ),
    "ReplayedJudge": "path:str sha256:str found:bool laid:bool",
}
"""By part its keys with types: `T?` may be null, `[T]` a list, `{T}` by name."""
DEVIATIONS = {
    "waived": "item:str by:str reason:str seq:int",
    "attested": "item:str by:str statement:str seq:int",
    "skipped": "item:str by:str? reason:str? seq:int?",
    "claimed": "item:str evidence:str? seq:int?",
    "unsettled": "item:str result:str reason:str?",
    "holds": "item:str reason:str?",
    "amended": "revision:int? by:str? reason:str? seq:int",
    "edited": "seq:int",
    "without-approval": "",
    "approved-by-policy": "policy:str seq:int",
    "approved-in-spite": "warnings:[str] missing_tools:[str] seq:int",
    "approved-gates": "gates:[str] seq:int",
    "approved-with-changes": "changes:[str] seq:int",
    "editable-judge": "item:str? path:str",
    "tampered": "item:str? files:[str] restored:bool seq:int",
    "out-of-scope": "item:str? files:[str] restored:bool seq:int",
    "bare-run": "item:str isolation:str",
    "little-evidence": "item:str evidence:str?",
    "reused": "item:str of:int",
    "anyway": "what:str seq:int",
    "edited-meanwhile": "files:[str] seq:int",
    "budget-raised": "by:str tokens:int? dollars:str? seconds:number? seq:int",
    "unknown-cost": "attempts:int",
    "late": "item:str seq:int",
    "earlier-plan": "events:int",
    "not-kept": "what:str",
}
"""The same by the word that stands in `deviation`."""
_PLAIN: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "bool": bool,
    "number": (int, float),
}


def faults_of(run: object, kind: str = "PlanRun") -> Iterator[str]:
    """Yield where a predicate has not its shape: unknown keys, missing ones, other types."""
    yield from _misshapen(run, kind, "the predicate")


def _misshapen(value: object, kind: str, where: str) -> Iterator[str]:
    if kind.endswith("?"):
        if value is not None:
            yield from _misshapen(value, kind[:-1], where)
    elif kind[0] in "[{":
        yield from _several(value, kind, where)
    elif kind in _PLAIN:
        if not isinstance(value, _PLAIN[kind]) or isinstance(value, bool) != (kind == "bool"):
            yield f"{where} is not of type `{kind}`"
    elif not isinstance(value, dict):
        yield f"{where} is no object"
    else:
        yield from _part(value, kind, where)


def _several(value: object, kind: str, where: str) -> Iterator[str]:
    if kind[0] == "[" and isinstance(value, list):
        for place, each in enumerate(value):
            yield from _misshapen(each, kind[1:-1], f"{where}[{place}]")
    elif kind[0] == "{" and isinstance(value, dict):
        for name, each in value.items():
            yield from _misshapen(each, kind[1:-1], f"{where}.{name}")
    else:
        yield f"{where} is no {'list' if kind[0] == '[' else 'object'}"


def _part(value: dict[str, object], kind: str, where: str) -> Iterator[str]:
    said = SHAPES.get(kind, "")
    if kind == "Deviation":
        word = value.get("deviation")
        if not isinstance(word, str) or word not in DEVIATIONS:
            yield f"{where} is an unknown deviation"
            return
        said = f"deviation:str {DEVIATIONS[word]}"
    keys = dict(each.split(":") for each in said.split())
    for name in value:
        if name not in keys:
            yield f"{where} has an unknown key `{name}`: a newer version may know it"
    for name, inner in keys.items():
        if name in value:
            yield from _misshapen(value[name], inner, f"{where}.{name}")
        else:
            yield f"{where} has no `{name}`"

"""Faults of controls, the changes that a contract has to reject: PB643 to PB646."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from posixpath import normpath

from planbound.plan.model import Judged, PlanStatus, Rejected, Step
from planbound.source import Finding, Severity, Span, visible
from planbound.verify.facts import FaultyPatch, PatchFault
from planbound.verify.subject import Subject, controls_of, rule


def _faulty(subject: Subject, fault: PatchFault) -> Iterator[tuple[Rejected, FaultyPatch]]:
    for _, control in controls_of(subject.plan):
        found = subject.facts.patches.get((control.path, control.text))
        if found is not None and found.fault is fault:
            yield control, found


def _place(control: Rejected, found: FaultyPatch) -> Span:
    """Return the line of the diff, where it stands in the plan."""
    return control.lines[found.line] if found.line < len(control.lines) else control.span


def _reason(control: Rejected, found: FaultyPatch) -> str:
    where = f"line {found.line + 1} of `{visible(control.path)}`: " if control.path else ""
    return where + visible(found.reason)


_NO_FILE = {
    "missing": "there is no file `{}`",
    "folder": "`{}` is a folder",
    "outside": "`{}` is not in the workspace",
    "link": "`{}` is a link, or cannot be read: only a file of its own is frozen",
}


@rule("PB643", Severity.ERROR)
def missing_control(subject: Subject) -> Iterable[Finding]:
    """The file of a control is not there, or lies outside of the workspace.

    ## What it does
    Reports a path under `rejects` that names no file of the workspace.

    ## Why it matters
    The contract is run with that change before the plan is approved. Without the file nothing is
    tried; from outside of the workspace it would not be frozen with the other judges.

    ## Example
    ```markdown
    **rejects:** ../controls/truncates.patch
    ```

    ## Instead
    ```markdown
    **rejects:** controls/truncates.patch
    ```
    """
    for control, found in _faulty(subject, PatchFault.NO_FILE):
        message = _NO_FILE[found.reason].format(visible(control.path or ""))
        hint = "name a diff by its path from the root of the workspace, or put it into a fence"
        yield Finding(control.span, message, hint)


@rule("PB644", Severity.ERROR)
def no_diff(subject: Subject) -> Iterable[Finding]:
    """A control is no unified diff.

    ## What it does
    Reports a file or a fence under `rejects` that is empty, cannot be read as a unified diff, or
    changes what no control may change: links, binary files, `.git`, `.harness`, and what lies
    outside of the workspace.

    ## Why it matters
    What cannot be read cannot be tried.

    ## Example
    ````markdown
    **rejects:**
    ```diff
    return int(amount * 100)
    ```
    ````

    ## Instead
    ````markdown
    **rejects:**
    ```diff
    --- a/rounding.py
    +++ b/rounding.py
    @@ -2,1 +2,1 @@
    -    return round(amount * 100)
    +    return int(amount * 100)
    ```
    ````
    """
    for control, found in _faulty(subject, PatchFault.NO_DIFF):
        yield Finding(_place(control, found), _reason(control, found), found.hint)


@rule("PB645", Severity.WARNING)
def control_does_not_apply(subject: Subject) -> Iterable[Finding]:
    """A control does not apply to the files as they are.

    ## What it does
    Reports a diff under `rejects` whose files are not there, are there already, or have other
    lines. Of a plan that is approved nothing is said: the work changes the files.

    ## Why it matters
    Controls are tried before the plan is approved, on the tree as it is then: the work is not done
    yet, so a control often adds a wrong version of what the step is to write. Where it does not
    apply, the plan is not approved, unless the contract is green by then.

    ## Example
    ````markdown
    **task:** Write `rounding.py`, which is not there yet.

    **rejects:**
    ```diff
    --- a/rounding.py
    +++ b/rounding.py
    @@ -2,1 +2,1 @@
    -    return round(amount * 100)
    +    return int(amount * 100)
    ```
    ````

    ## Instead
    ````markdown
    **rejects:**
    ```diff
    --- /dev/null
    +++ b/rounding.py
    @@ -0,0 +1,2 @@
    +def cents(amount):
    +    return int(amount * 100)
    ```
    ````
    """
    if subject.plan.status not in {PlanStatus.DRAFT, PlanStatus.VERIFIED}:
        return
    for control, found in _faulty(subject, PatchFault.DOES_NOT_APPLY):
        yield Finding(_place(control, found), _reason(control, found), found.hint)


@rule("PB646", Severity.ERROR)
def untried_control(subject: Subject) -> Iterable[Finding]:
    """A control has no contract that could reject it, or the step may change it.

    ## What it does
    Reports `rejects` beside a contract that nobody runs, such as an attestation, and a file under
    `rejects` that the `touches` of its step allow to change.

    ## Why it matters
    A control says something about a contract that the harness runs. An agent that may edit it can
    make it say anything.

    ## Example
    ```markdown
    **touches:** src/**, controls/**
    **rejects:** controls/truncates.patch
    ```

    ## Instead
    ```markdown
    **touches:** src/**
    **rejects:** controls/truncates.patch
    ```
    """
    for owner, control in controls_of(subject.plan):
        if not isinstance(owner.contract, Judged):
            message = "there is no contract here that could reject it"
            yield Finding(control.span, message, "give it a command, or take the control out")
        elif isinstance(owner, Step) and control.path is not None:
            path = normpath(control.path)
            pattern = next((each for each in subject.touches(owner) if each.matches(path)), None)
            if pattern is not None:
                message = (
                    f"`{visible(path)}` is a control of the step, "
                    f"but may be changed by it: `{pattern.text}` is in its `touches`"
                )
                yield Finding(control.span, message, "narrow `touches`, or keep it elsewhere")


RULES = (missing_control, no_diff, control_does_not_apply, untried_control)

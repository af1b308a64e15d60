"""What an agent is told about the attempt before, by recipes that warn."""

from __future__ import annotations

from planbound.engine.recovery.failure import FailureClass

BLOCKED = (
    "the attempt before this one answered BLOCKED, and changed nothing. That is only for what is"
    " missing outside of this folder. Everything else is the work: begin it."
)
"""What an agent is told that stopped without a try."""
GUIDANCE = {
    FailureClass.TRANSIENT: "the attempt before this one was cut off. Look at what is there already"
    " before you begin.",
    FailureClass.PERMISSION: "the attempt before this one lacked a permission. Work without what is"
    " not allowed.",
    FailureClass.INVALID_INPUT: "the attempt before this one was refused as invalid input. Look at"
    " the error and do not send the same again.",
    FailureClass.AGENT: "the attempt before this one was cut off. Look at what is there already"
    " before you begin.",
    FailureClass.LOGIC: "the contract failed. Look at its output before you change anything.",
    FailureClass.UNRECOVERABLE: "the attempt before this one broke down. Look at the error first.",
    FailureClass.BLOCKED: BLOCKED,
    FailureClass.HUNG: "the attempt before this one ran past its time limit. Start nothing that"
    " waits for input or does not end by itself.",
    FailureClass.FLOODED: "the attempt before this one printed without end. Print little, and"
    " nothing in a loop.",
    FailureClass.BUDGET: "the attempt before this one reached its limit. Take the shortest way.",
    FailureClass.WORKSPACE_MISMATCH: "the workspace was changed by somebody else. Look at what is"
    " there before you begin.",
    FailureClass.DESTRUCTIVE: "the attempt before this one destroyed what it was not asked to"
    " touch: the repository, or files. It was noticed, and put back. Remove nothing that you did"
    " not make.",
    FailureClass.TAMPERED: "something that this step is judged by was changed. That is not allowed;"
    " it was noticed, and put back. Do the task, and leave the judges alone.",
    FailureClass.OUT_OF_SCOPE: "files outside of what this step may touch were changed. They were"
    " put back. Change only what the step may touch.",
    FailureClass.UNRUNNABLE: "the contract could not be started. Look at its output.",
    FailureClass.VACUOUS: "the contract passed, but checked nothing. Look at its output.",
    FailureClass.FLAKY: "the contract failed and passed on the same files. Make the work"
    " deterministic.",
    FailureClass.UNKNOWN: "the attempt before this one failed for a reason that is not known.",
}

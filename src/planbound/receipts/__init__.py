"""Receipts: what a run did, in a file that somebody else checks on another machine.

A receipt is JSON lines. Each line is a DSSE envelope, written in one way only (keys in the order
`payloadType`, `payload`, `signatures`; no spaces; nothing but ASCII), around an in-toto Statement:

1. `PLAN_RUN`: the predicate `PlanRun` of `predicate.py`. Its subjects are `tree` (our manifest,
   and the id of git's tree where there is one), `commit` as a hint, then each file that the plan
   changed.
2. one `TEST_RESULT` for each contract that was judged, in the order of `PlanRun.items`. Its one
   subject is `tree`, the same as in the first line, so that a receipt does not grow with the
   product of both.

The first line has the SHA-256 of each of the other payloads (`PlanRun.statements`): the SSH
signature stands on the first line only, over its PAE, and holds for all of them. A FIDO key is
touched once. With `planbound[receipts]` every line has a raw ed25519 signature, too, by the same
key: that is what tools of DSSE look for.

- `predicate.py`: the shape of what is claimed, as frozen structs (pure)
- `merkle.py`: RFC 6962 trees over the hashes of a journal (pure)
- `envelope.py`: DSSE, statements, and the one way in which they are written (pure)
- `git_tree.py`: the ids of git's objects, from contents, without git (pure)
- `claims.py`: what follows from what, for who makes a receipt and for who checks one (pure)
- `collect.py`: `collect(context, slug)` reads the journal once and returns what is to be said;
  `items.py`, `deviations.py`, `trees.py` and `journal_proof.py` are its parts
- `keys.py`: the harness's key, in the state home, and people's own
- `receipt.py`: `make_receipt(context, slug)` returns the lines of a receipt; whoever has written
  them calls `note()`
- `check.py` and its siblings: `check(data, doors, rules)` returns each check as
  `(name, holds, words)`. Standard library only: `planbound-check-receipt.py` is made of them by
  `tools/receipt_files.py`. `doors.py` is what the installed program lets a check ask.
- `replay.py`: judges a receipt again, on the files that `replay_tree.py` lays out; `replayed.py`
  decides what that comes to (pure), `replay_gate.py` whether anything may run,
  `replay_receipt.py` writes the receipt of the replay, `settings.py` says what contracts get (pure)
- `keep.py`: receipts in the repository: kept, found, sent
- `comment.py`: a receipt as the comment of a pull request (pure); `publication.py` decides what
  there is to do for one (pure), `publish.py` does it

Pages for people are made of the same journal, and are no receipts: nobody signs them.

- `html.py`: elements, text and one style sheet; whatever is no element is text (pure)
- `story.py`, `conversation.py`, `remarks.py`: what became of a plan, from its state and its
  events; what people were asked; what deviates (pure). `tree_changes.py`: what each step changed
- `pieces.py`, `fragments.py`, `chart.py`, `page*.py`: how that looks (pure)
- `costs.py`: what attempts used, and how sure that is (pure)
- `report.py`: `report_page(context, slugs)` and `receipt_page(context, slug)`

Nothing below imports this folder. Receipts that are kept or pushed after a run or a merge are so
from the faces that called it (`cli/run.py`, `cli/worktrees.py`): a run is over, and on record,
before anybody tells others of it.
"""

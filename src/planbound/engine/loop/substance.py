"""Whether evidence says anything: blank words and a title that is repeated do not."""

from __future__ import annotations

from planbound.source.pattern import lazy_pattern

_WORDS = lazy_pattern(r"\w+")
_LEAST = 3
"""So many characters that count."""
_EMPTY_WORDS = frozenset(
    "done complete completed finished ok okay yes true fixed works working implemented ready"
    " pass passed passes success successful successfully verified checked tested all it is was the"
    " this that step task item has been now and good fine see above as i have did n a na none"
    " everything evidence tbd todo".split()
)


def lack_of_substance(evidence: str, *titles: str) -> str | None:
    """Return why a text is no evidence; None where it may be some."""
    if not evidence.strip():
        return "the evidence is blank"
    words = [word.casefold() for word in _WORDS.findall(evidence)]
    if sum(map(len, words)) < _LEAST:
        return "the evidence is too short to say anything"
    said = set(words)
    if said <= _EMPTY_WORDS:
        return "the evidence says only that it is done, not what shows it"
    for title in titles:
        known = {word.casefold() for word in _WORDS.findall(title)}
        if known and said <= known | _EMPTY_WORDS:
            return "the evidence repeats what was to be done, and shows nothing"
    return None

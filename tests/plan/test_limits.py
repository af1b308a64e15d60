"""Budgets and durations as people write them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.plan.limits import (
    Budget,
    LimitError,
    format_duration,
    parse_budget,
    parse_duration,
)


def budget(
    tokens: int | None = None, dollars: str | None = None, seconds: int | None = None
) -> Budget:
    return Budget(
        tokens=tokens,
        dollars=Decimal(dollars) if dollars else None,
        seconds=Decimal(seconds) if seconds else None,
    )


@pytest.mark.requirement("language.limits")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max 200k tokens, $1.50, 20 minutes wall clock", budget(200_000, "1.50", 1200)),
        ("1M tokens", budget(1_000_000)),
        ("$8.00", budget(None, "8.00")),
        ("60 minutes", budget(None, None, 3600)),
        ("2h", budget(None, None, 7200)),
        ("20 minutes wall clock, $1.50, max 200k tokens", budget(200_000, "1.50", 1200)),
        ("1.5M tokens and 5 USD", budget(1_500_000, "5")),
        ("up to 10,000 tokens; 1h 30m", budget(10_000, None, 5400)),
        ("MAX 50K TOKENS.", budget(50_000)),
        ("at most 3 dollars / 45 min", budget(None, "3", 2700)),
    ],
)
def test_budgets_are_read_in_any_subset_and_order(text: str, expected: Budget) -> None:
    assert parse_budget(text) == expected


@pytest.mark.requirement("language.limits")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", "90"), ("10m", "600"), ("1h30m", "5400"), ("10 minutes", "600"), ("500ms", "0.5"),
     ("1 hour 5 seconds", "3605"), ("1.5h", "5400"), ("2 days", "172800")],
)  # fmt: skip
def test_durations_are_read(text: str, seconds: str) -> None:
    assert parse_duration(text) == Decimal(seconds)


@pytest.mark.parametrize(
    ("text", "part"),
    [("max 20 parsecs", "20 parsecs"), ("200k", "200k"), ("$1, $2", "$2"), ("soon", "soon"),
     ("5 bananas, $1", "5 bananas"), ("", "")],
)  # fmt: skip
def test_a_budget_that_cannot_be_read_names_the_part(text: str, part: str) -> None:
    with pytest.raises(LimitError) as error:
        parse_budget(text)
    assert text[error.value.start : error.value.end].strip() == part


@pytest.mark.parametrize("text", ["", "5", "10 parsecs", "-5m", "0s", "9999 days", "m", "1h30"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(LimitError):
        parse_duration(text)


@given(st.integers(1, 300_000))
def test_a_duration_that_was_written_is_read_back(seconds: int) -> None:
    assert parse_duration(format_duration(Decimal(seconds))) == seconds


@given(st.text(alphabet="0123456789 kKmM$,.tokenshd-\n", max_size=60) | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_budget, parse_duration):
        try:
            parse(text)
        except LimitError as error:
            assert 0 <= error.start <= error.end <= len(text)

"""Recipes in a configuration."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from msgspec.structs import replace

from planbound.cells.cell import CommandEnding
from planbound.errors import ConfigurationError
from planbound.journal.event import VerdictKind
from planbound.journal.words import FailureClass
from planbound.plan.model import OnFail
from planbound.run.classify import Classified, Failure, classify, patterns_of
from planbound.run.recovery import GUIDANCE, AskPermission, Escalate, FailureHistory, Retry, answer
from planbound.workspace.configuration import Configuration
from planbound.workspace.configuration_file import read_configuration
from planbound.workspace.recipes import DEFAULT_RECIPES, Action, Recipe, repeats_a_repetition
from tests.program import Program
from tests.tables import one_fact

pytestmark = pytest.mark.requirement("recovery.configuration")

PAGE = Path(__file__).parents[2] / "docs/reference/recovery.md"


def read(text: str) -> tuple[Recipe, ...]:
    return read_configuration(tomllib.loads(text), path="planbound.toml").recipes


def named(recipes: tuple[Recipe, ...], name: str) -> Recipe:
    return next(recipe for recipe in recipes if recipe.name == name)


@pytest.mark.parametrize("text", ["", "[recovery]", 'profile = "strict"'])
def test_without_a_word_about_recovery_the_defaults_hold(text: str) -> None:
    assert read(text) == DEFAULT_RECIPES
    assert Configuration().recipes == DEFAULT_RECIPES


def test_a_table_named_like_a_default_changes_only_the_keys_that_it_gives() -> None:
    recipes = read('[recovery.transient]\nmax = 5\nbackoff = ["1s", "1m30s"]')
    usual = named(DEFAULT_RECIPES, "transient")
    assert named(recipes, "transient") == replace(usual, max=5, backoff=(1.0, 90.0))
    assert [recipe.name for recipe in recipes] == [recipe.name for recipe in DEFAULT_RECIPES]
    assert recipes[1:] == DEFAULT_RECIPES[1:]


def test_own_recipes_come_before_the_defaults_in_their_order() -> None:
    recipes = read(
        """
        [recovery.proxy]
        match = ["/upstream (hiccup|burp)/"]
        actions = ["retry", "escalate"]
        backoff = ["10s"]
        max = 4
        [recovery.crash]
        match = ["unrecoverable", "unknown"]
        actions = ["abort"]
        """
    )
    assert recipes[2:] == DEFAULT_RECIPES
    assert recipes[0] == Recipe(
        "proxy",
        frozenset(),
        ("upstream (hiccup|burp)",),
        (Action.RETRY, Action.ESCALATE),
        (10.0,),
        4,
        escalate=True,
    )
    assert recipes[1].classes == {FailureClass.UNRECOVERABLE, FailureClass.UNKNOWN}
    assert recipes[1].actions == (Action.ABORT,)


def test_a_pattern_of_the_configuration_is_found_and_its_recipe_answers() -> None:
    recipes = read('[recovery.proxy]\nmatch = ["/hiccup/"]\nbackoff = ["10s"]\nmax = 4')
    failure = Failure(VerdictKind.FAIL, CommandEnding.EXITED, 0, contract_output="a hiccup")
    found = classify(failure, patterns_of(recipes))
    assert answer(found, FailureHistory({}), OnFail(), recipes, 0.0) == Retry(
        "proxy", 1, 4, 10.0, guidance=""
    )


def test_a_pattern_next_to_the_only_class_widens_that_class() -> None:
    recipes = read('[recovery.transient]\nmatch = ["transient", "/hiccup/"]')
    failure = Failure(VerdictKind.FAIL, CommandEnding.EXITED, 0, contract_output="a hiccup")
    assert classify(failure, patterns_of(recipes)).kind is FailureClass.TRANSIENT


def test_without_a_maximum_on_fail_says_how_often() -> None:
    assert read('[recovery.mine]\nmatch = ["/x/"]')[0].max is None
    recipes = read('[recovery.unknown]\nactions = ["retry"]')
    assert named(recipes, "unknown").max is None
    assert named(read('[recovery.flooded]\nactions = ["retry"]'), "flooded").max == 1


@pytest.mark.requirement("recovery.unknown")
@pytest.mark.parametrize("kind", ["unknown", "invalid-input"])
def test_a_maximum_alone_gives_retries_to_what_is_asked_at_once_otherwise(kind: str) -> None:
    recipes = read(f"[recovery.{kind}]\nmax = 2")
    classified = Classified(FailureClass(kind), "rule")
    found = answer(
        classified, FailureHistory({}, repeated=3, same_output=True), OnFail(), recipes, 0.0
    )
    if kind == "invalid-input":  # what is refused twice in the same way is refused again
        assert isinstance(found, Escalate)
        found = answer(classified, FailureHistory({}), OnFail(), recipes, 0.0)
    assert isinstance(found, Retry)
    assert (found.number, found.of, found.guidance) == (1, 2, GUIDANCE[classified.kind])


def test_recipes_may_be_called_by_their_name() -> None:
    assert read("[recipes.transient]\nmax = 5") == read("[recovery.transient]\nmax = 5")


@pytest.mark.requirement("recovery.question")
def test_a_recipe_asks_in_its_own_words_whenever_it_asks() -> None:
    recipes = read(
        '[recovery.hung]\nquestion = "Is the server up?"\n'
        '[recovery.permission]\nquestion = "Who has the key?"\n'
        '[recovery.licence]\nmatch = ["/no licence/"]\nactions = ["escalate"]\nquestion = "L?"'
    )
    asked = []
    for kind, rule in (("hung", "a"), ("permission", "b"), ("logic", "recipe-licence")):
        classified = Classified(FailureClass(kind), rule)
        found = answer(classified, FailureHistory({}), OnFail(0), recipes, 0.0)
        assert isinstance(found, Escalate | AskPermission)
        asked.append(found.question)
    assert asked == ["Is the server up?", "Who has the key?", "L?"]


def test_what_follows_used_up_retries_may_be_the_end() -> None:
    assert not named(read("[recovery.hung]\nescalate = false"), "hung").escalate
    assert not named(read('[recovery.hung]\nactions = ["retry", "abort"]'), "hung").escalate
    assert named(read('[recovery.hung]\nactions = ["retry", "escalate"]'), "hung").escalate


def test_no_retry_at_all_can_be_asked_for() -> None:
    assert named(read("[recovery.transient]\nmax = 0"), "transient").max == 0
    assert named(read("[recovery.transient]\nbackoff = []"), "transient").backoff == ()


@one_fact(
    ("text", "message", "hint"),
    [
        ("recovery = 3", "`recovery` is not a table", "write `[recovery]`"),
        ("[recovery]\ntransient = 3", "`recovery.transient` is not a table", "[recovery.tr"),
        ("[recovery.hung]\nmaxx = 3", "unknown key `recovery.hung.maxx`", "`max`"),
        ("[recovery.hung]\nmax = 101", "`recovery.hung.max` is 101", "from 0 to 100"),
        ("[recovery.hung]\nmax = -1", "`recovery.hung.max` is -1", "from 0 to 100"),
        ("[recovery.hung]\nmax = true", "`recovery.hung.max` is True", "from 0 to 100"),
        ('[recovery.hung]\nmax = "3"', "`recovery.hung.max` is '3'", "from 0 to 100"),
        ("[recovery.x]\nmax = 3", "`recovery.x.match` holds nothing", "write `match ="),
        ('[recovery.x]\nmatch = "/a/"', "is not a list of classes", "write `match ="),
        ('[recovery.x]\nmatch = ["transent"]', "holds `transent`", "`transient`?"),
        ('[recovery.x]\nmatch = ["zzz"]', "holds `zzz`", "between slashes"),
        ('[recovery.x]\nmatch = ["/(/"]', "holds `/(/`: missing )", "regular expression"),
        ('[recovery.x]\nmatch = ["/(a+)+$/"]', "repeats what repeats itself", "without"),
        ('[recovery.x]\nmatch = ["/a*/"]', "found in any output", "demand something"),
        (f'[recovery.x]\nmatch = ["/{"a" * 501}/"]', "too long", "500 characters"),
        ('[recovery.hung]\nactions = ["retri"]', "holds `retri`", "`retry`?"),
        ("[recovery.hung]\nactions = []", "`recovery.hung.actions` holds nothing", "write"),
        ('[recovery.hung]\nactions = ["escalate", "abort"]', "both", "one of them"),
        ('[recovery.hung]\nactions = ["ask", "retry"]', "more than `ask`", "answer"),
        ('[recovery.hung]\nactions = ["warn", "escalate"]', "holds none", "add `retry`"),
        ('[recovery.hung]\nbackoff = ["5 apples"]', "unknown unit `apples`", "write `backoff"),
        ("[recovery.hung]\nbackoff = [5]", "is not a list of durations", "write `backoff"),
        ("[recovery.unknown]\nmax = 0", "is for retries, and there are none", "actions"),
        ("[recovery.permission]\nmax = 2", "is for retries, and there are none", "actions"),
        ("[recovery.hung]\nquestion = 3", "`recovery.hung.question` is 3", "write `question"),
        ('[recovery.hung]\nquestion = " "', "`recovery.hung.question` is ' '", "write `ques"),
        ('[recovery.hung]\nquestion = "a\\nb"', "a terminal hides or obeys", "write `ques"),
        ('[recovery.hung]\nquestion = "a\\u202eb"', "a terminal hides or obeys", "write `q"),
        (f'[recovery.hung]\nquestion = "{"a" * 301}"', "is too long", "300 characters"),
        ('[recovery.hung]\nquestion = "a"\nescalate = false', "is never asked", "out"),
        ('[recovery.hung]\nquestion = "a"\nactions = ["abort"]', "is never asked", "out"),
        ("[recovery]\n[recipes]", "`recipes` is another name for `recovery`", "use one"),
        ('[recovery.unknown]\nbackoff = ["5s"]', "is for retries", "actions"),
        ("[recovery.unknown]\nescalate = false", "follows retries", "abort"),
        ('[recovery.hung]\nactions = ["retry", "abort"]\nescalate = true', "is true", "one"),
        ('[recovery.hung]\nactions = ["retry", "escalate"]\nescalate = false', "is false", "one"),
        ('[recovery.hung]\nescalate = "yes"', "`recovery.hung.escalate` is 'yes'", "`true`"),
        ('[recovery.hung]\nmatch = ["/a/"]', "`recovery.hung` does not answer", 'add "hung"'),
        (
            '[recovery.a]\nmatch = ["hung"]\n[recovery.b]\nmatch = ["hung"]',
            "`recovery.b` answers `hung`, and so does `recovery.a`",
            "one table",
        ),
        (
            '[recovery.a]\nmatch = ["hung"]\n[recovery.hung]\nmax = 2',
            "`recovery.hung` answers `hung`, and so does `recovery.a`",
            "one table",
        ),
        ('[recovery."a b"]\nmatch = ["hung"]', "`recovery.a b` is not a name", "letters"),
        (
            '[recovery.destructive]\nactions = ["retry"]',
            "`destructive`, and there a person is always asked",
            "take it out",
        ),
        (
            '[recovery.mine]\nmatch = ["destructive", "logic"]',
            "`destructive`, and there a person is always asked",
            "take it out",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_cure(text: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(text)
    assert message in caught.value.message
    assert "planbound.toml" in caught.value.message
    assert hint in (caught.value.hint or "")


def test_every_command_refuses_a_recipe_that_cannot_be_meant(program: Program) -> None:
    program.plan("hello")
    program.write("planbound.toml", "[recovery.hung]\nmax = 101\n")
    done = program.run("verify", "hello")
    assert done.code == 2
    assert "`recovery.hung.max` is 101" in done.err
    program.write("planbound.toml", "[recovery.hung]\nmax = 2\n")
    assert program.run("verify", "hello").code == 0


def test_the_page_shows_every_class_and_action_and_an_example_that_can_be_read() -> None:
    page = PAGE.read_text("utf-8")
    for word in (*FailureClass, *Action):
        assert f"`{word.value}`" in page
    example = page.partition("```toml\n")[2].partition("```")[0]
    assert [recipe.name for recipe in read(example)][:2] == ["proxy", "broken"]


@pytest.mark.parametrize(
    "text",
    ["(a+)+", "(a*)*b", "(?:x|y+)*", "((a+)b)+", "(a{2,})+", "(a+){2,}", "(a+){9}", "(.*,)*"],
)
def test_repetitions_of_repetitions_are_seen(text: str) -> None:
    assert repeats_a_repetition(text)


@pytest.mark.parametrize(
    "text",
    [
        "a+b*",
        "(ab)+",
        "(a+)b",
        "(a+)?",
        r"(\+)+",
        "([+*])+",
        r"[(a+)]+",
        "(a|b)*c+",
        "(a{3})+",
        "x",
    ],
)
def test_other_patterns_are_left_alone(text: str) -> None:
    assert not repeats_a_repetition(text)

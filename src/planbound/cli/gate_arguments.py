"""What the command line says about a decision: who, how, and for how long."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NamedTuple

from planbound.engine.configuration import Configuration, GateRules
from planbound.engine.gate.approval import Method
from planbound.errors import Refused, UsageError
from planbound.plan.digest import digest
from planbound.plan.model import Plan
from planbound.source.visible import visible

SHORTEST = 12
"""How many digits of a digest say that somebody saw the plan."""


def configure_plan(parser: argparse.ArgumentParser) -> None:
    """Add what names a plan and who decides."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    configure_person(parser)


def configure_person(parser: argparse.ArgumentParser) -> None:
    """Add who decides."""
    parser.add_argument("--as", dest="by", metavar="NAME", help="who decides")


def configure_approval(parser: argparse.ArgumentParser) -> None:
    """Add what an approval needs without a terminal."""
    parser.add_argument(
        "--digest", metavar="PREFIX", help="12 or more digits: says that exactly this was seen"
    )
    parser.add_argument(
        "--statement", action="store_true", help="print what is to be signed, and approve nothing"
    )
    parser.add_argument(
        "--signature", metavar="FILE", help="what `ssh-keygen -Y sign` made of the statement"
    )
    configure_terms(parser)


def configure_terms(parser: argparse.ArgumentParser) -> None:
    """Add until when an approval holds, and in spite of what."""
    parser.add_argument("--expires", metavar="DURATION", help="how long it holds, such as `7d`")
    parser.add_argument(
        "--missing-tools",
        action="store_true",
        help="approve although contracts call programs that are not there; they go on record",
    )


class Given(NamedTuple):
    """What the command line says about an approval."""

    by: str | None = None
    digest: str = ""
    statement: bool = False
    signature: str | None = None
    policy: str | None = None
    expires: str | None = None
    missing_tools: bool = False
    json: bool = False

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Given:
        """Return what was said; a command that has no such option says nothing."""
        said = {name: getattr(arguments, name, None) for name in cls._fields}
        given = cls(**{name: value for name, value in said.items() if value is not None})
        return given._replace(digest=given.digest.lower())

    def method(self, rules: GateRules) -> Method:
        """Return how a plan would be approved."""
        if self.policy is not None:
            return Method.POLICY
        if self.signature or self.statement or rules.signed:
            return Method.SIGNATURE
        return Method.DIGEST if self.digest or not is_terminal() else Method.TERMINAL

    @property
    def person(self) -> str:
        """Return who decides; refuse where nobody is named and nobody sits there."""
        if self.policy is not None:
            return f"policy {self.policy}"
        if self.by:
            return self.by
        if not is_terminal():
            raise UsageError("nobody decides", hint="without a terminal say who: `--as NAME`")
        import getpass  # noqa: PLC0415 - only here

        return getpass.getuser()

    def check(self, plan: Plan, configuration: Configuration) -> None:
        """Refuse what cannot become an approval, before anything is frozen or run."""
        if self.statement:
            return
        if self.digest and len(self.digest) < SHORTEST:
            raise UsageError(f"`--digest` needs {SHORTEST} digits or more")
        now = digest(plan)
        if not now.startswith(self.digest):
            raise Refused(
                f"digest changed: `{self.digest}` is not this plan, {now[:SHORTEST]} is",
                hint="look at the plan again before you approve it",
            )
        if self.signature and not os.path.isfile(self.signature):
            raise UsageError(f"there is no signature `{self.signature}`")
        unsigned = not self.signature and bool(self.digest or self.policy is not None)
        if configuration.gate.signed and unsigned:
            raise Refused(
                "only a signature approves here (`gate.signed`)",
                hint="`--statement` prints what to sign; docs/concepts/gate.md shows how",
            )
        if self.policy is not None:
            self._check_policy(self.policy, plan, configuration)
        elif self.digest or self.signature:
            _ = self.person

    def _check_policy(self, name: str, plan: Plan, configuration: Configuration) -> None:
        from planbound.engine.gate.policy import objections  # noqa: PLC0415 - seldom

        if self.by or self.signature:
            raise UsageError(
                "a policy approves, or a person does", hint="leave `--policy` or the name out"
            )
        if self.missing_tools:
            raise UsageError(
                "no policy approves over missing tools", hint="leave `--missing-tools` out"
            )
        policies = {policy.name: policy for policy in configuration.gate.policies}
        if name not in policies:
            known = ", ".join(f"`{known}`" for known in policies) or "none"
            raise UsageError(f"there is no policy `{name}`", hint=f"policies: {known}")
        reasons = objections(policies[name], plan, configuration.path)
        if reasons:
            raise Refused(
                f"the policy `{name}` does not approve this plan:\n"
                + "\n".join(f"  {visible(reason)}" for reason in reasons),
                hint="a person can: `planbound approve`",
            )

    def until(self) -> str | None:
        """Return when the approval ends, in UTC as the journal writes times."""
        if not self.expires:
            return None
        from datetime import UTC, datetime, timedelta  # noqa: PLC0415 - only here

        from planbound.plan.limits import LimitError, parse_duration  # noqa: PLC0415

        try:
            seconds = float(parse_duration(self.expires))
        except LimitError as error:
            raise UsageError(f"`--expires`: {error.reason}", hint=error.hint) from error
        end = datetime.now(UTC) + timedelta(seconds=seconds)
        return end.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def is_terminal() -> bool:
    """Say whether somebody may sit at a terminal; a program can pretend to."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def prompt(question: str) -> str | None:
    """Return what is typed at the terminal; None at its end."""
    sys.stdout.flush()
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.strip() if line else None

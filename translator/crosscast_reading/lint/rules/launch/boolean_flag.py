"""CL910: flags that cannot be disabled: type=bool, and store_true with a default of True."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.flag import Flag
from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find such flags of argparse."""
    for flag in subject.program.all_flags:
        if flag.parser != "argparse":
            continue
        if flag.action in ("", "store") and _is_bool(flag):
            yield Finding(
                span=flag.span,
                message=f"{flag.name} False means True: argparse applies bool to the string, and "
                "only the empty string is False",
                hint='use action="store_true", or argparse.BooleanOptionalAction',
            )
        elif _is_stuck(flag):
            yield Finding(
                span=flag.span,
                message=f"{flag.name} cannot be disabled: it is {_default(flag)} with and without "
                "the flag",
                hint="use argparse.BooleanOptionalAction, or change the default",
            )


def _is_bool(flag: Flag) -> bool:
    """Whether the call has `type=bool`, which some wrappers of argparse support."""
    match keyword(flag.node, "type") if isinstance(flag.node, ast.Call) else None:
        case ast.Name(id="bool") as kind:
            return flag.module.resolve(kind) in ("bool", "builtins.bool", "")
    return False


def _is_stuck(flag: Flag) -> bool:
    if not isinstance(flag.default, Known):
        return False
    wanted = {"store_true": True, "store_false": False}.get(flag.action)
    return wanted is not None and flag.default.value is wanted and _shares_no_dest(flag)


def _shares_no_dest(flag: Flag) -> bool:
    """Whether no other flag sets the same entry: `--amp` and `--no-amp` may share one."""
    return sum(o.dest == flag.dest for o in flag.module.program.all_flags) == 1


def _default(flag: Flag) -> str:
    return str(flag.default.value) if isinstance(flag.default, Known) else ""


RULE = Rule("CL910", check, hints=("add_argument",))

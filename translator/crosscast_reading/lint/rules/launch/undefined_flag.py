"""CL921: a launch passes a flag that the program does not define."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import PurePath

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.sources.prefilter import has_word
from crosscast_reading.sources.subject import Subject

_FLAG = re.compile(r"--[A-Za-z][\w-]*")
_OTHER_PARSERS = (
    *("parse_known_args", "sys.argv", "fromfile_prefix", "parents=", "add_subparsers"),
    *("HfArgumentParser", "REMAINDER", "import click", "hydra", "absl", "fire", "add_arg("),
    *("conflict_handler", "prefix_chars", "argument_default"),
)
"""Calls that may define further flags."""


def check(subject: Subject) -> Iterator[Finding]:
    """Compare the flags of commands with those of the launched program."""
    program = subject.program
    if not program.modules or not is_plain(program, program.modules):
        return
    main = PurePath(program.modules[0].source.name).name
    options = {option for flag in program.all_flags for option in flag.options}
    options |= {f"--no-{o[2:]}" for o in options if o.startswith("--")} | {"--help"}
    for command in subject.commands:
        if PurePath(command.program).name != main:
            continue
        for fact in command.flags:
            name = fact.expression.partition("=")[0]
            if not _FLAG.fullmatch(name) or _is_accepted(name, options):
                continue
            yield Finding(
                span=fact.places[0],
                message=f"{main} has no flag {name}: it stops with exit code 2",
                hint=near(name, options),
            )


def _is_accepted(name: str, options: set[str]) -> bool:
    """Whether argparse accepts a flag, exactly or as a prefix of a longer one."""
    return name in options or any(option.startswith(name) for option in options)


def is_plain(program: Program, modules: Collection[Module]) -> bool:
    """Whether one parser of argparse defines all flags of some modules and rejects others."""
    if any(has_word(module.code, _OTHER_PARSERS) for module in modules):
        return False
    flags = [flag for flag in program.all_flags if flag.module in modules]
    if not flags or any(flag.parser != "argparse" for flag in flags):
        return False
    calls = [call for call in program.calls() if call.module in modules]
    parsed = [call for call in calls if call.method == "parse_args"]
    if not parsed or any(c.name != "argparse.ArgumentParser.parse_args" for c in parsed):
        return False
    if sum("argparse.ArgumentParser" in call.names for call in calls) != 1:
        return False
    return not any(_hides(program, call.node) for call in calls)


def _hides(program: Program, node: ast.Call) -> bool:
    """Whether a call defines flags with computed names, or passes the parser on."""
    match node:
        case ast.Call(func=ast.Attribute(attr="add_argument"), args=[ast.Constant(str()), *_]):
            return False
        case ast.Call(func=ast.Attribute(attr="add_argument")):
            return True
    for module in program.modules:
        if node in module.parents:
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(module.resolve(child) == "argparse.ArgumentParser" for child in arguments):
                return program.function(module.call(node)) is None
    return False


def near(name: str, options: set[str]) -> str:
    """Return a hint with the option that is spelt most like a name."""
    import difflib

    close = difflib.get_close_matches(name, sorted(options), n=1)
    return f"did you mean {close[0]}?" if close else "remove it, or define it"


RULE = Rule("CL921", check)

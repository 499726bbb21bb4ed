"""CL912: a flag about the training step that is parsed but never read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.scalers import idle_scalers
from crosscast_reading.lint.answers.type_switches import type_switches
from crosscast_reading.lint.answers.unused_flags import asked_by, is_whole, launches, unused_flags
from crosscast_reading.lint.namespaces import NAMES, Use, use_of
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.accumulation.accumulation_not_wired import check as not_wired
from crosscast_reading.lint.topics import topic_of
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.readers.python.optimizers import family_of
from crosscast_reading.sources.subject import Subject

_SETTINGS = re.compile(r"arg|opt|conf|cfg|flag|param|setting|self|namespace", re.IGNORECASE)
"""Names of objects that may hold flags; `x.dtype` of a tensor is none."""
_CASTS = re.compile(r"auto_?cast|amp_guard|decorate|half|b?float16|cast|astype|to|type|initialize")
"""Methods that may cast something to half precision."""
_LOOKS = frozenset({"getattr", "hasattr", "setattr", "isinstance", "super", "id", "repr", "print"})
"""Calls that get an object and do not keep it."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find flags that no attribute, getattr or unknown function can read."""
    program = subject.program
    yield from _defaults_kept(program)
    if not is_whole(subject):
        return
    yield from _only_for_scaler(subject, program)
    for node, where, names in _stored_switches(subject):
        yield Finding(
            span=where.span(node),
            message=f"{where.text(node)} has no effect: it only sets {', '.join(names)}, which "
            "nothing reads",
            hint="cast the forward pass and scale the loss under it, or remove it",
        )
    unused = list(unused_flags(subject))
    windows = any(topic == "accumulation" for _, topic in unused)
    reported = {finding.span for finding in not_wired(subject)} if windows else set()
    for flag, topic in unused:
        if flag.span not in reported:
            yield Finding(
                span=flag.span,
                message=f"{flag.name} has no effect: it is parsed but never used",
                hint="use it in the training step, or remove it: users who set it expect "
                f"{_expected(topic)}",
            )
    others = [flag for flag, topic in unused if topic != "accumulation"]
    for command in launches(subject):
        asked = [(flag, place) for flag in others if (place := asked_by(command, flag))]
        if asked:
            listed = ", ".join(flag.name for flag, _ in asked)
            yield Finding(
                span=asked[0][1][0],
                message=f"without effect: {listed}; the program parses what it never uses",
                hint="use it in the training step, or remove it here",
                related=tuple(flag.span for flag, _ in asked),
            )


def _only_for_scaler(subject: Subject, program: Program) -> Iterator[Finding]:
    """Find flags for a type that only switch the loss scaler: autocast never gets the type."""
    for switch in type_switches(subject):
        name = identifier(switch.chosen)
        reads = [
            node
            for module in program.modules
            for node in module.nodes
            if isinstance(node, ast.Attribute) and node.attr == name
            if module.parent(node) is not switch.test
            if _SETTINGS.search(module.text(node.value))
        ]
        for flag in program.all_flags if not reads else ():
            outside = {*flag.choices} - {*switch.values}
            if flag.dest == name and (outside or not flag.choices):
                yield Finding(
                    span=flag.span,
                    message=f"{flag.name} does not change the type of autocast, which is float16: "
                    "it only switches the loss scaler",
                    hint="pass it to autocast as `dtype`",
                    related=(switch.step.module.owner_of(switch.context).span(switch.context),),
                )


def _defaults_kept(program: Program) -> Iterator[Finding]:
    """Find makers of optimizers that are called without the parameters which flags are for.

    Several flags have the names of parameters, and nothing reads them: they were to be passed on.
    """
    flags = {flag.dest: flag for flag in program.all_flags if flag.parser == "argparse"}
    makers = [call for name, call in calls_of(program) if family_of(last(name))] if flags else []
    for call in makers:
        module, function = call.module, call.module.function_of(call.node)
        if function is None:
            continue
        sites = program.call_sites(module, function)
        if any(site.node.args or site.node.keywords for site in sites):
            continue
        named = sorted(_passed(call, function) & flags.keys())
        use = use_of(program) if len(named) > 1 else Use()
        dead = [flags[dest].name for dest in named if dest not in use.read]
        for site in sites[:1] if len(dead) > 1 and not use.escapes else ():
            yield Finding(
                span=site.module.span(site.node),
                message=f"{', '.join(dead[:-1])} and {dead[-1]} have no effect: "
                f"{function.name} is called without them",
                hint=f"pass them to {function.name}, or remove them",
                related=(module.span(call.node),),
            )


def _passed(call: Call, function: Function) -> set[str]:
    """Return the parameters with defaults that a call in a function gets."""
    passed = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
    names = {argument.id for argument in passed if isinstance(argument, ast.Name)}
    arguments = function.args.args
    return names & {a.arg for a in arguments[len(arguments) - len(function.args.defaults) :]}


def _expected(topic: str | None) -> str:
    return {
        "precision": "half precision",
        "scaling": "another loss scale",
        "accumulation": "larger windows",
        "clipping": "clipped gradients",
        "schedule": "another learning rate",
        "optimizer": "other updates",
    }.get(topic or "", "something")


def _stored_switches(subject: Subject) -> Iterator[tuple[ast.Attribute, Module, list[str]]]:
    """Yield switches that end in attributes nothing reads, with those, if a scaler idles too.

    That nothing else casts is asked of the whole program: the scaler shows that the loop was meant
    to have half precision, and the loop that it has none.
    """
    program = subject.program
    if not idle_scalers(subject) or _casts(program):
        return
    reads_by_name: dict[str, list[tuple[ast.Attribute, Module]]] = {}
    for module in program.modules:
        for node in module.every(ast.Attribute):
            if topic_of(node.attr) == "precision" and identifier(node.value) in NAMES:
                reads_by_name.setdefault(node.attr, []).append((node, module))
    for reads in reads_by_name.values():
        stored = [_stored(node, module) for node, module in reads]
        if all(stored) and not any(_is_read(name, program) for name in stored):
            yield *reads[0], list(dict.fromkeys(stored))


def _casts(program: Program) -> bool:
    """Whether a program may cast anything to half precision, or hand `self` to code that may."""
    return any(
        _CASTS.fullmatch(call.method)
        or call.name.endswith((".autocast", ".auto_cast"))
        or (call.method not in _LOOKS and "self" in map(module.text, call.node.args))
        for module in program.modules
        for call in module.calls
    )


def _stored(node: ast.expr, module: Module) -> str:
    """Return the attribute of `self` that a switch decides; empty if it does more than that."""
    child: ast.AST = node
    parent = module.parent(node)
    while isinstance(parent, ast.IfExp | ast.BoolOp | ast.UnaryOp | ast.Compare):
        child, parent = parent, module.parent(parent)
    match parent:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
            return name if value is child else ""
    return ""


def _is_read(name: str, program: Program) -> bool:
    for node in (each for module in program.modules for each in module.nodes):
        match node:
            case ast.Attribute(attr=word, ctx=ast.Load()) | ast.Constant(value=word) if (
                word == name
            ):
                return True
    return False


RULE = Rule("CL912", check, hints=("add_argument", "add_arg(", "DEFINE_", "Scaler"))

"""Uses of a program's flags."""

from __future__ import annotations

import ast
import re

from crosscast_reading.lint.answers.windows import ACCUMULATES
from crosscast_reading.pysource.flags.reading import flag_read
from crosscast_reading.pysource.programs.flag import Flag
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import identifier

_SHOWN = re.compile(r"^(print|logger|logging|log|info|warning|debug|format|warn|write|tqdm|str)$")
_COUNTED = re.compile(
    r"total|t_total|^updates?$|num_\w{0,60}(steps|iters|updates)|max_\w{0,60}steps|warm|batch_size|bs$|updates_per"
    r"|steps_per|_steps$|train_steps|num_training|effective|overrode|(^|_|\.)(lr|learning_rate)$",
    re.I,
)
_SCHEDULES = re.compile(r"sched|warmup|LambdaLR|get_\w{0,60}schedule|lr$", re.I)


def uses_of(flag: Flag, program: Program) -> list[tuple[ast.expr, Module]] | None:
    """Return every read of a flag; None if not all of them are visible."""
    reads: list[tuple[ast.expr, Module]] = []
    for module in program.modules:
        for node in module.nodes:
            match node:
                case ast.Attribute(attr=flag.dest, ctx=ast.Store()):
                    return None
                case ast.Attribute(attr=flag.dest):
                    if flag_read(node, module) is not None or ":" not in module.resolve(node):
                        reads.append((node, module))
                case ast.Constant(value=flag.dest) if module.parent(node) is not flag.node:
                    return None
                case ast.Name(id=flag.dest) if flag.parser != "argparse":
                    return None
                case ast.keyword(arg=None, value=value) if "args" in module.text(value):
                    return None  # `f(**vars(args))` passes every flag on
    return reads


def only_counts_or_shows(node: ast.expr, module: Module, hops: int = 3) -> bool:
    """Whether a use only displays the value or counts updates with it.

    Maybe after it got a name of its own.
    """
    parent = module.parent(node)
    while parent is not None:
        match parent:
            case ast.JoinedStr() | ast.Assert():
                return True
            case ast.Call(func=function):
                name = identifier(function)
                if _SHOWN.search(name) or _SCHEDULES.search(name):
                    return True
                if name not in ("int", "max", "min", "ceil", "floor", "round", "len", "float"):
                    return False
            case ast.keyword(arg=str(name)) if _COUNTED.search(name):
                return not ACCUMULATES.search(name)
            case ast.If(body=body):  # may only reject invalid values
                return all(isinstance(each, ast.Raise | ast.Assert) for each in body)
            case ast.IfExp() | ast.Return() | ast.For() | ast.While():
                return False
            case ast.Assign(targets=targets):
                if all(_COUNTED.search(module.text(target)) for target in targets):
                    return True
                name = _name_of(node, parent)
                uses = [
                    use
                    for use in module.nodes
                    if isinstance(use, ast.Name) and use.id == name
                    if isinstance(use.ctx, ast.Load)
                ]
                return bool(uses and hops) and all(
                    only_counts_or_shows(use, module, hops - 1) for use in uses
                )
        parent = module.parent(parent)
    return False


def _name_of(node: ast.expr, assignment: ast.Assign) -> str:
    """Return the name that an assignment gives a value; empty if it is only part of it."""
    match assignment:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is node:
            return name
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            pairs = zip(names, values, strict=False)
            return next((identifier(name) for name, value in pairs if value is node), "")
    return ""

"""Uses of a program's flags."""

from __future__ import annotations

import ast
import re

from crosscast.lint.rules._windows import ACCUMULATES
from crosscast.pysource.flags.reading import flag_read
from crosscast.pysource.programs.flag import Flag
from crosscast.pysource.programs.module import Module
from crosscast.pysource.programs.program import Program

_SHOWN = re.compile(r"^(print|logger|logging|log|info|warning|debug|format|warn|write|tqdm|str)$")
_COUNTED = re.compile(
    r"total|t_total|^updates?$|num_\w*(steps|iters|updates)|max_\w*steps|warm|batch_size|bs$|updates_per"
    r"|steps_per|_steps$|train_steps|num_training|effective|overrode|(^|_|\.)(lr|learning_rate)$",
    re.I,
)
_SCHEDULES = re.compile(r"sched|warmup|LambdaLR|get_\w*schedule|lr$", re.I)


def uses_of(flag: Flag, program: Program) -> list[tuple[ast.expr, Module]] | None:
    """Return every read of a flag; None if not all of them are visible."""
    found: list[tuple[ast.expr, Module]] = []
    for module in program.modules:
        for node in module.nodes:
            if isinstance(node, ast.Attribute) and node.attr == flag.dest:
                if isinstance(node.ctx, ast.Store):
                    return None
                if flag_read(node, module) is None and ":" in module.resolve(node):
                    continue
                found.append((node, module))
            elif isinstance(node, ast.Constant) and node.value == flag.dest:
                around = module.parent(node)
                if not (isinstance(around, ast.Call) and around is flag.node):
                    return None
            elif isinstance(node, ast.Name) and node.id == flag.dest:
                if flag.parser != "argparse":
                    return None
            elif isinstance(node, ast.keyword) and _unpacks(node, module):
                return None
    return found


def _unpacks(node: ast.keyword, module: Module) -> bool:
    """Whether `f(**vars(args))` passes every flag on."""
    return node.arg is None and "args" in module.text(node.value)


def only_counts_or_shows(node: ast.expr, module: Module) -> bool:
    """Whether a use only displays the value or counts updates with it."""
    child: ast.AST = node
    here = module.parent(node)
    while here is not None:
        if isinstance(here, ast.JoinedStr):
            return True
        if isinstance(here, ast.Call) and child is not here.func:
            name = here.func.attr if isinstance(here.func, ast.Attribute) else ""
            name = here.func.id if isinstance(here.func, ast.Name) else name
            if _SHOWN.search(name) or _SCHEDULES.search(name):
                return True
            if name not in ("int", "max", "min", "ceil", "floor", "round", "len", "float"):
                return False
        if isinstance(here, ast.keyword) and here.arg and _COUNTED.search(here.arg):
            return not ACCUMULATES.search(here.arg)
        if isinstance(here, ast.If | ast.While | ast.IfExp):
            return _raises(here) if isinstance(here, ast.If) and child is here.test else False
        if isinstance(here, ast.Assign):
            names = [module.text(target) for target in here.targets]
            return all(_COUNTED.search(name) for name in names)
        if isinstance(here, ast.stmt):
            return isinstance(here, ast.Assert)
        child, here = here, module.parent(here)
    return False


def _raises(node: ast.If) -> bool:
    """Whether a condition only rejects invalid values."""
    return all(isinstance(child, ast.Raise | ast.Assert) for child in node.body) and not node.orelse

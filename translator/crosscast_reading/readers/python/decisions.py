"""Who decides whether a piece of a program runs, and whether it runs by default."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crosscast_reading.pysource.libraries.public_names import INSTALLED, STANDARD
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.conditions import Condition, branches
from crosscast_reading.readers.python.default_conditions import DEVICE, holds_by_default
from crosscast_reading.readers.python.library_calls import parts_of
from crosscast_reading.readers.python.origins import Who, leaves, origin

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

PRECISION = frozenset(
    {
        *("amp", "fp16", "half", "bf16", "float16", "bfloat16", "precision", "mixed", "apex"),
        *("autocast", "scaler", "gradscaler", "fp8", "dtype", "ptdtype", "o0", "o1", "o2"),
        *("mp", "mixprec", "autocaster", "level", "f16", "mxp", "rewrite"),
    }
)
"""Words of conditions about precision."""
RECOMPUTING = frozenset({"recompute", "recomputing", "remat", "checkpoint", "checkpointing"})
"""Words of conditions about activation checkpointing."""
_OTHER = re.compile(
    r"train|eval|mode\b|gpu|cuda|cpu|rank|world|nproc|device|main|__name__|restore|resume|exist"
    r"|verbose|profil|debug|isinstance|version|hasattr|tpu|horovod|hvd|strategy|is None",
    re.I,
)
_PLACE = re.compile(r"os\.(getcwd|uname|getlogin)\(|platform\.|gethostname|sys\.platform|getuser")
_LIBRARIES = INSTALLED | STANDARD
_SHORT = 120


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decides about something, and what happens by default."""

    who: Who | Literal["never"]
    by_default: bool | None
    """Whether it happens with the defaults as written; None if unknown."""
    under: tuple[str, ...] = ()
    flag: str = ""
    """The condition that decides, as text."""


def is_about(condition: Condition, wanted: frozenset[str]) -> bool:
    """Whether a condition contains some words, directly or in the values of its names."""
    if parts_of(condition.module.text(condition.node)) & wanted:
        return True
    return any(parts_of(text) & wanted for text in _behind(condition))


def _is_about_nothing(condition: Condition) -> bool:
    """Whether a flag or configuration decides a condition of unknown purpose."""
    module, node = condition.module, condition.node
    if _OTHER.search(module.text(node)):
        return False
    called = any(isinstance(part, ast.Call) for part in walk(node))
    return origin(node, module) in ("flag", "config") or (not called and _is_setting(node, module))


def _is_place(condition: Condition) -> bool:
    """Whether the machine or the folder in which a program runs decides a condition."""
    return bool(_PLACE.search(condition.module.text(condition.node)))


def _is_setting(node: ast.expr, module: Module) -> bool:
    """Whether a condition is a value that another file of the project sets."""
    names = [leaf for leaf in leaves(node) if not isinstance(module.parent(leaf), ast.Attribute)]
    return bool(names) and all(_is_elsewhere(leaf, module) for leaf in names)


def _is_elsewhere(node: ast.expr, module: Module) -> bool:
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    bound = definitions(root, module)
    if not bound:
        return root is node and bool(module.stars)
    if any(binding.module is not module for binding in bound):
        return True
    library = module.resolve(root).partition(".")[0] in _LIBRARIES
    return not library and all(binding.kind == "import" for binding in bound)


def _is_known(node: ast.expr, module: Module) -> bool:
    """Whether the files at hand show every value of a condition."""
    return all(isinstance(evaluate(leaf, module), Known) for leaf in leaves(node))


def _behind(condition: Condition) -> Iterator[str]:
    for name in walk(condition.node):
        for binding in definitions(name, condition.module) if isinstance(name, ast.Name) else ():
            if binding.kind == "assign" and binding.value is not None:
                text = binding.module.text(binding.value)
                if not isinstance(binding.value, ast.Call) or len(text) < _SHORT:
                    yield text


def decide(
    conditions: Sequence[Condition],
    switch: ast.expr | None,
    module: Module,
    wanted: frozenset[str] = PRECISION,
    *,
    unnamed: bool = False,
) -> Decision:
    """Return who decides about something.

    Args:
        conditions: the conditions around it, outermost first; the innermost is told first.
        switch: what an argument such as `enabled=` gets.
        module: of the switch.
        wanted: words of the conditions that matter.
        unnamed: whether those of flags and settings matter too that seem to be about nothing else.
    """
    tests = [
        test
        for test in reversed(conditions)
        if is_about(test, wanted) or (unnamed and (_is_about_nothing(test) or _is_place(test)))
    ]
    if switch is not None:
        tests.insert(0, Condition(switch, True, module.owner_of(switch)))
    by_default: bool | None = True
    who: list[Who] = []
    flag = ""
    for test in tests:
        by = origin(test.node, test.module)
        by_device = _only_device(test.node, test.module)
        if by_device:
            by = "always"
        set_elsewhere = test.node is not switch and _is_setting(test.node, test.module)
        if by == "always" and not by_device and (set_elsewhere or _is_place(test)):
            by = "config"
        met = holds_by_default(test)
        if set_elsewhere and not _is_known(test.node, test.module):
            met = None
        if by == "always":
            if met is False:
                return Decision("never", False, (test.text,), test.text)
            if met is None and by_default and not by_device:
                by_default = None
            continue
        who.append(by)
        if not flag or (by == "flag" and "flag" not in who[:-1]):
            flag = test.text if test.holds else test.module.text(test.node)
        if met is False:
            by_default = False
        elif met is None and by_default:
            by_default = None
    order: tuple[Who, ...] = ("flag", "config", "caller")
    best: Who = next((w for w in order if w in who), "always")
    shown = [test.text for test in reversed(tests) if not isinstance(test.node, ast.Constant)]
    return Decision(best, by_default, tuple(dict.fromkeys(shown)), flag)


def _only_device(node: ast.expr, module: Module) -> bool:
    text = module.text(node)
    return bool(DEVICE.search(text)) and not parts_of(text) & PRECISION


def decide_recomputing(call: Call) -> Decision:
    """Return who decides whether a call enables activation checkpointing."""
    return decide(branches(call.node, call.module), None, call.module, RECOMPUTING, unnamed=True)

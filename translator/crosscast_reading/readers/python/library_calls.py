"""The calls of a Python program by canonical names: aliases of one function share a name."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, overload
from weakref import WeakKeyDictionary

from crosscast_reading.pysource.libraries.packages import (
    TRAINING,
    framework_of_name,
    package_of_name,
    packages_of,
)
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Symbol, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

Named = tuple[str, Call]
_INDEX: WeakKeyDictionary[Program, tuple[Named, ...]] = WeakKeyDictionary()
_HIDDEN = re.compile(r"^[\w.]+\.(keras|tf|fluid|paddle)\.(?=[a-zA-Z_])")
"""A library re-exported by another package: `ourpackage.keras.optimizers.Adam`."""
_WRAPPERS = ("constant", "cast", "identity", "to_float", "convert_to_tensor", "Variable")
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")
_WORD = re.compile(r"[A-Za-z_]\w*")
_WHOLE = {"keras": "keras", "tf": "tensorflow", "fluid": "paddle.fluid", "paddle": "paddle"}


def canonical(name: str) -> str:
    """Return the canonical name of a function: `tf.train.X` for `tf.compat.v1.train.X`."""
    if not name or ":" in name:
        return name
    for version in (".compat.v1.", ".compat.v2."):
        name = name.replace(version, ".")
    if name.startswith(("tensorflow.keras.", "tensorflow.optimizers.")):
        return f"keras.{name.removeprefix('tensorflow.').removeprefix('keras.')}"
    if name.startswith("tf_keras."):
        return name[len("tf_") :]
    if package_of_name(name) not in TRAINING:  # `horovod.tensorflow.keras` is of Horovod
        match = _HIDDEN.match(name)
        if match:
            return f"{_WHOLE[match.group(1)]}.{name[match.end() :]}"
    return name


def calls_of(program: Program) -> tuple[Named, ...]:
    """Return every call with each of its canonical names, in the order of the text."""
    calls = _INDEX.get(program)
    if calls is None:
        idle = _idle(program)
        by_mode = {m for m in program.modules if "ModeKeys." in m.source.text}
        calls = tuple(
            (canonical(name), call)
            for call in program.calls()
            if not idle or _top(call.node, call.module) not in idle
            if call.module not in by_mode or not _only_predicts(call)
            for name in call.names or ("",)
        )
        _INDEX[program] = calls
    return calls


_MODES = (".PREDICT", ".INFER", ".EVAL")


def _only_predicts(call: Call) -> bool:
    """Whether a call stands in the branch of an estimator that does not train."""
    module = call.module
    child: ast.AST = call.node
    here = module.parent(child)
    while here is not None:
        test = here.test if isinstance(here, ast.If) and child in here.body else None
        equal = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq)
        if test is not None and equal and module.text(test).endswith(_MODES):
            return True
        child, here = here, module.parent(here)
    return False


def _idle(program: Program) -> set[ast.AST]:
    """Return the functions of helper files that the program never refers to."""
    if len(program.modules) < 2:
        return set()
    words: Counter[str] = Counter()
    for module in program.modules:
        words.update(_WORD.findall(module.source.text))
    return {
        node
        for module in program.modules[1:]
        for node in module.tree.body
        if isinstance(node, ast.FunctionDef) and words[node.name] == 1
    }


def _top(node: ast.AST, module: Module) -> ast.AST | None:
    """Return the statement of the module that a node is part of."""
    here: ast.AST | None = node
    while here is not None:
        parent = module.parent(here)
        if parent is module.tree:
            return here
        here = parent
    return None


def matching(program: Program, pattern: re.Pattern[str]) -> tuple[Named, ...]:
    """Return the calls with a canonical name that matches completely."""
    known = _matched(program)
    if pattern not in known:
        known[pattern] = tuple(
            (name, call) for name, call in calls_of(program) if name and pattern.fullmatch(name)
        )
    return known[pattern]


@once
def _matched(program: Program) -> dict[re.Pattern[str], tuple[Named, ...]]:
    """Return the calls found so far; readers ask for the same ones for every loop."""
    return {}


def calls_matching(program: Program, pattern: re.Pattern[str]) -> list[Call]:
    """Return the calls with a canonical name that matches completely, each once."""
    return list(dict.fromkeys(call for _, call in matching(program, pattern)))


def wrapped(call: Call) -> list[ast.expr]:
    """Return the function that a `functools.partial` calls, alone in a list."""
    return call.node.args[:1] if call.name == "functools.partial" else []


def parts_of(name: str) -> frozenset[str]:
    """Return the words of identifiers in lower case: `optimizerG_lr` is optimizer, g, lr."""
    return frozenset(word.lower() for word in _PARTS.findall(name))


def last(name: str) -> str:
    """Return the last part of a qualified name."""
    return name.rpartition(".")[2].rpartition(":")[2]


def uses(program: Program, *roots: str) -> bool:
    """Whether a program imports one of some packages."""
    wanted = tuple(roots)
    for module in program.modules:
        for name in (*module.imported, *module.stars):
            if name.partition(".")[0] in wanted:
                return True
    return False


def uses_framework(program: Program, framework: str) -> bool:
    """Whether a program imports a package of a framework, or calls a function of one."""
    return uses(program, *packages_of(framework)) or any(
        framework_of_name(name) == framework for name, _ in calls_of(program)
    )


@overload
def value_of(node: ast.expr, module: Module) -> Value: ...
@overload
def value_of(node: ast.expr | None, module: Module) -> Value | None: ...
def value_of(node: ast.expr | None, module: Module) -> Value | None:
    """Return the value of an expression that may stand in another module of the program."""
    return None if node is None else evaluate(node, module.owner_of(node))


def text_value(value: Value | None) -> str:
    """Return a value that is certainly a string or a qualified name; empty if it is neither."""
    match value:
        case Known(value=str(text)):
            return text
        case Symbol(name=name):
            return last(name)
        case Unknown(default=str(text), has_default=True):
            return text
    return ""


def plain(value: Value | None) -> object:
    """Return the content of a value that is known or has a default; None if there is none."""
    match value:
        case Known(value=content):
            return content
        case Unknown(default=content, has_default=True):
            return content
    return None


def fixed(value: Value | None) -> object:
    """Return the content of a known value that no flag decides; None if there is none."""
    match value:
        case Known(value=content, flag=""):
            return content
    return None


def target_of(call: ast.Call, module: Module) -> str:
    """Return the variable that a call is assigned to: `self.optimizer`; empty if none."""
    child: ast.AST = call
    here = module.parent(call)
    while not isinstance(here, ast.stmt | None):
        if isinstance(here, ast.Call) and child is here.func:
            return ""
        if isinstance(here, ast.Lambda | ast.Dict | ast.comprehension):
            return ""
        child, here = here, module.parent(here)
    if isinstance(here, ast.Assign) and len(here.targets) == 1:
        return module.text(here.targets[0])
    if isinstance(here, ast.AnnAssign):
        return module.text(here.target)
    if isinstance(here, ast.Return):
        function = module.function_of(call)
        return function.name if function is not None else ""
    return ""


def unwrapped(value: Value | None) -> Value | None:
    """Return the number in `tf.constant(1e-3)`, `tf.cast(rate, tf.float32)`, `float(rate)`."""
    for _ in range(4):
        match value:
            case Instance(made_by=name, call=Call() as call) if last(name) in _WRAPPERS:
                named = {keyword.arg: keyword.value for keyword in call.node.keywords}
                first = next(iter(call.node.args), None)
                wrapped = named.get("value", named.get("x", named.get("initial_value", first)))
                value = value_of(wrapped, call.module)
    return value


def yes_or_no(value: Value | None) -> Value | None:
    """Return the word for a switch, open if another file or a call says it; None for none."""
    match value:
        case Known(value=bool() as on):
            return replace(value, value="yes" if on else "no")
        case Unknown(default=bool() as on, has_default=True):
            return replace(value, default="yes" if on else "no")
        case Symbol(name=name):
            return Unknown(name, "set in another file", "config")
        case Unknown() | Choice() | Instance():
            return value
    return None


def numeric(value: Value | None) -> Value | None:
    """Return a value if it is a number or unknown, None otherwise.

    A default that is no number says nothing about the number and is dropped.
    """
    match value:
        case Unknown(default=str()):
            return replace(value, default=None, has_default=False)
        case Known(value=bool() | None | str()):
            return None
        case Known(value=int() | float()) | Unknown() | Choice():
            return value
    return None

"""Values of calls: built-in functions, `getattr`, `d.get`, the environment, the program's own."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from crosscast_reading.pysource.evaluation import choices
from crosscast_reading.pysource.evaluation.settings import is_missing_in_settings
from crosscast_reading.pysource.flags import reading
from crosscast_reading.pysource.names.reaching_assignments import condition_of
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.meaning import meanings_of
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.values import builtins
from crosscast_reading.pysource.values.combine import plain, spread
from crosscast_reading.pysource.values.value import Instance, Known, Symbol, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_Answer = TypeVar("_Answer")
_ENVIRONMENT = frozenset({"os.environ.get", "os.getenv", "os.environ.setdefault"})
_KEPT = frozenset({"copy.deepcopy", "copy.copy", "eval", "torch.tensor", "tensorflow.constant"})
_FIELDS = frozenset({"dataclasses.field", "transformers.hf_argparser.HfArg", "pydantic.Field"})


def of_call(node: ast.Call, module: Module) -> Value:
    """Return the value of a call."""
    program = module.program
    text = module.text(node)[:200]
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in ("get", "pop", "setdefault"):
        entry = _get(node, function, module, program)
        if entry is not None:
            return entry
    name = module.resolve(function)
    if name == "getattr" and len(node.args) >= 2:
        return _getattr(node, module, program)
    if name in _ENVIRONMENT and node.args:
        return _environment(node, module, program)
    if builtins.is_function(name) and not node.keywords and _unstarred(node):
        return _builtin(name, node, module)
    if name == "dict" and not node.args:
        return _dict(node, module)
    if name in _KEPT and node.args and name != "eval":
        return evaluate(node.args[0], module)
    if name in _FIELDS or name.endswith("pydantic.fields.Field"):
        return _field(node, module)
    if isinstance(function, ast.Attribute) and builtins.is_method(function.attr):
        base = evaluate(function.value, module)
        if isinstance(base, Known) and isinstance(base.value, str) and not node.keywords:
            method = function.attr
            values = [base, *(evaluate(a, module) for a in node.args)]
            return spread(text, values, lambda a, *b: builtins.method(a, method, b))
    return _own(node, module, program, text, name)


def _unstarred(node: ast.Call) -> bool:
    return not any(isinstance(a, ast.Starred) for a in node.args)


def _builtin(name: str, node: ast.Call, module: Module) -> Value:
    values = [evaluate(a, module) for a in node.args]
    value = spread(module.text(node), values, lambda *parts: builtins.call(name, parts))
    if name in builtins.CONVERSIONS and len(values) == 1:
        argument = values[0]
        if isinstance(value, Known) and isinstance(argument, Known):
            return Known(value.value, argument.origin, argument.flag)
        if isinstance(value, Unknown) and isinstance(argument, Unknown):
            return Unknown(
                value.text,
                argument.reason,
                argument.origin,
                value.default,
                value.has_default,
                argument.names,
            )
    return value


def _dict(node: ast.Call, module: Module) -> Value:
    entries: dict[object, object] = {}
    for keyword in node.keywords:
        value = evaluate(keyword.value, module)
        if keyword.arg is not None:
            entries[keyword.arg] = plain(value)
        elif isinstance(value, Known) and isinstance(value.value, dict):
            entries.update(value.value)
        else:
            return Unknown(module.text(node)[:200], "it holds parts that are not known")
    return Known(entries)


def _field(node: ast.Call, module: Module) -> Value:
    """Return the default that `dataclasses.field(...)` gives."""
    for keyword in node.keywords:
        if keyword.arg == "default":
            return evaluate(keyword.value, module)
        if keyword.arg == "default_factory":
            if isinstance(keyword.value, ast.Lambda):
                return evaluate(keyword.value.body, module)
            name = module.resolve(keyword.value)
            if name in ("list", "dict", "tuple"):
                return Known({"list": [], "dict": {}, "tuple": ()}[name])
            return Unknown(module.text(keyword.value), "it is made when the program runs")
    if node.args and not isinstance(node.args[0], ast.Starred):
        return evaluate(node.args[0], module)
    return Unknown(module.text(node)[:200], "a field without a default")


def _environment(node: ast.Call, module: Module, program: Program) -> Value:
    key = evaluate(node.args[0], module)
    text = module.text(node)[:200]
    if not isinstance(key, Known) or not isinstance(key.value, str):
        return Unknown(text, "a variable of the environment", "shell_variable")
    default = evaluate(node.args[1], module) if len(node.args) > 1 else None
    return reading.environment(key.value, text, default, program)


def _getattr(node: ast.Call, module: Module, program: Program) -> Value:
    key = evaluate(node.args[1], module)
    text = module.text(node)[:200]
    if isinstance(key, Known) and isinstance(key.value, str) and key.value.isidentifier():
        part = ast.Attribute(value=node.args[0], attr=key.value, ctx=ast.Load())
        value = _stand_in(part, node, module, evaluate)
        if not isinstance(value, Unknown) or value.has_default or value.origin == "flag":
            return value
    if len(node.args) > 2:
        default = evaluate(node.args[2], module)
        if isinstance(default, Known):
            reason = "an attribute that may not be there"
            return Unknown(text, reason, "derived", default.value, True, names=(text,))
    return Unknown(text, "an attribute whose name only a run can tell")


def _stand_in(
    part: ast.Attribute | ast.Subscript,
    node: ast.Call,
    module: Module,
    ask: Callable[[ast.expr, Module], _Answer],
) -> _Answer:
    """Ask something of an expression that a call stands for; it gets the place of the call."""
    ast.copy_location(part, node)
    module.parents[part] = node
    try:
        return ask(part, module)
    finally:
        del module.parents[part]


def _get(node: ast.Call, function: ast.Attribute, module: Module, program: Program) -> Value | None:
    """Return the value of `d.get(key, default)`; None if `d` may be no container."""
    if not node.args or module.resolve(function) in _ENVIRONMENT:
        return None
    key = evaluate(node.args[0], module)
    if not isinstance(key, Known) or not isinstance(key.value, str | int):
        return None
    part = ast.Subscript(value=function.value, slice=ast.Constant(key.value), ctx=ast.Load())
    value = _stand_in(part, node, module, evaluate)
    if not isinstance(value, Unknown) or value.has_default:
        return value
    base = evaluate(function.value, module)
    default = evaluate(node.args[1], module) if len(node.args) > 1 else Known(None)
    is_missing = _stand_in(part, node, module, is_missing_in_settings)
    if is_missing is not None:
        return default if is_missing else value
    if isinstance(base, Known) and isinstance(base.value, dict):
        return default
    if isinstance(default, Known) and len(node.args) > 1:
        text = module.text(node)[:200]
        reason = "an entry that nothing in the files given writes"
        return Unknown(text, reason, "config", default.value, True, names=(text,))
    return value


def _own(node: ast.Call, module: Module, program: Program, text: str, name: str) -> Value:
    """Return the value that a function of the program gives, or the instance that a call makes."""
    callee = program.function_named(name) if ":" in name else None
    if callee is not None:
        value = _returned(callee[0], callee[1], text)
        if value is not None:
            return value
    for meaning in meanings_of(node, module):
        if meaning.kind == "instance":
            made = (
                meaning.module.call(meaning.call)
                if meaning.call is not None and meaning.module
                else None
            )
            return Instance(meaning.name, made)
        if meaning.kind == "symbol":
            return Symbol(meaning.name)
    what = f"the result of a call of {name or module.text(node.func)[:100]}"
    return Unknown(text, what, names=())


def _returned(module: Module, function: ast.AST, text: str) -> Value | None:
    scope = module.scopes.get(function)
    if scope is None or scope.generator or not scope.returns:
        return None
    options: list[choices.Option] = []
    for statement in scope.returns:
        if statement.value is None:
            return None
        condition = condition_of(Binding("assign", statement, scope), None, module)
        value = evaluate(statement.value, module)
        test, holds = condition if condition is not None else (None, True)
        if test is not None:
            decided = choices.certain_truth(test, module)
            if decided is not None and decided != holds:
                continue
            if decided is not None:
                test = None
        options.append((test, holds, value))
        if test is None:
            break
    if not options:
        return Unknown(text, "no condition lets it return")
    if len(options) == 1 and isinstance(options[0][2], Unknown):
        inner = options[0][2]
        if not inner.has_default and inner.origin == "derived" and not inner.names:
            return None
    return choices.choice(options, module)

"""Track the namespace of parsed flags and find entries that are never read."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.packages import is_of_framework
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.trainstep.frames.object_kinds import is_model_name

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Binding

NAMES = frozenset({"args", "opt", "opts", "options", "arguments", "hparams", "flags"})
"""What namespaces of flags are called."""
_PARSES = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args"})
_TELLS = re.compile(r"log|print|writer|wandb|track|dump|mlflow|summary|tensorboard|\btb\b", re.I)
"""Calls that only display their arguments."""
_WRITES = re.compile(rf"{_TELLS.pattern}|json|yaml|save", re.I)
"""Calls that only display a dictionary, or write it to a file."""
_HARMLESS = frozenset({"str", "repr", "print", "type", "isinstance", "id", "len", "format"})
_STEPS = frozenset({"step", "zero_grad", "clear_grad", "minimize", "apply_gradients", "set_lr"})
_COPIES = frozenset({"copy.copy", "copy.deepcopy", "deepcopy", "copy"})


@dataclass(slots=True)
class Use:
    """Uses of a program's flags."""

    read: set[str] = field(default_factory=set)
    """Names of flags that are read."""
    escapes: list[str] = field(default_factory=list)
    """Calls outside of the given files that receive the whole namespace, as text."""


def use_of(program: Program, without: Collection[Module] = ()) -> Use:
    """Return the uses of the namespaces of a program's flags.

    Args:
        program: the program.
        without: modules whose uses are left out.
    """
    use = Use()
    bound = {name for module in program.modules for name in _bound(module)}
    names = bound | (NAMES - _optimizers(program))
    names |= _parameters(program, names)
    for module in program.modules:
        for node in module.parents if module not in without else ():
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                if not _of_library(node, module):
                    use.read.add(node.attr)
            elif isinstance(node, ast.Call):
                _by_text(node, module, use)
            if _is_namespace(node, names) and not _is_other(node, module):
                _follow(node, module, program, use)
    return use


def _bound(module: Module) -> Iterator[str]:
    """Yield the names assigned from results of parsers."""
    for call in module.calls:
        if call.method in _PARSES:
            statement = module.statement_of(call.node)
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            for target in targets:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                if isinstance(parts[0], ast.Name):
                    yield parts[0].id
                elif isinstance(parts[0], ast.Attribute):
                    yield parts[0].attr


def _optimizers(program: Program) -> set[str]:
    """Return the names that a program uses as optimizers: `opt` of `opt.step()`."""
    return {
        call.node.func.value.id
        for module in program.modules
        for call in module.calls
        if call.method in _STEPS
        and isinstance(call.node.func, ast.Attribute)
        and isinstance(call.node.func.value, ast.Name)
    }


def _parameters(program: Program, names: set[str]) -> set[str]:
    """Return the parameters of the program's functions that receive a namespace."""
    receivers: set[str] = set()
    for module in program.modules:
        for call in module.calls:
            given = program.function(call) or program.constructor(call)
            if given is None:
                continue
            parameters = [
                parameter.arg for parameter in (*given[1].args.posonlyargs, *given[1].args.args)
            ]
            if parameters[:1] in (["self"], ["cls"]):
                parameters = parameters[1:]
            for argument, parameter in zip(call.node.args, parameters, strict=False):
                if _is_namespace(argument, names):
                    receivers.add(parameter)
            for keyword in call.node.keywords:
                if keyword.arg and _is_namespace(keyword.value, names):
                    receivers.add(keyword.arg)
    return receivers


def _is_namespace(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Load) and node.id in names
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return False
    return node.attr in names and isinstance(node.value, ast.Name) and node.value.id not in names


def _is_other(node: ast.AST, module: Module) -> bool:
    """Whether a variable only shares its name with a namespace.

    `args = tf.range(8) * x`; a parameter of a method that no call of the program gives.
    """
    if not isinstance(node, ast.Name):
        return False
    bindings = definitions(node, module)
    return bool(bindings) and all(
        _is_left_out(binding) if binding.kind == "parameter" else _is_array(binding.value, module)
        for binding in bindings
    )


def _is_array(value: ast.expr | None, module: Module) -> bool:
    if isinstance(value, ast.BinOp):
        return _is_array(value.left, module) or _is_array(value.right, module)
    name = module.resolve(value.func) if isinstance(value, ast.Call) else ""
    return is_of_framework(name) or name.startswith("numpy.")


def _is_left_out(binding: Binding) -> bool:
    """Whether it is such a parameter of a method, which may override one of a library."""
    function, name = binding.scope.node, getattr(binding.node, "arg", "")
    program = binding.module.program
    if not isinstance(function, ast.FunctionDef):
        return False
    if binding.module.class_of(function) is None:
        return False
    arguments = function.args
    optional = [a.arg for a in arguments.args[len(arguments.args) - len(arguments.defaults) :]]
    return name in optional and not program.arguments_for(binding)


def _of_library(node: ast.expr, module: Module) -> bool:
    """Whether an attribute belongs to a library: `torch.cuda.amp` does not read a flag `amp`."""
    base: ast.expr = node
    while isinstance(base, ast.Attribute):
        base = base.value
    if not isinstance(base, ast.Name):
        return False
    target = module.imports.get(base.id, "")
    homes = [name for name in (target, target.rpartition(".")[0]) if name]
    if any(module.program.find_module(name, module) is not None for name in homes):
        return False  # the namespace of another file
    return bool(target) and ":" not in module.resolve(node)


def _by_text(node: ast.Call, module: Module, use: Use) -> None:
    """Record `getattr(args, "x")` and `hasattr(args, "x")`."""
    function = node.func
    if isinstance(function, ast.Name) and function.id in ("getattr", "hasattr"):
        if len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            use.read.add(str(node.args[1].value))
        elif len(node.args) > 1 and not _of_library(node.args[0], module):
            use.escapes.append("getattr")


def _follow(node: ast.AST, module: Module, program: Program, use: Use) -> None:
    """Record one use of a namespace."""
    parent = module.parent(node)
    if isinstance(parent, ast.keyword):
        if parent.arg is None:
            use.escapes.append("**")
            return
        parent = module.parent(parent)
    if isinstance(parent, ast.Dict) and _is_saved(parent, module):
        return
    if isinstance(parent, ast.Starred | ast.Dict | ast.List | ast.Set | ast.Yield):
        use.escapes.append(module.text(parent)[:80])
    elif isinstance(parent, ast.Subscript) and parent.value is node:
        key = parent.slice
        if isinstance(key, ast.Constant):
            use.read.add(str(key.value))
        else:
            use.escapes.append(module.text(parent)[:80])
    elif isinstance(parent, ast.Call) and node is not parent.func:
        _handed(parent, module, program, use)


def _handed(call: ast.Call, module: Module, program: Program, use: Use) -> None:
    record = module.call(call)
    name = module.text(call.func)
    if record.name == "vars" or name == "vars":
        if not is_only_displayed(call, module):
            use.escapes.append("vars")
        return
    if name in ("getattr", "hasattr", "setattr", "delattr") or name in _HARMLESS:
        return
    if record.name in _COPIES or name in _COPIES or record.method in _PARSES:
        return
    if program.function(record) is not None or program.constructor(record) is not None:
        return
    if not _TELLS.search(name):
        use.escapes.append(f"{_made(call, module)}{name}")


def _made(call: ast.Call, module: Module) -> str:
    """Return `model = ` for `model = build(args)`: what it makes tells what a call reads."""
    match module.parent(call):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
            return f"{name} = " if is_model_name(name) else ""
    return ""


def _is_saved(node: ast.Dict, module: Module) -> bool:
    """Whether a dictionary is only displayed or saved: `torch.save({"args": args}, file)`."""
    around = module.parent(node)
    return isinstance(around, ast.Call) and bool(_WRITES.search(module.text(around.func)))


def is_only_displayed(call: ast.Call, module: Module) -> bool:
    """Whether `vars(args)` is only displayed: in a displaying call, or a loop of such calls."""
    here: ast.AST | None = module.parent(call)
    while here is not None and not isinstance(here, ast.stmt):
        if isinstance(here, ast.Call) and _WRITES.search(module.text(here.func)):
            return True
        here = module.parent(here)
    return isinstance(here, ast.For) and all(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and bool(_TELLS.search(module.text(node.value.func)))
        for node in here.body
    )

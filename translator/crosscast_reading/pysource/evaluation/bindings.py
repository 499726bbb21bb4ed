"""Values that single assignments give: of imports, parameters, parts of tuples, `+=`.

The value of a parameter may be the one that gin binds to it.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.pysource.evaluation.choices import Option, choice
from crosscast_reading.pysource.flags import reading as flags
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.names.reaching_assignments import condition_of
from crosscast_reading.pysource.names.resolution import imported, meanings_of_binding
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values import arithmetic
from crosscast_reading.pysource.values.arithmetic import NUMBERS
from crosscast_reading.pysource.values.combine import names_of, same, spread
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Symbol, Unknown, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_DECORATORS = ("gin.configurable", "gin.tf.configurable", "gin.config.configurable")

_CALLED = "it changes with every call of its method"


def of_binding(binding: Binding) -> Value:
    """Return the value that an assignment gives."""
    module, program = binding.module, binding.module.program
    if binding.kind == "import":
        return _imported(binding, module, program)
    if binding.kind in ("function", "class"):
        return Symbol(f"{module.source.name}:{module.qualname(binding.node)}")
    if binding.kind == "parameter" and isinstance(binding.node, ast.arg):
        return _parameter(binding, binding.node, module, program)
    if binding.value is None:
        return Unknown(module.text(binding.node)[:200], "it gets no value that can be read")
    if binding.kind == "loop":
        return Unknown(module.text(binding.node)[:200], "it changes in every round of a loop")
    if binding.kind == "augment":
        return _augmented(binding, module)
    if _carried(binding, module):
        return Unknown(module.text(binding.node)[:200], "it changes in every round of a loop")
    if any(_builds_on_itself(binding, part, module) for part in walk(binding.value)):
        return Unknown(module.text(binding.node)[:200], _CALLED)
    if (field := _field_to_set(binding)) is not None:
        return field
    value = evaluate(binding.value, module)
    for place in binding.path:
        value = _element(value, place, binding, module)
    return value


def _field_to_set(binding: Binding) -> Unknown | None:
    """Return `limit: float = None` of a dataclass: None is no float, whoever makes it sets it."""
    node, owner = binding.node, binding.scope.node
    if not isinstance(node, ast.AnnAssign) or not isinstance(owner, ast.ClassDef):
        return None
    match node:
        case ast.AnnAssign(
            target=ast.Name(id=name),
            annotation=ast.Name(id="int" | "float" | "bool" | "str"),
            value=ast.Constant(value=None),
        ) if any("dataclass" in ast.unparse(one) for one in owner.decorator_list):
            return Unknown(
                name, f"a field of {owner.name} without a value", "config", names=(name,)
            )
    return None


def _element(value: Value, place: int, binding: Binding, module: Module) -> Value:
    listed = value.value if isinstance(value, Known) else None
    if isinstance(listed, tuple | list) and isinstance(value, Known) and place < len(listed):
        part = listed[place]
        if isinstance(part, Symbol | Unknown | Choice | Instance):
            return part
        return Known(part, value.origin, value.flag)
    for meaning in meanings_of_binding(binding, module.program):
        if meaning.kind == "instance" and meaning.call is not None and meaning.module is not None:
            return Instance(meaning.name, meaning.module.call(meaning.call))
    assert binding.value is not None
    return Unknown(module.text(binding.value)[:200], f"part {place + 1} of what it returns")


def _imported(import_: Binding, module: Module, program: Program) -> Value:
    bindings = program.global_bindings(import_.target, module)
    if bindings:
        options: list[Option] = []
        for binding in bindings:
            condition = condition_of(binding, None, binding.module)
            test, holds = condition if condition else (None, True)
            options.append((test, holds, of_binding(binding)))
        value = choice(options, bindings[0].module)
        if isinstance(value, Known) and value.origin == "literal":
            return Known(value.value, "constant", value.flag)
        return value
    for meaning in imported(import_.target, module, program):
        number = NUMBERS.get(meaning.name)
        return Known(number, "constant") if number is not None else Symbol(meaning.name)
    return Unknown(import_.target, "it is imported from a file that is not given")


def _augmented(binding: Binding, module: Module) -> Value:
    node = binding.node
    assert isinstance(node, ast.AugAssign)
    text = module.text(node)
    if _in_loop(binding, module):
        return Unknown(text[:200], "it changes in every round of a loop")
    if _builds_on_itself(binding, node.target, module):
        return Unknown(text[:200], _CALLED)
    before = evaluate(node.target, module)
    kind = type(node.op)
    values = [before, evaluate(node.value, module)]
    return spread(text, values, lambda a, b: arithmetic.binary(kind, a, b))


def _carried(binding: Binding, module: Module) -> bool:
    """Whether an assignment in a loop uses what it assigned in the round before."""
    target = binding.node.targets[0] if isinstance(binding.node, ast.Assign) else None
    if not isinstance(target, ast.Name | ast.Attribute) or not _in_loop(binding, module):
        return False
    text = module.text(target)
    assert binding.value is not None
    return any(isinstance(n, type(target)) and module.text(n) == text for n in walk(binding.value))


def _builds_on_itself(binding: Binding, part: ast.AST, module: Module) -> bool:
    """Whether a part of what an assignment gives `self.x` is `self.x` of the call before."""
    match binding.node, part:
        case (
            ast.AugAssign(target=ast.Attribute() as target)
            | ast.Assign(targets=[ast.Attribute() as target]),
            ast.Attribute(),
        ) if module.text(part) == module.text(target):
            return any(read.node is binding.node for read in definitions(part, module))
    return False


def _in_loop(binding: Binding, module: Module) -> bool:
    here = module.parents.get(binding.node)
    while here is not None and here is not binding.scope.node:
        if isinstance(here, ast.For | ast.While | ast.AsyncFor):
            return True
        here = module.parents.get(here)
    return False


def _parameter(binding: Binding, node: ast.arg, module: Module, program: Program) -> Value:
    for itself in own_instance(binding):
        return itself
    flag = flags.flag_of_parameter(binding, program)
    if flag is not None:
        return flags.value_of(flag, node.arg)
    default = default_of(binding)
    given = program.arguments_for(binding)
    scope = binding.scope
    sites: tuple[object, ...] = ()
    if isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef):
        sites = program.call_sites(module, scope.node)
    if given and len(given) == len(sites):
        values = [evaluate(n, m) for n, m in given]
        if len(values) == 1 or (isinstance(values[0], Known) and same(values)):
            return values[0]
    standard = evaluate(default, module) if default is not None else None
    if not given and (by_gin := _configured(binding, standard, program)) is not None:
        return by_gin
    if len(sites) == 1 and not given and isinstance(standard, Known) and not _starred(sites[0]):
        plain = standard.origin in ("literal", "constant")
        return replace(standard, origin="function_argument") if plain else standard
    owner = scope.qualname or "a function without a name"
    reason = f"an argument of {owner}"
    if sites and not given and all(map(_starred, sites)):
        reason += ", which its calls may give among starred ones"
    elif isinstance(standard, Known):
        return Unknown(
            node.arg, reason, "function_argument", standard.value, True, names=(node.arg,)
        )
    names = names_of([standard]) if standard is not None else (node.arg,)
    return Unknown(node.arg, reason, "function_argument", names=names or (node.arg,))


def _starred(site: object) -> bool:
    return bool(getattr(site, "has_star", True))


def own_instance(binding: Binding) -> Sequence[Value]:
    """Return the instance that `self` is."""
    scope = binding.scope
    owner = scope.parent if scope.is_function and scope.self_name else None
    if owner is None or not owner.is_class or not isinstance(binding.node, ast.arg):
        return ()
    if binding.node.arg != scope.self_name:
        return ()
    return (Instance(f"{binding.module.source.name}:{owner.qualname}", None),)


def default_of(binding: Binding) -> ast.expr | None:
    """Return the default of a parameter."""
    node = binding.scope.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return None
    args = node.args
    names = [*args.posonlyargs, *args.args]
    for arg, default in zip(reversed(names), reversed(args.defaults), strict=False):
        if arg is binding.node:
            return default
    for arg, given in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if arg is binding.node:
            return given
    return None


def _configured(binding: Binding, default: Value | None, program: Program) -> Value | None:
    """Return the value of a parameter that no call gives; None if gin does not configure it.

    Args:
        binding: of the parameter.
        default: the value of its default.
        program: with the bindings of the files given.
    """
    name = _configurable(binding)
    if not name or not isinstance(binding.node, ast.arg):
        return None
    key = f"{name}.{binding.node.arg}"
    bound = program.settings.get(key)
    if isinstance(bound, Known):
        return Known(bound.value, "config", key)
    if bound is not None:
        return bound
    if isinstance(default, Known):
        return Known(default.value, "config", key)
    return Unknown(key, f"gin sets {key}", "config", names=(key,))


def _configurable(binding: Binding) -> str:
    """Return the name by which gin knows the function of a parameter; empty if it does not."""
    scope, module = binding.scope, binding.module
    node = scope.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    owner = scope.parent
    if node.name == "__init__" and owner is not None and isinstance(owner.node, ast.ClassDef):
        return _named(owner.node, module)
    return _named(node, module)


def _named(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, module: Module) -> str:
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if module.resolve(call.func if call is not None else decorator) not in _DECORATORS:
            continue
        given = [*call.args[:1]] if call is not None else []
        given += [k.value for k in call.keywords if k.arg == "name"] if call is not None else []
        if given and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str):
            return given[0].value.rpartition(".")[2]
        return node.name
    return ""

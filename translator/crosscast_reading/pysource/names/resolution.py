"""What the names of a program mean: followed through imports, assignments, classes and calls."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from crosscast_reading.pysource.libraries import public_names
from crosscast_reading.pysource.libraries.packages import USUAL_NAMES
from crosscast_reading.pysource.names.containers import assigned_paths, chase, entries_of
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.names.reaching_assignments import reaching
from crosscast_reading.pysource.names.return_values import part_sources, results_of
from crosscast_reading.pysource.names.star_imports import is_of_another, rebound
from crosscast_reading.pysource.programs.meaning import Meaning, meanings_of
from crosscast_reading.pysource.programs.scopes import Binding, Scope

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_BUILTINS = frozenset(dir(builtins))


def look_up(node: ast.expr, module: Module) -> tuple[Meaning, ...]:
    """Return everything that an expression can be, without using the cache."""
    return tuple(dict.fromkeys(_meanings(node, module, module.program)))


def _meanings(node: ast.expr, module: Module, program: Program) -> Iterator[Meaning]:
    kind = node.__class__
    if kind is ast.Name:
        assert isinstance(node, ast.Name)
        yield from _of_name(node, module, program)
    elif kind is ast.Attribute:
        assert isinstance(node, ast.Attribute)
        yield from _of_attribute(node, module, program)
    elif kind is ast.Call:
        assert isinstance(node, ast.Call)
        yield from results_of(node, module, program)
    elif isinstance(node, ast.Subscript):
        for binding in entries_of(node, module):
            yield from meanings_of_binding(binding, program)
    elif isinstance(node, ast.IfExp):
        yield from meanings_of(node.body, module)
        yield from meanings_of(node.orelse, module)
    elif isinstance(node, ast.BoolOp):
        for part in node.values:
            yield from meanings_of(part, module)
    elif isinstance(node, ast.NamedExpr | ast.Await | ast.Starred):
        yield from meanings_of(node.value, module)


def _of_name(node: ast.Name, module: Module, program: Program) -> Iterator[Meaning]:
    bindings = bindings_of(node.id, node, module)
    for binding in bindings:
        yield from meanings_of_binding(binding, program)
    if not bindings:
        star = list(_from_stars(node.id, module, program))
        if star:
            yield from star
        elif node.id in _BUILTINS:
            yield Meaning(node.id)


def _from_stars(name: str, module: Module, program: Program) -> Iterator[Meaning]:
    is_bound = missing = False
    for star in module.stars:
        other = program.find_module(star, module)
        if other is not None:
            if name in other.scope.bindings:
                is_bound = True
                yield from members(other, name, program)
        elif f"{star}.{name}" in program.known_names:
            is_bound = True
            yield Meaning(public_names.public_name(f"{star}.{name}"))
        elif star.partition(".")[0] not in public_names.INSTALLED:
            missing = missing or not is_of_another(star, USUAL_NAMES.get(name, ""))
    if missing and not is_bound and name in USUAL_NAMES:
        yield Meaning(USUAL_NAMES[name])


def meanings_of_binding(binding: Binding, program: Program) -> Iterator[Meaning]:
    """Yield the meanings of a name after one assignment."""
    module = binding.module
    kind = binding.kind
    if kind == "import":
        yield from imported(binding.target, module, program)
    elif kind in ("function", "class"):
        yield Meaning(f"{module.source.name}:{module.qualname(binding.node)}")
    elif kind in ("assign", "with") and binding.value is not None:
        if not binding.path:
            yield from _of_factory(binding, module) or meanings_of(binding.value, module)
        else:
            yield from part_of(binding.value, binding.path, module, program)
    elif kind == "declare" and isinstance(binding.node, ast.AnnAssign):
        yield from _annotation(binding.node.annotation, module)
    elif kind == "parameter" and isinstance(binding.node, ast.arg):
        yield from _of_parameter(binding, binding.node, program)
    elif kind == "loop" and binding.value is not None:
        yield from _of_loop(binding.value, binding.path, module)


def _of_factory(binding: Binding, module: Module) -> tuple[Meaning, ...]:
    """Return the meanings of a field `part: Part = field(default_factory=...)` of a dataclass."""
    call = binding.value
    if not isinstance(binding.node, ast.AnnAssign) or not isinstance(call, ast.Call):
        return ()
    made = next((k.value for k in call.keywords if k.arg == "default_factory"), None)
    if made is None:
        return ()
    if isinstance(made, ast.Lambda):
        return tuple(meanings_of(made.body, module))
    return tuple(_annotation(binding.node.annotation, module))


def _of_loop(value: ast.expr, path: tuple[int, ...], module: Module) -> Iterator[Meaning]:
    """Yield the meanings of elements of a list that a loop runs over, `enumerate` and `zip` too."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and path:
        word, given = value.func.id, value.args
        if word == "enumerate" and path[0] == 1 and given:
            value, path = given[0], path[1:]
        elif word == "zip" and path[0] < len(given):
            value, path = given[path[0]], path[1:]
    if path:
        return
    for source, where in chase(value, module):
        if isinstance(source, ast.List | ast.Tuple):
            for element in source.elts[:16]:
                yield from meanings_of(element, where)
        elif isinstance(source, ast.ListComp):
            yield from meanings_of(source.elt, where)


def part_of(
    value: ast.expr, path: tuple[int, ...], module: Module, program: Program
) -> Iterator[Meaning]:
    """Yield the meanings of a part of a tuple: `b` of `a, b = value` has the path (1,)."""
    if isinstance(value, ast.Tuple | ast.List):
        before = value.elts[: path[0] + 1]
        if len(before) > path[0] and not any(isinstance(e, ast.Starred) for e in before):
            rest = path[1:]
            part = value.elts[path[0]]
            yield from part_of(part, rest, module, program) if rest else meanings_of(part, module)
    elif isinstance(value, ast.Call):
        handed = list(part_sources(value, module, program, path[0]))
        for source in handed:
            rest = path[1:]
            yield from (
                part_of(source, rest, module, program) if rest else meanings_of(source, module)
            )
        if not handed and len(path) == 1:
            yield from results_of(value, module, program, path[0])
    elif isinstance(value, ast.ListComp) and len(path) == 1:
        yield from meanings_of(value.elt, module)
    elif isinstance(value, ast.IfExp):
        for branch in (value.body, value.orelse):
            yield from part_of(branch, path, module, program)
    elif isinstance(value, ast.Name | ast.Attribute | ast.Subscript):
        for source, where in chase(value, module):
            if isinstance(source, ast.Tuple | ast.List | ast.Call):
                yield from part_of(source, path, where, program)


def _annotation(node: ast.expr, module: Module) -> Iterator[Meaning]:
    if isinstance(node, ast.Name | ast.Attribute):
        for meaning in meanings_of(node, module):
            if meaning.kind == "symbol" and meaning.name not in _BUILTINS:
                yield Meaning(meaning.name, "instance")


def _of_parameter(binding: Binding, node: ast.arg, program: Program) -> Iterator[Meaning]:
    module, scope = binding.module, binding.scope
    if scope.is_function and scope.parent is not None and scope.parent.is_class:
        owner = f"{module.source.name}:{scope.parent.qualname}"
        if node.arg == scope.self_name:
            yield Meaning(owner, "instance")
            return
        if node.arg == "cls" and _is_first(scope, node):
            yield Meaning(owner)
            return
    sites = [meanings_of(given, where) for given, where in program.arguments_for(binding)]
    sites = [meanings for meanings in sites if meanings]
    if not sites and node.annotation is not None:
        sites = [tuple(_annotation(node.annotation, module))]
    if len({frozenset(m.name for m in site) for site in sites}) == 1:
        yield from sites[0]


def _is_first(scope: Scope, node: ast.arg) -> bool:
    args = scope.node.args if isinstance(scope.node, ast.FunctionDef) else None
    return args is not None and (args.posonlyargs + args.args)[:1] == [node]


def imported(target: str, module: Module, program: Program) -> Iterator[Meaning]:
    """Yield the meanings that an import brings: of the program, or of a library."""
    other = program.find_module(target, module)
    if other is not None and not (other is module and not target.startswith(".")):
        yield Meaning(other.source.name, "module", module=other)
        return
    base, _, name = target.rpartition(".")
    if target.startswith(".") and (base == "" or base.strip(".") == ""):
        base = target[: len(target) - len(name)]
    if base:
        holder = program.find_module(base, module)
        if holder is not None and holder is not module:
            yield from members(holder, name, program)
            return
    if not target.startswith("."):
        yield Meaning(public_names.public_name(target))


def members(module: Module, name: str, program: Program) -> Iterator[Meaning]:
    """Yield the meanings of a global name of a module of the program."""
    bindings = module.scope.bindings.get(name)
    if bindings:
        for binding in rebound(reaching(bindings, None, module), name, None, module):
            yield from meanings_of_binding(binding, program)
    elif module.stars:
        yield from _from_stars(name, module, program)


def _of_attribute(node: ast.Attribute, module: Module, program: Program) -> Iterator[Meaning]:
    paths = assigned_paths(node, module)
    known = False
    for binding in paths:
        for meaning in meanings_of_binding(binding, program):
            known = True
            yield meaning
    if known:
        return
    for base in meanings_of(node.value, module):
        yield from attribute_of(base, node.attr, program, node)


def attribute_of(
    base: Meaning, name: str, program: Program, use: ast.AST | None = None
) -> Iterator[Meaning]:
    """Yield the meanings of an attribute of something."""
    if base.kind == "module" and base.module is not None:
        yield from members(base.module, name, program)
        return
    kind: Literal["symbol", "member"] = "symbol" if base.kind == "symbol" else "member"
    if ":" not in base.name:
        yield Meaning(public_names.public_name(f"{base.name}.{name}"), kind)
        return
    owner = program.class_named(base.name)
    if owner is None:
        yield Meaning(f"{base.name}.{name}", kind)
        return
    known = False
    for binding in program.attribute_bindings(owner, name, use):
        if binding.kind == "function":
            known = True
            yield Meaning(f"{binding.module.source.name}:{binding.module.qualname(binding.node)}")
            continue
        for meaning in meanings_of_binding(binding, program):
            known = True
            yield meaning
    if not known:
        library = program.library_base(owner)
        if library and not program.has_attribute(owner, name):
            yield Meaning(f"{library}.{name}", kind)
        elif not program.has_attribute(owner, name):
            yield Meaning(f"{base.name}.{name}", kind)

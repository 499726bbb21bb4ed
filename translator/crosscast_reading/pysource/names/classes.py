"""Classes of a program: bases, attributes, fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.reaching_assignments import reaching
from crosscast_reading.pysource.programs.meaning import Meaning, meanings_of
from crosscast_reading.pysource.programs.scopes import Binding, Scope

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_MAX_BASES = 12
_BUILDERS = ("__init__", "__post_init__")


def bases(scope: Scope) -> tuple[Meaning, ...]:
    """Return instances of the direct bases of a class."""
    node = scope.node
    if not isinstance(node, ast.ClassDef):
        return ()
    instances: list[Meaning] = []
    for base in node.bases:
        for meaning in meanings_of(base, scope.module):
            if meaning.kind == "symbol":
                instances.append(Meaning(meaning.name, "instance"))
    return tuple(instances)


def lineage(program: Program, scope: Scope) -> Iterator[Scope]:
    """Yield a class and its bases within the program."""
    queue, seen = [scope], {scope}
    while queue and len(seen) < _MAX_BASES:
        here = queue.pop(0)
        yield here
        for base in bases(here):
            above = program.class_named(base.name) if ":" in base.name else None
            if above is not None and above not in seen:
                seen.add(above)
                queue.append(above)


def library_base(program: Program, scope: Scope) -> str:
    """Return the first base that is of a library."""
    for here in lineage(program, scope):
        for base in bases(here):
            if ":" not in base.name and base.name != "object":
                return base.name
    return ""


def attribute_bindings(
    program: Program, scope: Scope, name: str, use: ast.AST | None
) -> Sequence[Binding]:
    """Return the assignments to an attribute; of the nearest class that has it.

    Of each method the ones that hold after it has run; of the method that `use` is in also those
    that hold there, and only those if one of them surely ran.
    """
    for here in lineage(program, scope):
        assignments = here.attributes.get(name)
        if assignments:
            return _of_methods(assignments, here.bindings.get(name, []), use)
        plain = here.bindings.get(name)
        if plain:
            return reaching(plain, None, here.module)
    return ()


def _of_methods(
    assignments: list[Binding], in_class: list[Binding], use: ast.AST | None
) -> Sequence[Binding]:
    module = assignments[0].module
    here = module.scope_of(use) if use is not None and use in module.parents else None
    by_method: dict[Scope, list[Binding]] = {}
    for binding in assignments:
        by_method.setdefault(binding.scope, []).append(binding)
    if here is not None and here in by_method and use is not None:
        seen = [b for b in reaching(by_method[here], use, module) if _ends(b) <= _starts(use)]
        if seen and module.parents.get(_statement(seen[0], module)) is here.node:
            return seen
        left = () if _only_builds(here) else reaching(by_method[here], None, module)
        by_method[here] = list(dict.fromkeys([*seen, *left]))
    held: list[Binding] = []
    for scope, ones in by_method.items():
        held += ones if scope is here else reaching(ones, None, module)
    initial = [b for b in in_class if b.kind == "assign"]
    if initial and not any(b.scope.qualname.endswith("__init__") for b in held):
        held = [*initial, *held]
    return held


def _only_builds(scope: Scope) -> bool:
    """Whether a method runs once for each object: no earlier call of it left anything."""
    if scope.qualname.endswith(_BUILDERS):
        return True
    module, program = scope.module, scope.module.program
    word = scope.qualname.rpartition(".")[2]
    written = [program.modules[m].calls[c] for m, c in program.calls_written(word)]
    around = [module.qualname(f) for f in (c.module.function_of(c.node) for c in written) if f]
    return 0 < len(written) == len([name for name in around if name.endswith(_BUILDERS)])


def _statement(binding: Binding, module: Module) -> ast.AST:
    return module.statement_of(binding.node) or binding.node


def _ends(binding: Binding) -> tuple[int, int]:
    node = binding.node
    return (getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0))


def _starts(node: ast.AST) -> tuple[int, int]:
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


def initializer(scope: Scope) -> tuple[Module, Function] | None:
    """Return the `__init__` of a class or of a base in the program."""
    for here in lineage(scope.module.program, scope):
        for binding in here.bindings.get("__init__", ()):
            if isinstance(binding.node, ast.FunctionDef):
                return here.module, binding.node
    return None


def fields(program: Program, scope: Scope) -> list[str]:
    """Return the annotated names of a class and its bases, in the order of a dataclass."""
    names: dict[str, None] = {}
    for here in reversed(list(lineage(program, scope))):
        for name, ones in here.bindings.items():
            if any(isinstance(b.node, ast.AnnAssign) for b in ones):
                names[name] = None
    return list(names)


def field_given(
    program: Program, scope: Scope, name: str, call: ast.Call, module: Module
) -> Binding | None:
    """Return the argument of a call for a field of a class without `__init__`."""
    if initializer(scope) is not None:
        return None
    given = next((k.value for k in call.keywords if k.arg == name), None)
    if given is None and call.args:
        order = fields(program, scope)
        place = order.index(name) if name in order else len(call.args)
        if place < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args):
            given = call.args[place]
    return Binding("assign", given, module.scope, given) if given is not None else None

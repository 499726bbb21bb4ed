"""What subclasses, callers and `setattr` assign to the attributes of a class of the program."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.classes import field_given, lineage
from crosscast_reading.pysource.programs.meaning import meanings_of
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.scopes import Binding, Scope
from crosscast_reading.pysource.syntax.nodes import identifier

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_ANY = ""
"""Stands for every attribute: `setattr(self, name, value)` in a loop."""
_Write = tuple[ast.expr, Binding]
"""The object whose attribute is assigned, and the assignment."""


def written_elsewhere(node: ast.Attribute, module: Module) -> Sequence[Binding]:
    """Return the assignments to `self.x` or `trainer.x` outside the class and its bases.

    Those are in subclasses (also properties), by callers through the object, with `setattr`, and as
    arguments for a field of a dataclass. Methods that a subclass overrides are not among them.
    """
    bindings: dict[int, Binding] = {}
    for base in meanings_of(node.value, module):
        owner = module.program.class_named(base.name) if ":" in base.name else None
        if owner is not None and (base.call is None or base.kind != "instance"):
            for binding in _of_subclasses(owner, node.attr):
                bindings[id(binding.node)] = binding
        for binding in _through_objects(owner, node.attr) if owner is not None else ():
            if binding.node is not module.statement_of(node):
                bindings[id(binding.node)] = binding
    return tuple(bindings.values())


def _of_subclasses(owner: Scope, name: str) -> Iterator[Binding]:
    program = owner.module.program
    own = list(lineage(program, owner))
    for scope in _derived(program).get(owner, ()):
        for binding in program.attribute_bindings(scope, name, None):
            home = binding.scope if binding.scope.is_class else binding.scope.owner
            if home not in own and binding.kind != "class" and not _is_method(binding):
                yield binding
    if _is_field(owner, name):
        for scope in (owner, *_derived(program).get(owner, ())):
            yield from _field_arguments(program, scope, name)


def _is_field(owner: Scope, name: str) -> bool:
    return any(isinstance(b.node, ast.AnnAssign) for b in owner.bindings.get(name, ()))


def _field_arguments(program: Program, scope: Scope, name: str) -> Iterator[Binding]:
    full = f"{scope.module.source.name}:{scope.qualname}"
    for module_number, call_number in program.calls_written(scope.qualname.rpartition(".")[2]):
        module = program.modules[module_number]
        call = module.calls[call_number]
        if full in call.names:
            given = field_given(program, scope, name, call.node, module)
            if given is not None:
                yield given


def _is_method(binding: Binding) -> bool:
    node = binding.node
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_property(node)


def is_property(node: ast.AST) -> bool:
    """Whether a function is what an attribute is computed by."""
    words = map(identifier, node.decorator_list) if isinstance(node, ast.FunctionDef) else ()
    return any(word.endswith("property") for word in words)


def _through_objects(owner: Scope, name: str) -> Iterator[Binding]:
    program = owner.module.program
    writes = _writes(program)
    family = {*lineage(program, owner), *_derived(program).get(owner, ())}
    for target, binding in (*writes.get(name, ()), *writes.get(_ANY, ())):
        if _is_of(target, binding.module, family):
            yield binding


def _is_of(target: ast.expr, module: Module, family: set[Scope]) -> bool:
    """Whether an expression is, or by its name may be, an object of one of some classes."""
    program = module.program
    meanings = meanings_of(target, module)
    if any(program.class_named(m.name) in family for m in meanings if ":" in m.name):
        return True
    word = identifier(target).replace("_", "").lower()
    return not meanings and len(word) > 3 and any(word in s.qualname.lower() for s in family)


@once
def _derived(program: Program) -> dict[Scope, list[Scope]]:
    """Return the classes that are derived from each class of a program."""
    subclasses: dict[Scope, list[Scope]] = {}
    for module in program.modules:
        for node in module.classes.values():
            scope = module.scopes.get(node)
            for base in lineage(program, scope) if scope is not None else ():
                if scope is not None and base is not scope:
                    subclasses.setdefault(base, []).append(scope)
    return subclasses


@once
def _writes(program: Program) -> dict[str, list[_Write]]:
    """Return the assignments to attributes of objects other than `self`, by the attribute."""
    writes: dict[str, list[_Write]] = {}
    for module in program.modules:
        for node in module.every(ast.Attribute):
            if isinstance(node.ctx, ast.Store) and not _is_self(node.value, module):
                writes.setdefault(node.attr, []).append((node.value, _assignment(node, module)))
        for call in module.every(ast.Call):
            for target, name, value in _set_by(call):
                scope = module.scope_of(call)
                binding = Binding("assign" if value is not None else "other", call, scope, value)
                writes.setdefault(name, []).append((target, binding))
    return writes


def _is_self(node: ast.expr, module: Module) -> bool:
    return isinstance(node, ast.Name) and node.id == module.scope_of(node).self_name


def _assignment(node: ast.Attribute, module: Module) -> Binding:
    scope, statement = module.scope_of(node), module.parent(node)
    match statement:
        case ast.Assign(value=value, targets=targets) if node in targets:
            return Binding("assign", statement, scope, value)
        case ast.AnnAssign(value=ast.expr() as value):
            return Binding("assign", statement, scope, value)
        case ast.AugAssign():
            return Binding("augment", statement, scope, statement.value)
    return Binding("other", node, scope)


def _set_by(call: ast.Call) -> Iterator[tuple[ast.expr, str, ast.expr | None]]:
    """Yield object, attribute and value of `setattr(...)`, `vars(self).update(...)`."""
    match call:
        case ast.Call(func=ast.Name(id="setattr"), args=[target, ast.Constant(value=str(name)), v]):
            yield target, name, v
        case ast.Call(func=ast.Name(id="setattr"), args=[target, _, _]):
            yield target, _ANY, None
        case ast.Call(
            func=ast.Attribute(
                value=ast.Attribute(value=target, attr="__dict__")
                | ast.Call(func=ast.Name(id="vars"), args=[target]),
                attr="update",
            )
        ):
            for keyword in call.keywords:
                yield target, keyword.arg or _ANY, keyword.value if keyword.arg else None
            if call.args:
                yield target, _ANY, None

"""Resolve `config["optim"]["lr"]`, `cfg.TRAIN.LR` and attributes of instances."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.attribute_writes import written_elsewhere
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.names.reaching_assignments import reaching
from crosscast_reading.pysource.names.star_imports import rebound
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.meaning import meanings_of
from crosscast_reading.pysource.programs.scopes import Binding, Path, path_of
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.pysource.values.value import Known

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_SAME = frozenset({"clone", "copy", "deepcopy", "defrost", "unlock", "to_dict"})
_MAKERS = frozenset(
    {
        *("dict", "simplenamespace", "namespace", "easydict", "edict", "box", "configdict", "cn"),
        *("attrdict", "dotdict", "munch", "create", "dictconfig", "ordereddict", "config", "adict"),
        *("attributedict", "cfgnode", "dotmap", "frozendict", "frozenconfigdict", "bunch"),
        *("placeholder", "addict", "hparams"),
    }
)
"""Last parts, in small letters, of what makes a container from keywords or a dictionary."""
_HOPS = 24
Place = tuple[ast.expr, "Module"]


def assigned_paths(node: ast.expr, module: Module) -> Sequence[Binding]:
    """Return the assignments to exactly this `a.b["c"]`, in the scope that `a` lives in."""
    if isinstance(node, ast.Name) or not module.path_homes:
        return ()
    key = path_of(node)
    if key is None or key not in module.path_homes:
        return ()
    here = module.scope_of(node)
    home = here.lookup(key[0]) or module.scope
    bindings = home.paths.get(key)
    if not bindings:
        return ()
    mine = [b for b in bindings if b.scope is here]
    if mine:
        seen = [b for b in reaching(mine, node, module) if _not_after(b, node)]
        if seen:
            return seen
    return [b for b in bindings if b.scope is not here]


def _not_after(binding: Binding, node: ast.expr) -> bool:
    end = (getattr(binding.node, "end_lineno", 0), getattr(binding.node, "end_col_offset", 0))
    return end <= (node.lineno, node.col_offset)


def definitions(node: ast.expr, module: Module) -> Sequence[Binding]:
    """Return the assignments that a name, attribute or entry can have its value from."""
    if isinstance(node, ast.Name):
        return tuple(bindings_of(node.id, node, module))
    if isinstance(node, ast.Subscript):
        return entries_of(node, module)
    if isinstance(node, ast.Attribute):
        entries = entries_of(node, module)
        if not entries and (own := tuple(_members(node, module))):
            return (*own, *written_elsewhere(node, module))
        return entries
    return ()


def _members(node: ast.Attribute, module: Module) -> Iterator[Binding]:
    program = module.program
    if isinstance(node.value, ast.Attribute) and node.value.attr == "hparams":
        yield from _saved_argument(node, module)
        return
    for base in meanings_of(node.value, module):
        if base.kind == "module" and base.module is not None:
            bindings = reaching(base.module.scope.bindings.get(node.attr, ()), None, base.module)
            yield from rebound(bindings, node.attr, None, base.module)
        elif ":" in base.name:
            owner = program.class_named(base.name)
            if owner is None:
                continue
            given = None
            if base.call is not None and base.module is not None:
                given = program.field_given(owner, node.attr, base.call, base.module)
            if given is not None:
                yield given
            else:
                yield from program.attribute_bindings(owner, node.attr, node)


def _saved_argument(node: ast.Attribute, module: Module) -> Sequence[Binding]:
    """Return the parameter that Lightning's `self.hparams.x` keeps."""
    owner = module.scope_of(node).owner
    made = owner.bindings.get("__init__", ()) if owner is not None else ()
    for binding in made:
        scope = binding.module.scopes.get(binding.node)
        bindings = scope.bindings.get(node.attr, []) if scope is not None else []
        if bindings and bindings[0].kind == "parameter":
            return bindings[:1]
    return ()


def entries_of(node: ast.Attribute | ast.Subscript, module: Module) -> Sequence[Binding]:
    """Return the assignments to an entry of a container, or its place in a literal."""
    return module.program.entries.get(node, module)


def look_up_entries(node: ast.expr, module: Module) -> Sequence[Binding]:
    """Return the same without using the cache."""
    assert isinstance(node, ast.Attribute | ast.Subscript)
    direct = assigned_paths(node, module)
    if direct:
        return direct
    attribute = isinstance(node, ast.Attribute)
    key = node.attr if isinstance(node, ast.Attribute) else _constant_key(node.slice, module)
    return _entries(node.value, module, key, attribute)


def _constant_key(node: ast.expr, module: Module) -> str | int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = node.operand
        if isinstance(operand, ast.Constant) and isinstance(operand.value, int):
            return -operand.value
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        value = evaluate(node, module)
        if isinstance(value, Known) and isinstance(value.value, str | int):
            return value.value
    return None


def _entries(
    base: ast.expr, module: Module, key: str | int | None, attribute: bool
) -> list[Binding]:
    bindings: list[Binding] = []
    if key is not None:
        bindings += _aliased(base, module, key)
        if bindings:
            return bindings
    for expression, where in chase(base, module):
        if isinstance(key, str) and isinstance(expression, ast.Name) and not attribute:
            bindings += _collected(expression, where, key)
        if key is not None and expression is not base:
            assigned = _path_at(expression, where, (key,))
            if assigned:
                return [*bindings, *assigned]
        for value, place in entry(expression, where, key, attribute):
            bindings.append(Binding("assign", value, place.scope, value))
    return bindings


def _collected(node: ast.Name, module: Module, key: str) -> list[Binding]:
    """Return the only call's argument for `kwargs["key"]`, if the name is that of a `**kwargs`."""
    program = module.program
    for binding in bindings_of(node.id, node, module):
        function = binding.scope.node
        if binding.kind != "parameter" or not isinstance(function, ast.FunctionDef):
            continue
        if function.args.kwarg is not binding.node:
            continue
        sites = program.call_sites(binding.module, function)
        given = sites[0].bound().get(key) if len(sites) == 1 else None
        if given is not None:
            return [Binding("assign", given, sites[0].module.owner_of(given).scope, given)]
    return []


def _aliased(base: ast.expr, module: Module, key: str | int) -> Sequence[Binding]:
    """Return the assignments to the entry under another name of the container."""
    parts = path_of(base)
    root = base
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    if parts is None:
        return ()
    for expression, where in chase(root, module):
        bindings = _path_at(expression, where, (*parts[1], key)) if expression is not root else ()
        if bindings:
            return bindings
    return ()


def _path_at(expression: ast.expr, module: Module, rest: Path) -> Sequence[Binding]:
    """Return the assignments to a path below an expression, in the scope its root lives in."""
    parts = path_of(expression) if module.path_homes else None
    if parts is None:
        return ()
    full = (parts[0], (*parts[1], *rest))
    if full not in module.path_homes:
        return ()
    home = module.scope_of(expression).lookup(parts[0]) or module.scope
    return home.paths.get(full, ())


def chase(node: ast.expr, module: Module) -> Iterator[Place]:
    """Yield an expression and all expressions that its value can come from, nearest first."""
    seen: set[ast.AST] = set()
    queue: list[Place] = [(node, module)]
    while queue and len(seen) < 3 * _HOPS:
        here, where = queue.pop(0)
        if here in seen:
            continue
        seen.add(here)
        yield here, where
        if isinstance(here, ast.Name | ast.Attribute | ast.Subscript):
            for definition in definitions(here, where):
                queue += sources_of(definition)
        elif isinstance(here, ast.Call):
            queue += _through_call(here, where)
        elif isinstance(here, ast.IfExp):
            queue += [(here.body, where), (here.orelse, where)]
        elif isinstance(here, ast.NamedExpr):
            queue.append((here.value, where))


def ends_of(node: ast.expr, module: Module) -> list[Place]:
    """Return the expressions that a value can come from, and names of which that is not seen."""
    ends = []
    for here, where in chase(node, module):
        if isinstance(here, ast.Name | ast.Attribute):
            through = _has_sources(here, where)
        else:
            through = len(list(chase(here, where))) > 1
        if not through:
            ends.append((here, where))
    return ends


def _has_sources(node: ast.expr, module: Module) -> bool:
    """Whether every assignment to a name is seen through."""
    assigned = definitions(node, module)
    return bool(assigned) and all(sources_of(each) for each in assigned)


def sources_of(binding: Binding) -> list[Place]:
    """Return the expressions that an assignment takes its value from."""
    program = binding.module.program
    if binding.kind in ("assign", "with") and binding.value is not None and not binding.path:
        return [(binding.value, binding.module)]
    if binding.kind == "assign" and isinstance(binding.value, ast.Call) and len(binding.path) == 1:
        return _part_returned(binding.value, binding.module, binding.path[0])
    if binding.kind == "parameter" and isinstance(binding.node, ast.arg):
        return list(program.arguments_for(binding))
    if binding.kind == "import":
        return [
            (b.value, b.module)
            for b in program.global_bindings(binding.target, binding.module)
            if b.kind == "assign" and b.value is not None and not b.path
        ]
    return []


def _part_returned(node: ast.Call, module: Module, part: int) -> list[Place]:
    """Return one part of the tuples that a function of the program returns."""
    program = module.program
    for meaning in meanings_of(node.func, module):
        callee = program.function_named(meaning.name) if program and ":" in meaning.name else None
        scope = callee[0].scopes.get(callee[1]) if callee is not None else None
        if callee is None or scope is None or scope.generator:
            continue
        tuples = [r.value for r in scope.returns if isinstance(r.value, ast.Tuple)]
        return [(t.elts[part], callee[0]) for t in tuples if part < len(t.elts)]
    return []


def _through_call(node: ast.Call, module: Module) -> list[Place]:
    function = node.func
    program = module.program
    if isinstance(function, ast.Attribute) and function.attr in _SAME:
        inner = node.args[:1] if function.attr in ("deepcopy", "copy") else []
        return [(item, module) for item in (*inner, function.value)]
    for meaning in meanings_of(function, module):
        if meaning.name in ("copy.deepcopy", "copy.copy") and node.args:
            return [(node.args[0], module)]
        callee = program.function_named(meaning.name) if ":" in meaning.name else None
        if callee is not None:
            scope = callee[0].scopes.get(callee[1])
            returned = scope.returns if scope is not None and not scope.generator else []
            return [(r.value, callee[0]) for r in returned if r.value is not None]
    return []


def entry(
    node: ast.expr, module: Module, key: str | int | None, attribute: bool
) -> Iterator[Place]:
    """Yield the value of an entry of a literal; of every entry, if the key is not known."""
    if isinstance(node, ast.Dict):
        yield from _dict_entry(node, module, key)
    elif isinstance(node, ast.List | ast.Tuple) and not attribute:
        if any(isinstance(e, ast.Starred) for e in node.elts):
            return
        if key is None:
            yield from ((e, module) for e in node.elts[:16])
        elif isinstance(key, int) and -len(node.elts) <= key < len(node.elts):
            yield node.elts[key], module
    elif isinstance(node, ast.Call) and _makes(node, module):
        for keyword in node.keywords:
            if keyword.arg == key and key is not None:
                yield keyword.value, module
                return
        for given in (*node.args[:1], *(k.value for k in node.keywords if k.arg is None)):
            for inner, where in chase(given, module):
                if not isinstance(inner, ast.Call):
                    yield from entry(inner, where, key, attribute)


def _dict_entry(node: ast.Dict, module: Module, key: str | int | None) -> Iterator[Place]:
    for name, value in zip(reversed(node.keys), reversed(node.values), strict=True):
        if name is None:
            for inner, where in chase(value, module):
                places = list(entry(inner, where, key, False))
                if places:
                    yield from places
                    if key is not None:
                        return
        elif key is None:
            yield value, module
        elif isinstance(name, ast.Constant) and name.value == key:
            yield value, module
            return


def _makes(node: ast.Call, module: Module) -> bool:
    if identifier(node.func).lower() in _MAKERS:
        return True
    return module.resolve(node.func).rpartition(".")[2].lower() in _MAKERS


def unpacked(node: ast.expr, module: Module) -> Iterator[tuple[str | None, ast.expr | None]]:
    """Yield the entries of the only dictionary that an expression can be; else None, once."""
    containers = [n for n, _ in chase(node, module) if isinstance(n, ast.Dict | ast.Call)]
    if len(containers) != 1:
        yield None, None
        return
    container = containers[0]
    if isinstance(container, ast.Dict):
        for key, value in zip(container.keys, container.values, strict=True):
            text = key.value if isinstance(key, ast.Constant) else None
            yield (text, value) if isinstance(text, str) else (None, None)
    elif (
        isinstance(container.func, ast.Name) and container.func.id == "dict" and not container.args
    ):
        for keyword in container.keywords:
            yield keyword.arg, keyword.value
    else:
        yield None, None

"""Values of names, attributes and entries: from assignments, flags, containers and arguments."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.evaluation import bindings
from crosscast_reading.pysource.evaluation.choices import Option, certain_truth, choice
from crosscast_reading.pysource.evaluation.documents import from_document
from crosscast_reading.pysource.evaluation.settings import from_settings
from crosscast_reading.pysource.flags import reading as flags
from crosscast_reading.pysource.names.attribute_writes import written_elsewhere
from crosscast_reading.pysource.names.containers import assigned_paths, definitions, entries_of
from crosscast_reading.pysource.names.reaching_assignments import MOST, condition_of
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.meaning import meanings_of
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.values.arithmetic import NUMBERS
from crosscast_reading.pysource.values.combine import same
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Symbol, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


def of_name(node: ast.Name, module: Module) -> Value:
    """Return the value of a name."""
    assignments = definitions(node, module)
    if not assignments:
        for meaning in meanings_of(node, module):
            return Symbol(meaning.name)
        return Unknown(node.id, "nothing in the files given defines it", names=(node.id,))
    return _of_bindings(assignments, node, module, constant=True)


def of_attribute(node: ast.Attribute, module: Module) -> Value:
    """Return the value of an attribute: assigned, a flag, an entry, of a class, of a library."""
    text = module.text(node)
    program = module.program
    assigned = list(assigned_paths(node, module))
    if (setting := from_settings(node, module, assigned)) is not None:
        return _of_bindings(assigned, node, module, initial=setting) if assigned else setting
    flag = flags.flag_read(node, module)
    if flag is not None:
        initial = flags.value_of(flag, text)
        if not assigned:
            return initial
        return _of_bindings(assigned, node, module, initial=initial)
    entries = assigned or entries_of(node, module)
    if entries:
        return _as_entry(_of_bindings(entries, node, module), text)
    assignments = definitions(node, module)
    if assignments:
        others = written_elsewhere(node, module)
        own = [binding for binding in assignments if binding not in others]
        value = _of_bindings(own, node, module, constant=True)
        return _unless_written(value, others, node, module)
    if (loaded := from_document(node, module)) is not None:
        return loaded
    for meaning in meanings_of(node, module):
        if meaning.kind == "symbol" and flags.is_namespace(meaning.name.rpartition(".")[0]):
            return _member(meaning.name, text)
        if meaning.kind == "symbol" and ":" not in meaning.name:
            if _of_instance(node, module):
                break
            number = NUMBERS.get(meaning.name)
            return Known(number, "constant") if number is not None else Symbol(meaning.name)
        if meaning.kind == "symbol" and program.function_named(meaning.name):
            return Symbol(meaning.name)
        if meaning.kind == "member":
            return _member(meaning.name, text)
        if meaning.kind == "instance" and meaning.call is not None and meaning.module is not None:
            return Instance(meaning.name, meaning.module.call(meaning.call))
    return Unknown(text[:200], "nothing in the files given assigns it", names=(text[:200],))


def _unless_written(value: Value, others: Sequence[Binding], node: ast.expr, home: Module) -> Value:
    """Return the value of an attribute, unknown if a subclass or caller gives it another one."""
    if same([value, *map(_assigned_elsewhere, others)]):
        return value
    places = {f"{each.module.source.name}:{getattr(each.node, 'lineno', 0)}" for each in others}
    reason = f"other places than its class set it: {', '.join(sorted(places)[:4])}"
    return Unknown(home.text(node)[:200], reason, names=(home.text(node)[:200],))


def _assigned_elsewhere(binding: Binding) -> Value:
    if binding.kind == "function":
        return Unknown(binding.module.text(binding.node)[:200], "a property computes it")
    return bindings.of_binding(binding)


def _member(name: str, text: str) -> Value:
    """Return the value of an attribute that only the class of a library knows."""
    owner = name.rpartition(".")[0]
    names = (text[:200],)
    if flags.is_namespace(owner):
        return Unknown(text[:200], "a flag that the files given do not define", "flag", names=names)
    return Unknown(text[:200], f"an attribute of {owner}", "derived", names=names)


def _of_instance(node: ast.Attribute, module: Module) -> bool:
    """Whether an attribute is data of what a library returned: no name of the library."""
    parent = module.parent(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return False
    return any(meaning.kind == "instance" for meaning in meanings_of(node.value, module))


def of_subscript(node: ast.Subscript, module: Module) -> Value:
    """Return the value of an entry."""
    text = module.text(node)
    assigned = list(assigned_paths(node, module))
    if (setting := from_settings(node, module, assigned)) is not None:
        return _of_bindings(assigned, node, module, initial=setting) if assigned else setting
    entries = entries_of(node, module)
    if entries and _has_key(node, module):
        return _as_entry(_of_bindings(entries, node, module), text)
    if (loaded := from_document(node, module)) is not None:
        return loaded
    if module.resolve(node.value) == "os.environ":
        key = evaluate(node.slice, module)
        if isinstance(key, Known) and isinstance(key.value, str):
            return flags.environment(key.value, text, None, module.program)
    flag = flags.flag_read(node, module)
    if flag is not None:
        return flags.value_of(flag, text)
    base = evaluate(node.value, module)
    key = _slice(node.slice, module)
    if isinstance(base, Known) and isinstance(key, Known):
        content = base.value
        if isinstance(content, dict | list | tuple | str):
            try:
                part = content[key.value]  # type: ignore[index, call-overload]
            except (LookupError, TypeError, ValueError):
                return Unknown(text[:200], "there is no such entry", names=(text[:200],))
            if isinstance(part, Symbol | Unknown | Choice | Instance):
                return part
            return Known(part, base.origin, base.flag)
    return Unknown(text[:200], "an entry that nothing in the files given writes", names=(text,))


def _slice(node: ast.expr, module: Module) -> Value:
    if not isinstance(node, ast.Slice):
        return evaluate(node, module)
    parts = [evaluate(p, module) if p else Known(None) for p in (node.lower, node.upper, node.step)]
    if all(isinstance(p, Known) and isinstance(p.value, int | None) for p in parts):
        return Known(slice(*(p.value for p in parts if isinstance(p, Known))))
    return Unknown(module.text(node), "a part that only a run can tell")


def _has_key(node: ast.Subscript, module: Module) -> bool:
    return isinstance(evaluate(node.slice, module), Known)


def _as_entry(value: Value, text: str) -> Value:
    if isinstance(value, Known) and value.origin in ("literal", "constant") and not value.flag:
        return Known(value.value, "config", text[:200])
    return value


def _of_bindings(
    assignments: Sequence[Binding],
    use: ast.expr,
    module: Module,
    *,
    constant: bool = False,
    initial: Value | None = None,
) -> Value:
    """Return the value of one of several assignments; `initial` is what it has before them."""
    if len(assignments) > MOST:
        return Unknown(module.text(use)[:200], "it is assigned at many places")
    options: list[Option] = [] if initial is None else [(None, True, initial)]
    places = [""] * len(options)
    for binding in assignments:
        here = use if binding.scope is module.scope_of(use) else None
        condition = condition_of(binding, here, binding.module)
        value = bindings.of_binding(binding)
        if condition is None:
            if binding.scope.module is not module or here is not None or len(assignments) == 1:
                options, places = [], []
            options.append((None, True, value))
            places.append(f"set in {binding.scope.qualname or 'the module'}")
            continue
        decided = certain_truth(condition[0], binding.module)
        if decided is None:
            options.append((condition[0], condition[1], value))
            places.append("")
        elif decided == condition[1]:
            options, places = [(None, True, value)], [""]
    if not options:
        return Unknown(module.text(use)[:200], "no condition lets it be assigned")
    value = choice(options, module, places)
    if constant and isinstance(value, Known) and value.origin == "literal":
        return Known(value.value, "constant", value.flag)
    return value

"""What templates read, followed through the types of what they are given.

Run as a program, it prints the names of all attributes that templates read, for vulture.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from jinja2 import nodes
from pydantic import BaseModel

from crosscast.emit.render import environment, template_root

LOOP = {"loop": Any}


@dataclass(frozen=True)
class Reading:
    """One attribute that a template reads."""

    owner: Any
    """The type that should have it."""
    name: str
    found: bool

    def __str__(self) -> str:
        return f"{getattr(self.owner, '__name__', self.owner)}.{self.name}"


def readings(tree: nodes.Node, context: Mapping[str, Any]) -> list[Reading]:
    """Return what a template reads of the values in its context.

    Args:
        tree: The parsed template.
        context: Types by name.
    """
    found: list[Reading] = []
    _walk(tree, {**LOOP, **context}, found)
    return found


def values_of(kind: Any) -> Iterator[tuple[type, str]]:
    """Yield the fields of a view, also of views within it; what is read of others is theirs."""
    for option in _options(kind):
        if isinstance(option, type) and is_dataclass(option) and _is_view(option):
            for field in fields(option):
                yield _definer(option, field.name), field.name
                yield from values_of(get_type_hints(option)[field.name])
        elif get_origin(option) is tuple:
            for inner in get_args(option):
                yield from values_of(inner)


def _definer(kind: type, name: str) -> type:
    """Return the class that defines a field: its views are read together."""
    return next(
        base for base in reversed(kind.__mro__) if name in vars(base).get("__annotations__", {})
    )


def related(owner: Any, reader: Any) -> bool:
    """Whether a field of one type is one of the other: it inherits from it."""
    return isinstance(reader, type) and (issubclass(owner, reader) or issubclass(reader, owner))


def frozen(kind: Any) -> bool:
    """Whether a type is a frozen dataclass."""
    return is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[union-attr]


def _is_view(kind: type) -> bool:
    """Whether a type is made for templates: operations and sections of recipes are not."""
    return not kind.__module__.startswith(("crosscast.plan", "crosscast.recipe"))


def _walk(node: nodes.Node, names: dict[str, Any], found: list[Reading]) -> None:
    match node:
        case nodes.Getattr() | nodes.Name():
            _type(node, names, found)
        case nodes.For(target=target, iter=source):
            inner = names | _bound(target, _element(_type(source, names, found)))
            for child in (*node.body, *node.else_, *([node.test] if node.test else [])):
                _walk(child, inner, found)
        case nodes.Assign(target=nodes.Name(name=name), node=value):
            names[name] = _type(value, names, found)
        case _:
            for child in node.iter_child_nodes():
                _walk(child, names, found)


def _type(node: nodes.Node, names: dict[str, Any], found: list[Reading]) -> Any:
    """Return the type of an expression, `Any` where it is not followed."""
    match node:
        case nodes.Name(name=name):
            if name not in names:
                found.append(Reading(None, name, found=False))
            return names.get(name, Any)
        case nodes.Getattr(node=inner, attr=attr):
            return _attribute(_type(inner, names, found), attr, found)
        case _:
            for child in node.iter_child_nodes():
                _walk(child, names, found)
            return Any


def _attribute(kind: Any, name: str, found: list[Reading]) -> Any:
    """Return the type of an attribute: that of the first option which has it."""
    if kind is Any:
        return Any
    for option in _options(kind):
        hints = _hints(option)
        if name in hints:
            found.append(Reading(option, name, found=True))
            return hints[name]
        if hasattr(option, name):
            found.append(Reading(option, name, found=True))
            return Any
    found.append(Reading(kind, name, found=False))
    return Any


def _hints(kind: Any) -> dict[str, Any]:
    """Return the types of fields and properties."""
    if not isinstance(kind, type) or not (is_dataclass(kind) or issubclass(kind, BaseModel)):
        return {}
    members = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("__")}
    getters = {n: member.fget for n, member in members.items() if isinstance(member, property)}
    made = {n: get_type_hints(get).get("return", Any) for n, get in getters.items() if get}
    return get_type_hints(kind) | made


def _options(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union but None, or the type itself."""
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(option for option in get_args(kind) if option is not type(None))
    return (str,) if get_origin(kind) is Literal else (kind,)


def _element(kind: Any) -> Any:
    """Return the type of the elements of `tuple[T, ...]`."""
    for option in _options(kind):
        arguments = get_args(option)
        if get_origin(option) is tuple and arguments[1:] == (Ellipsis,):
            return arguments[0]
    return Any


def _bound(target: nodes.Node, element: Any) -> dict[str, Any]:
    """Return the names that a loop binds."""
    if isinstance(target, nodes.Name):
        return {target.name: element}
    assert isinstance(target, nodes.Tuple)
    parts = get_args(element) if get_origin(element) is tuple else ()
    names = [item.name for item in target.items if isinstance(item, nodes.Name)]
    return dict(zip(names, parts if len(parts) == len(names) else [Any] * len(names), strict=True))


def main() -> None:
    """Print the names as Python."""
    root, toy = template_root(), Path(__file__).with_name("plugin") / "crosscast_toy/templates"
    names = {
        reading.attr
        for path in (*root.rglob("*.j2"), *toy.rglob("*.j2"))
        for reading in environment(root).parse(path.read_text("utf-8")).find_all(nodes.Getattr)
    }
    print("\n".join(f"_.{name}" for name in sorted(names)))


if __name__ == "__main__":
    main()

"""Read the descriptions of arguments off a function: for its checks and its documentation."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal, Union, get_args, get_origin

from crosscast.api.parameters import LARGEST, Parameter
from crosscast.messages.diagnostics import failure

_MARK = "Annotated["
_SECTIONS = ("Args:", "Returns:", "Raises:")
_NONE = type(None)


class Described:
    """An argument of a function with its description."""

    def __init__(self, parameter: Parameter, kind: str, names: dict[str, Any]) -> None:
        self.parameter = parameter
        self._kind = kind
        self._names = names

    @cached_property
    def kind(self) -> Any:
        """The type in its annotation."""
        return eval(self._kind, self._names)

    @property
    def members(self) -> tuple[Any, ...]:
        """The types that a value may have, without None."""
        union = get_origin(self.kind) in (Union, types.UnionType)
        return tuple(m for m in (get_args(self.kind) if union else (self.kind,)) if m is not _NONE)

    @property
    def optional(self) -> bool:
        """Whether None is a value."""
        return _NONE in get_args(self.kind)

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The values, if these are only some texts."""
        return next((get_args(m) for m in self.members if get_origin(m) is Literal), ())

    def check(self, name: str, value: Any) -> None:
        """Refuse what is no value of the argument with this name.

        Raises:
            DiagnosticError: CC016.
        """
        if value is None and (self.optional or not self.choices):
            return
        parameter = self.parameter
        if self.choices:
            _check_choice(name, value, self.choices)
        elif parameter.positive:
            if not 0 < value <= LARGEST:
                raise failure("CC016", f"{name}={value!r}: must be more than 0")
        elif parameter.least is not None and not parameter.least <= value <= parameter.most:
            limits = f"{parameter.least:.12g} to {parameter.most:.12g}"
            raise failure("CC016", f"{name}={value!r}: not a number from {limits}")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        from crosscast.recipe.suggestions import suggest

        near = suggest(str(value), choices)
        hint = f"did you mean {near!r}?" if near else f"choose one of {', '.join(choices)}"
        raise failure("CC016", f"{name}={value!r}: not a value of this argument", hint)


def take_descriptions(function: Callable[..., Any]) -> dict[str, Described]:
    """Return the described arguments by name, and leave the function with plain annotations.

    `help` shows the types of the signature, and the descriptions as sentences below it. Types are
    evaluated when they are asked for: every start of the command line would wait for all of them.
    """
    arguments, names, annotations = {}, function.__globals__, function.__annotations__
    for name, text in annotations.items():
        if text.startswith(_MARK):
            kind, description = _parts(text)
            annotations[name] = kind
            arguments[name] = Described(eval(description, names), kind, names)
    return arguments


def _parts(text: str) -> tuple[str, str]:
    """Return the type and the description in the text of an annotation."""
    depth, end = 1, len(_MARK)
    while depth > 1 or text[end] != ",":
        depth += (text[end] in "[(") - (text[end] in "])")
        end += 1
    return text[len(_MARK) : end], text[end + 1 : -1].strip()


def documentation(function: Callable[..., Any], described: Mapping[str, Described]) -> str:
    """Return the docstring of a function, with all of its arguments listed.

    The list in the source has only the arguments without a description, which no command has.
    """
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    heads = [paragraph.partition("\n")[0] for paragraph in paragraphs]
    place = next((n for n, head in enumerate(heads) if head in _SECTIONS), len(heads))
    entries = {}
    if "Args:" in heads:
        entries = _entries(paragraphs.pop(place))
    for name, argument in described.items():
        entries[name] = _wrapped(f"    {name}: {argument.parameter.sentences}")
    if entries:
        listed = (entries[name] for name in function.__annotations__ if name in entries)
        paragraphs.insert(place, "\n".join(["Args:", *listed]))
    return "\n\n".join(paragraphs)


def _entries(section: str) -> dict[str, str]:
    """Return the lines about every argument in the section of a docstring."""
    entries: dict[str, str] = {}
    name = ""
    for line in section.splitlines()[1:]:
        if line[4] == " ":
            entries[name] += f"\n{line}"
        else:
            name = line.strip().partition(":")[0]
            entries[name] = line
    return entries


def _wrapped(line: str) -> str:
    if len(line) <= 96:
        return line
    from textwrap import fill

    return fill(line, 96, subsequent_indent=" " * 8)

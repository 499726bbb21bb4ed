"""The parameters of a command: those of the function that it calls, and its own.

What the function describes (`crosscast.api.parameters`) is not described again: names, defaults,
limits, choices and help come from its signature. A command adds what only the command line has.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial, update_wrapper
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer

from crosscast.api.calls import described_arguments
from crosscast.api.described import Described, take_descriptions
from crosscast.api.parameters import LARGEST, Parameter
from crosscast.cli.completion import WORDS
from crosscast.cli.error_handling import positive

JSON = Parameter("Print JSON.")
ALL = Parameter("Show everything, not only what needs attention.")

_EMPTY = inspect.Parameter.empty
_WORD_TYPES = (bool, int, float, str, Path)
_STAND_FOR = {"out": "-o", "migrate_changes": "--list-changes"}
"""Names that a description may have of what only Python has, and the options that stand for it."""


def output(help: str, metavar: str = "DIR") -> Parameter:
    """Describe where a command writes."""
    return Parameter(help, metavar, ("-o", "--output"))


def options_of(
    function: str, *, without: Collection[str] = (), **after: str
) -> Callable[[Callable[..., int | None]], FunctionCommand]:
    """Give a command the described parameters of a public function, and its own.

    The command gets the function first, which has the values of these parameters already, and its
    own parameters by name. It gets a value of the function's, too, if it has a parameter of that
    name without a description; whose default, if any, is the one on the command line.

    Args:
        function: the public function, by its module in `crosscast.api` and its name. It is imported
            when the command is built, not for a list of all commands.
        without: parameters of it that the command line does not have.
        after: own parameter to the parameter of the function that it follows in the help. Others
            come last; those that are required come first in any case.
    """
    return lambda command: FunctionCommand(command, function, without, after)


class FunctionCommand:
    """A command with the parameters of a public function, as Typer calls it."""

    def __init__(
        self,
        command: Callable[..., int | None],
        function: str,
        without: Collection[str],
        after: Mapping[str, str],
    ) -> None:
        self.own = take_descriptions(command)
        """The parameters that only the command line has."""
        self._received = list(inspect.signature(command).parameters.values())[1:]
        self._place = function
        self._without = without
        self._after = after
        update_wrapper(self, command)
        self._command = command
        self.__annotations__ = {}  # Typer would evaluate those of the command as well

    @cached_property
    def function(self) -> Any:
        """The public function."""
        module, _, name = self._place.rpartition(".")
        return getattr(import_module(f"crosscast.api.{module}"), name)

    @cached_property
    def theirs(self) -> dict[str, Described]:
        """Its parameters that are also those of the command."""
        described = described_arguments(self.function)
        return {name: described[name] for name in described if name not in self._without}

    @cached_property
    def __signature__(self) -> inspect.Signature:
        declared = dict(inspect.signature(self.function).parameters)
        for each in self._received:
            if each.name in self.own:
                declared[each.name] = each
            elif each.default is not _EMPTY:
                declared[each.name] = declared[each.name].replace(default=each.default)
        order = _order(self.theirs, self.own, self._after)
        return _signature(declared, {**self.theirs, **self.own}, order)

    def __call__(self, *args: Any, **kwargs: Any) -> int | None:
        """Run the command with the values of its parameters."""
        given = self.__signature__.bind(*args, **kwargs)
        given.apply_defaults()
        values = given.arguments
        named = {name: values[name] for name in self.theirs if values[name] is not None}
        own = {each.name: values[each.name] for each in self._received}
        return self._command(partial(self.function, **named), **own)


def _order(theirs: Collection[str], own: Collection[str], after: Mapping[str, str]) -> list[str]:
    """Return the parameters in the order of the help."""
    order: list[str] = []
    for name in theirs:
        order += [name, *(each for each in own if after.get(each) == name)]
    return [*order, *(each for each in own if each not in after)]


def _signature(
    declared: Mapping[str, inspect.Parameter],
    described: Mapping[str, Described],
    order: Sequence[str],
) -> inspect.Signature:
    """Return the signature that Typer reads: arguments, then options, the required ones first."""
    named = {name: _names(name, described[name], declared[name].default) for name in order}
    options = _STAND_FOR | {name: names[0] for name, names in named.items()}
    parameters = []
    for name, names in named.items():
        argument, source = described[name], declared[name]
        kind, default = _typed(argument, source.default)
        is_argument = source.kind is not source.KEYWORD_ONLY and not argument.parameter.names
        typed = _argument(argument, options) if is_argument else _option(names, argument, options)
        place = source.POSITIONAL_OR_KEYWORD if is_argument else source.KEYWORD_ONLY
        parameters.append(
            inspect.Parameter(name, place, default=default, annotation=Annotated[kind, typed])
        )
    parameters.sort(key=lambda each: (each.kind, each.default is not _EMPTY))
    return inspect.Signature(parameters)


def _typed(argument: Described, default: Any) -> tuple[Any, Any]:
    """Return the type and the default of a value on the command line."""
    members = argument.members
    if argument.choices or (len(members) == 1 and members[0] in _WORD_TYPES):
        kind = members[0]
    elif isinstance(default, str) or not any(get_origin(m) is Sequence for m in members):
        kind = str  # the path of a file, or words in one text
    else:
        kind, default = list[str], None if default == () else default
    return kind, default


def _names(name: str, argument: Described, default: Any) -> tuple[str, ...]:
    """Return the names of an option; a flag that is set has one that clears it."""
    plain = f"--{name.replace('_', '-')}"
    return argument.parameter.names or (
        (f"{plain}/--no-{plain[2:]}",) if default is True else (plain,)
    )


def _argument(argument: Described, options: Mapping[str, str]) -> Any:
    parameter = argument.parameter
    return typer.Argument(
        metavar=parameter.metavar or None,
        help=_help(parameter, options),
        autocompletion=WORDS.get(parameter.words),
    )


def _option(names: Sequence[str], argument: Described, options: Mapping[str, str]) -> Any:
    parameter = argument.parameter
    return typer.Option(
        *names,
        metavar=parameter.metavar or None,
        help=_help(parameter, options),
        autocompletion=WORDS.get(parameter.words),
        min=parameter.least,
        max=None if parameter.most == LARGEST else parameter.most,
        callback=positive if parameter.positive else None,
        show_default=parameter.default or True,
    )


def _help(parameter: Parameter, options: Mapping[str, str]) -> str:
    """Return the help with the options that stand for other arguments."""
    words = parameter.help.split("`")
    words[1::2] = (options.get(word, f"`{word}`") for word in words[1::2])
    return "".join(words)

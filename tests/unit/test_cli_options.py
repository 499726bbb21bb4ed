"""Options are described once, and both doors hold them to the same limits."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

import pytest
import typer
from typer.testing import CliRunner

import crosscast as cc
from crosscast.api.calls import described_arguments, public
from crosscast.api.described import Described
from crosscast.api.parameters import LARGEST, Parameter
from crosscast.api.tracing import Format
from crosscast.cli import app
from crosscast.cli.commands import NAMES, load
from crosscast.cli.options import FunctionCommand
from crosscast.tracking.exporting import CSV
from crosscast.tracking.tools import TOOLS
from source_trees import ROOT, tree_of

CLI = ROOT / "translator" / "crosscast" / "cli"
OTHER_MEANING = {
    ("lint", "fix"): "the function computes fixes, the command applies them",
    ("init", "path"): "the function takes the name of a file, the command its place",
}
"""Own parameters of commands that have the name of one that only Python has."""
WITHOUT_FUNCTION = {"server"}
"""Commands without parameters."""


def unguarded(callback: Any) -> FunctionCommand:
    """Return the command of a group, which is wrapped once the command line was built."""
    command = inspect.unwrap(callback, stop=lambda each: isinstance(each, FunctionCommand))
    assert isinstance(command, FunctionCommand)
    return command


def commands() -> Iterator[tuple[str, FunctionCommand]]:
    for name in NAMES:
        found = load(name)
        if not isinstance(found, typer.Typer):
            yield name, found  # type: ignore[misc]
            continue
        for command in found.registered_commands:
            assert command.callback is not None
            yield f"{name} {command.name}", unguarded(command.callback)


COMMANDS = {name: command for name, command in commands() if name not in WITHOUT_FUNCTION}


def function_of(name: str) -> Any:
    """Return a public function; three are rooms that can be called."""
    found = getattr(cc, name)
    return found.__wrapped__ if inspect.ismodule(found) else found


FUNCTIONS = {
    name: function_of(name) for name in cc.__all__ if name.islower() and not name.startswith("_")
}


def own_entries(function: Any) -> set[str]:
    """Return the arguments in the docstring as its source has it."""
    (definition,) = ast.parse(inspect.getsource(inspect.unwrap(function))).body
    assert isinstance(definition, ast.FunctionDef)
    section = (ast.get_docstring(definition) or "").partition("\nArgs:\n")[2].partition("\n\n")[0]
    return set(re.findall(r"^    (\w+): ", section, re.MULTILINE))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_is_described_once(name: str) -> None:
    function = FUNCTIONS[name]
    described, listed = described_arguments(function), own_entries(function)
    parameters = inspect.signature(function).parameters
    assert not listed & described.keys()
    assert listed | described.keys() == parameters.keys()
    shown = re.findall(r"^    (\w+): ", function.__doc__.partition("\nArgs:\n")[2], re.MULTILINE)
    assert shown[: len(parameters)] == list(parameters)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_parameter_of_a_command_is_described_once(name: str) -> None:
    command = COMMANDS[name]
    assert isinstance(command, FunctionCommand)
    assert not command.own.keys() & described_arguments(command.function).keys()
    same = command.own.keys() & inspect.signature(command.function).parameters.keys()
    assert same == {own for where, own in OTHER_MEANING if where == name}
    assert command.__signature__.parameters.keys() == command.own.keys() | command.theirs.keys()
    received, *others = inspect.signature(inspect.unwrap(command)).parameters.values()
    returned = inspect.signature(command.function).return_annotation
    assert received.annotation == f"Callable[..., {returned}]"
    assert {each.name for each in others} <= command.__signature__.parameters.keys()


def test_only_one_module_makes_options_for_typer() -> None:
    """The application's own two stand in `application` and `language`."""
    made = {
        path.stem
        for path in CLI.glob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr in ("Option", "Argument")
    }
    assert made == {"options", "application", "language"}


def outside(argument: Described) -> Iterator[Any]:
    """Yield values just outside of what an argument takes."""
    parameter = argument.parameter
    if argument.choices:
        yield f"{argument.choices[0]}x"
    elif parameter.positive:
        yield 0
    elif parameter.least is not None:
        yield int(parameter.least) - 1
        if parameter.most != LARGEST:
            yield int(parameter.most) + 1


def inside(argument: Described) -> Iterator[Any]:
    """Yield the values at the limits."""
    parameter = argument.parameter
    if argument.choices:
        yield from argument.choices
    elif parameter.positive:
        yield from (1e-300, LARGEST)
    elif parameter.least is not None:
        yield from (parameter.least, parameter.most)


LIMITED = [
    (name, argument)
    for name, function in FUNCTIONS.items()
    for argument, described in described_arguments(function).items()
    if any(True for _ in outside(described))
]
SHARED = [
    (name, argument)
    for name, command in COMMANDS.items()
    for argument, described in command.theirs.items()
    if any(True for _ in outside(described))
]


def test_arguments_have_limits() -> None:
    assert len(LIMITED) > 50
    assert len(SHARED) == len(LIMITED) - 1  # `about` of matrix is three flags


@pytest.mark.parametrize(("name", "argument"), LIMITED)
def test_a_value_outside_is_refused_in_python(name: str, argument: str) -> None:
    function = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters
    needed = {key: "x" for key, p in parameters.items() if p.default is p.empty}
    described = described_arguments(function)[argument]
    for value in outside(described):
        with pytest.raises(cc.DiagnosticError, match="CC016") as raised:
            function(**{**needed, argument: value})
        assert f"{argument}={value!r}: " in str(raised.value)
    for value in inside(described):
        described.check(argument, value)


@pytest.mark.parametrize(("name", "argument"), SHARED)
def test_a_value_outside_is_refused_on_the_command_line(name: str, argument: str) -> None:
    command = COMMANDS[name]
    words = []
    for each in command.__signature__.parameters.values():
        if each.default is each.empty and each.name != argument:
            (typed,) = each.annotation.__metadata__
            words += [] if isinstance(typed, typer.models.ArgumentInfo) else [typed.default]
            words += ["x"]
    option = max(command.theirs[argument].parameter.names or (f"--{argument}",), key=len)
    option = option.replace("_", "-")
    for value in outside(command.theirs[argument]):
        given = [*name.split(), *words, f"{option}={value}"]
        result = CliRunner().invoke(app, given, env={"COLUMNS": "200"})
        assert result.exit_code == 2, (given, result.output)
        assert option in result.output


@public
def walk(
    steps: Annotated[dict[str, list[int]], Parameter("Steps, see `pace`.", "N=N", least=1)],
    pace: Annotated[Literal["slow", "fast"] | None, Parameter("How, (or not); [x].")] = None,
    *,
    where: Unseen = None,  # type: ignore[name-defined] # noqa: F821
) -> None:
    """Walk.

    Args:
        where: A name that only type checkers
            import.

    Raises:
        DiagnosticError: never.
    """


def test_documentation_has_all_arguments() -> None:
    assert walk.__doc__ == (
        "Walk.\n\nArgs:\n    steps: Steps, see `pace`. As `N=N`. At least 1.\n"
        "    pace: How, (or not); [x].\n    where: A name that only type checkers\n"
        "        import.\n\nRaises:\n    DiagnosticError: never."
    )
    shown = inspect.signature(walk)
    assert str(shown.parameters["steps"].annotation) == "dict[str, list[int]]"
    assert described_arguments(walk)["pace"].choices == ("slow", "fast")


def test_arguments_by_position_are_checked() -> None:
    walk(1, "slow")  # type: ignore[arg-type]
    walk(1, None)  # type: ignore[arg-type]
    for arguments in ((0,), (1, "slower")):
        with pytest.raises(cc.DiagnosticError, match="CC016"):
            walk(*arguments)


def test_formats_of_traces_are_those_of_the_tools() -> None:
    assert get_args(Format) == (*TOOLS, CSV)

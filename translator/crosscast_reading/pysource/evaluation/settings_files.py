"""Files of settings that a flag of `ml_collections.config_flags` names, and what a command sets."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from crosscast_reading.pysource.flags.conversion import convert, literal
from crosscast_reading.pysource.flags.launch import Launch
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.values.value import Known, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.flag import Flag
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_MAKER = "get_config"
_KINDS: dict[type, str] = {bool: "boolean", int: "int", float: "float", str: "str"}


def function_of(flag: Flag, program: Program) -> tuple[Module, Function, tuple[str, ...]] | None:
    """Return the function that makes the settings of a flag's file, and its arguments.

    `--config=file.py:text` gives the function the text. None if the file is not among those given.
    """
    value = flag.value
    if not isinstance(value, Known) or not isinstance(value.value, str):
        return None
    if flag.given is None and _launch(program).has(flag.name):
        return None  # the command names a file that is not known
    name, colon, text = value.value.partition(":")
    wanted = PurePath(name)
    homes = [m for m in program.modules if is_end(PurePath(m.source.name), wanted)]
    if len(homes) != 1:
        return None
    function = homes[0].functions.get(_MAKER)
    return None if function is None else (homes[0], function, (text,) if colon else ())


def is_end(one: PurePath, two: PurePath) -> bool:
    """Whether one of two paths is the end of the other."""
    count = min(len(one.parts), len(two.parts))
    return count > 0 and one.parts[-count:] == two.parts[-count:]


@once
def _launch(program: Program) -> Launch:
    return Launch(program.launch)


def overridden(
    flag: Flag, keys: tuple[str | int, ...], held: object, text: str, program: Program
) -> Value | None:
    """Return the value that the command gives an entry, or one below it; None if it sets neither.

    Args:
        flag: of the file.
        keys: of the entry.
        held: what the file has there: a text becomes a value of its type.
        text: the entry, as the source reads it.
        program: with the command.
    """
    launch = _launch(program)
    for count in range(1, len(keys) + 1):
        option = ".".join((flag.name, *map(str, keys[:count])))
        off = f"--no{option.lstrip('-')}"
        if not launch.has(option) and not (isinstance(held, bool) and launch.has(off)):
            continue
        if count < len(keys):
            return Unknown(text, f"the command sets {option}", "flag", names=(text,))
        if not launch.has(option):
            return Known(False, "flag", text)
        given = launch.text(option)
        if not given and isinstance(held, bool):
            return Known(True, "flag", text)
        kind = _KINDS.get(type(held))
        value = convert(given, kind, "absl") if kind else literal(given)
        if not given or not isinstance(value, Known):
            return Unknown(text, f"the command sets {option}", "flag", names=(text,))
        return Known(value.value, "flag", text)
    return None

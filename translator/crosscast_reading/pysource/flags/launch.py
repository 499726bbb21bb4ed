"""What the launch command says of flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.flags.conversion import convert, literal
from crosscast_reading.pysource.values.value import Known, Value

if TYPE_CHECKING:
    from crosscast_reading.facts.command import Command
    from crosscast_reading.pysource.programs.flag import Flag

_SWITCHES = {"store_true": True, "store_false": False}


class Launch:
    """The flags of a command, by spelling."""

    def __init__(self, command: Command | None) -> None:
        self._facts: dict[str, Fact] = {}
        for fact in command.flags if command is not None else ():
            self._facts[_spelling(fact.expression)] = fact  # the last one counts

    def text(self, option: str) -> str:
        """Return the value that the command gives an option, as text; empty if it gives none."""
        fact = self._facts.get(_spelling(option))
        return str(fact.value) if fact is not None and isinstance(fact.value, str) else ""

    def add(self, settings: Mapping[str, object]) -> None:
        """Add settings of a file that the command names; its own options count more."""
        for name, entry in settings.items():
            value = entry.value if isinstance(entry, Known) else None
            if isinstance(value, str | int | float):
                fact = Fact(field="command.flag", value=value, expression=f"--{name}")
                self._facts.setdefault(_spelling(fact.expression), fact)

    def has(self, option: str) -> bool:
        """Whether the command gives an option, with or without a value."""
        return _spelling(option) in self._facts

    def given(self, flag: Flag) -> Known | None:
        """Return the value that the command gives a flag; None if it gives none that is known."""
        if not self._facts:
            return None
        for option in flag.options:
            fact = self._facts.get(_spelling(option))
            if fact is None or not fact.known:
                continue
            value = _value(flag, fact.value)
            if isinstance(value, Known):
                return Known(value.value, "flag", flag.name)
        if flag.action == "BooleanOptionalAction" or (
            flag.parser in ("absl", "dataclass") and "bool" in flag.type
        ):
            for prefix in ("--no-", "--no_", "--no"):
                if _spelling(prefix + flag.name.lstrip("-")) in self._facts:
                    return Known(False, "flag", flag.name)
        return None


def _spelling(option: str) -> str:
    bare = option.lstrip("-")
    return ("-" if len(bare) == 1 else "--") + bare.replace("-", "_")


def _value(flag: Flag, content: object) -> Value:
    if flag.action in _SWITCHES:
        return Known(_SWITCHES[flag.action])
    if isinstance(content, tuple | list):
        parts = [convert(item, flag.type, flag.parser) for item in content]
        if all(isinstance(p, Known) for p in parts):
            return Known([p.value for p in parts if isinstance(p, Known)])
        return parts[0]
    if content is True:
        return Known(True)
    if flag.type == "literal" and isinstance(content, str):
        return literal(content)
    if isinstance(content, int | float) and not isinstance(content, bool):
        content = str(content) if flag.type not in ("int", "float") else content
        if flag.type == "float" and isinstance(content, int):
            return Known(float(content))
    return convert(content, flag.type, flag.parser)

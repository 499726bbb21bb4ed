"""Arguments of Python calls and fields of dataclasses as settings of a library's trainer."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact, Plain, PlainValue
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Choice, Known, Symbol, Unknown, Value
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.readers.settings import Setting, Settings, SettingWriter

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.flag import Flag


def from_call(call: Call) -> Settings:
    """Return the arguments of a call as settings."""
    settings = Settings()
    for name, node in call.bound().items():
        module = call.module.owner_of(node)
        value = call.argument(name)
        if value is not None:
            settings.add(setting_of(name, value, node, call))
        match name, node:
            case "lr_scheduler_kwargs", ast.Dict(keys=keys, values=values):
                for key, inner in zip(keys, values, strict=True):
                    match key:
                        case ast.Constant(value=str(word)):
                            settings.add(setting_of(word, evaluate(inner, module), inner, call))
    return settings


def setting_of(name: str, value: Value, node: ast.expr, call: Call) -> Setting:
    """Return one argument as a setting, with its place."""
    places = (call.module.owner_of(node).span(node),)
    match value:
        case Known(value=plain, origin=origin):
            return Setting(name=name, value=plain_of(plain), places=places, origin=origin)
        case Unknown(has_default=True, default=plain, origin=origin):
            return Setting(name=name, value=plain_of(plain), places=places, origin=origin)
        case Symbol(name=symbol):
            return Setting(name=name, value=last(symbol).lower(), places=places)
        case Choice(options=((_, Known(value=plain, flag=flag)), *_)) if flag:
            return Setting(name=name, value=plain_of(plain), places=places, origin="flag")
    reason = value.reason if isinstance(value, Unknown) else "it depends on a condition"
    return Setting(name=name, known=False, reason=reason, places=places, origin="function_argument")


def from_flags(flags: Mapping[str, Flag]) -> Settings:
    """Return the fields of a dataclass that the command line fills."""
    settings = Settings()
    for name, flag in flags.items():
        match flag.value:
            case Known(value=value):
                places = (flag.span,)
                settings.add(
                    Setting(name=name, value=plain_of(value), places=places, origin="flag")
                )
    return settings


def plain_of(value: object) -> PlainValue:
    """Return a value as settings hold it."""
    if isinstance(value, tuple | list):
        return tuple(map(_plain_item, value))
    return _plain_item(value)


def _plain_item(value: object) -> Plain:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Symbol(name=name):
            return last(name).lower()
    return str(value)


def with_expressions(writer: SettingWriter, texts: Mapping[object, str]) -> list[Fact]:
    """Return the facts, each with the text of the source at its place."""
    return [
        replace(setting, expression=texts.get(setting.places[0], setting.expression))
        if setting.places and setting.origin not in ("literal", "library_default", "presence")
        else setting
        for setting in writer.facts
    ]


def texts_of(call: Call) -> dict[object, str]:
    """Return the texts of a call's arguments by place."""
    return {
        call.module.owner_of(node).span(node): call.module.owner_of(node).text(node)[:200]
        for node in call.bound().values()
    }

"""What the switches of a launch likely mean, where the program that it starts was not given."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.facts.fact import Fact, Layer, PlainValue
from crosscast_reading.readers.evaluations import evaluates
from crosscast_reading.readers.settings import Setting, normal
from crosscast_reading.sources.subject import Subject

_SWITCHES = {
    **dict.fromkeys(("fp16", "use_fp16", "enable_fp16", "half", "use_half"), "float16"),
    **dict.fromkeys(("bf16", "use_bf16", "enable_bf16", "bfloat16"), "bfloat16"),
    **dict.fromkeys(("amp", "use_amp", "enable_amp"), ""),
}
"""Switch of half precision to its type; empty where the program chooses it."""


def assumptions(subject: Subject) -> Iterator[Fact]:
    """Yield facts about precision inferred from names of switches; never certain ones."""
    if subject.program.modules or any(f.field.startswith("precision.") for f in subject.profile):
        return
    switches = [
        (Setting(name=normal(flag.expression), value=flag.value, known=flag.known), flag)
        for command in subject.commands
        if not evaluates(command)
        for flag in command.flags
        if normal(flag.expression) in _SWITCHES
    ]
    on = [(setting, flag) for setting, flag in switches if setting.switch is True]
    if on:
        setting, flag = on[0]
        yield _fact("precision.enabled", "always", flag)
        if dtype := _SWITCHES[setting.name]:
            yield _fact("precision.dtypes", (dtype,), flag)
            yield _fact("precision.compute_dtype", dtype, flag)
        yield _fact("precision.flag", f"--{setting.name}", flag)
    elif switches and all(setting.switch is False for setting, _ in switches):
        _, flag = switches[0]
        yield _fact("precision.enabled", "never", flag)
        yield _fact("precision.compute_dtype", "float32", flag)


def _fact(field: str, value: PlainValue, flag: Fact) -> Fact:
    return Fact(
        field=field,
        value=value,
        places=flag.places,
        layer=Layer.LAUNCHER,
        origin=flag.origin,
        confidence="likely",
        reader="shell",
    )

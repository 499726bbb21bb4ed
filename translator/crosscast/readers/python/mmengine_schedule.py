"""The list of schedulers in a configuration of MMEngine."""

from __future__ import annotations

from crosscast.readers.schedule_names import decay_of
from crosscast.readers.settings import SettingWriter
from crosscast.readers.tree import Tree


def tell_param_scheduler(writer: SettingWriter, schedulers: Tree | None) -> None:
    """Record the schedule that a sequence of schedulers gives."""
    if schedulers is None:
        return
    parts = schedulers.items if schedulers.items is not None else [schedulers]
    parts = [part for part in parts if part.keys is not None]
    decay: Tree | None = None
    for index, part in enumerate(parts):
        kind = (part.get("type") or part).text.rpartition(".")[2]
        if _warms_up(part, kind, first=index == 0, several=len(parts) > 1):
            _warmup(writer, part)
        elif decay is None and kind.endswith("LR") and decay_of(kind):
            decay = part
            writer.tell("schedule.name", decay_of(kind), part.setting("type"))
        elif decay is None and kind:
            decay = part
            reason = f"a schedule called {kind!r}"
            writer.unknown("schedule.name", reason, part.setting("type"))
    shown = decay or (parts[-1] if parts else None)
    if shown is not None:
        by_epoch = shown.get("by_epoch")
        converted = shown.get("convert_to_iter_based")
        steps = (by_epoch is not None and by_epoch.value is False) or (
            converted is not None and converted.value is True
        )
        unit = "step" if steps else "epoch"
        writer.tell("schedule.stepped_per", unit, shown.setting("type"), origin="presence")
        writer.by_library("schedule.on_skip")
    if parts and decay is None:
        writer.tell("schedule.name", "constant", parts[0].setting("type"), origin="presence")


def _warms_up(part: Tree, kind: str, *, first: bool, several: bool) -> bool:
    if kind in ("QuadraticWarmupLR", "LinearParamScheduler"):
        return True
    if kind not in ("LinearLR", "ConstantLR") or not first:
        return False
    factor = part.get("start_factor") or part.get("factor")
    small = factor is None or not isinstance(factor.value, int | float) or factor.value < 1
    return small and (several or part.get("end") is not None)


def _warmup(writer: SettingWriter, part: Tree) -> None:
    end = part.setting("end")
    by_epoch = part.get("by_epoch")
    unit = "steps" if by_epoch is not None and by_epoch.value is False else "epochs"
    writer.tell("schedule.has_warmup", "yes", part.setting("type"), end)
    if end is not None and end.number is not None:
        writer.tell("schedule.warmup", f"{end.number} {unit}", end)

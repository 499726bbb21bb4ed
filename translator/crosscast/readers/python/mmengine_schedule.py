"""The list of schedulers in a configuration of MMEngine."""

from __future__ import annotations

from crosscast.readers.config.settings import Said
from crosscast.readers.config.tree import Tree
from crosscast.readers.schedule_names import decay_of


def tell_param_scheduler(said: Said, schedulers: Tree | None) -> None:
    """Say what the schedulers, one after the other, make of the learning rate."""
    if schedulers is None:
        return
    parts = schedulers.items if schedulers.items is not None else [schedulers]
    parts = [one for one in parts if one.keys is not None]
    decay: Tree | None = None
    for index, one in enumerate(parts):
        kind = (one.get("type") or one).text.rpartition(".")[2]
        if _warms_up(one, kind, first=index == 0, several=len(parts) > 1):
            _warmup(said, one)
        elif decay is None and kind.endswith("LR") and decay_of(kind):
            decay = one
            said.tell("schedule.name", decay_of(kind), one.setting("type"))
        elif decay is None and kind:
            decay = one
            reason = f"a schedule called {kind!r}"
            said.unknown("schedule.name", reason, one.setting("type"))
    shown = decay or (parts[-1] if parts else None)
    if shown is not None:
        by_epoch = shown.get("by_epoch")
        converted = shown.get("convert_to_iter_based")
        steps = (by_epoch is not None and by_epoch.value is False) or (
            converted is not None and converted.value is True
        )
        unit = "step" if steps else "epoch"
        said.tell("schedule.stepped_per", unit, shown.setting("type"), origin="presence")
        said.by_library("schedule.on_skip")
    if parts and decay is None:
        said.tell("schedule.name", "constant", parts[0].setting("type"), origin="presence")


def _warms_up(one: Tree, kind: str, *, first: bool, several: bool) -> bool:
    if kind in ("QuadraticWarmupLR", "LinearParamScheduler"):
        return True
    if kind not in ("LinearLR", "ConstantLR") or not first:
        return False
    factor = one.get("start_factor") or one.get("factor")
    small = factor is None or not isinstance(factor.value, int | float) or factor.value < 1
    return small and (several or one.get("end") is not None)


def _warmup(said: Said, one: Tree) -> None:
    end = one.setting("end")
    by_epoch = one.get("by_epoch")
    unit = "steps" if by_epoch is not None and by_epoch.value is False else "epochs"
    said.tell("schedule.has_warmup", "yes", one.setting("type"), end)
    if end is not None and end.number is not None:
        said.tell("schedule.warmup", f"{end.number} {unit}", end)

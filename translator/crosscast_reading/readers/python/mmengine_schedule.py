"""The list of schedulers in a configuration of MMEngine."""

from __future__ import annotations

from crosscast_reading.readers.schedule_names import decay_of
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree


def tell_param_scheduler(writer: SettingWriter, schedulers: Tree | None) -> None:
    """Record the schedule that a sequence of schedulers gives."""
    match schedulers:
        case None | Tree(keys=None, items=None, value=None):
            return
        case Tree(items=list() as parts):
            pass
        case _:
            parts = [schedulers]
    decay: Tree | None = None
    for index, part in enumerate(parts):
        named = (part.get("type") or part).as_setting("type")
        kind = str(named.value).rpartition(".")[2]
        if _warms_up(part, kind, first=index == 0, several=len(parts) > 1):
            _warmup(writer, part)
        elif decay is None and not kind.endswith("Momentum"):
            decay = part
            if kind.endswith("LR") and decay_of(kind):
                writer.tell("schedule.name", decay_of(kind), named)
            else:
                writer.unknown("schedule.name", f"a schedule called {kind!r}", named)
    for part in [decay] if decay is not None else parts[-1:]:
        steps = (
            part.section("by_epoch").value is False
            or part.section("convert_to_iter_based").value is True
        )
        unit = "step" if steps else "epoch"
        writer.tell("schedule.stepped_per", unit, part.setting("type"), origin="presence")
        writer.by_library("schedule.on_skip")
    if decay is None:
        setting = schedulers.as_setting("param_scheduler")
        writer.tell("schedule.name", "constant", setting, origin="presence")


def _warms_up(part: Tree, kind: str, *, first: bool, several: bool) -> bool:
    if kind in ("QuadraticWarmupLR", "LinearParamScheduler"):
        return True
    if kind not in ("LinearLR", "ConstantLR") or not first:
        return False
    factor = part.setting("start_factor") or part.setting("factor")
    share = 0 if factor is None else factor.number or 0
    return share < 1 and (several or part.get("end") is not None)


def _warmup(writer: SettingWriter, part: Tree) -> None:
    end = part.setting("end")
    unit = "steps" if part.section("by_epoch").value is False else "epochs"
    writer.tell("schedule.has_warmup", "yes", part.setting("type"), end)
    match end:
        case Setting(number=int() as number):
            writer.tell("schedule.warmup", f"{number} {unit}", end)

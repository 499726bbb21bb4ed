"""Notes on what a change from apex to torch.amp alters for the user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crosscast_torch.migration.experimental.apex.scaler_creation import Start
from crosscast_torch.migration.experimental.apex.uses import REGISTERED, Uses

if TYPE_CHECKING:
    from crosscast_reading.trainstep.events import TrainingStep


def notes_of(uses: Uses, start: Start, read: Iterable[TrainingStep]) -> str:
    """Return the notes as text; empty for level O0.

    Args:
        uses: of apex.amp.
        start: the replacement of `amp.initialize`.
        read: the training steps of the program.
    """
    if start.off:
        return ""
    return " ".join(_notes(uses, start, list(read)))


def _notes(uses: Uses, start: Start, steps: list[TrainingStep]) -> Iterator[str]:
    yield (
        "torch.amp.GradScaler needs PyTorch 2.3. Apex patched all of torch, including evaluation; "
        "autocast covers the training pass only, so evaluation runs in float32 unless you wrap "
        "it in autocast. The lists of operations differ slightly (GELU is float32 in apex)."
    )
    if start.by_flag:
        yield "Level O2 is now the same as O1: float32 weights under autocast."
    elif start.level == "O2":
        yield (
            "O2 stored half weights and float32 copies; now the weights are float32 and are cast "
            "when used: the updates are the same, memory use is higher. Inputs need not be cast."
        )
    if start.scale:
        yield (
            "With a constant scale apex applied gradients that overflowed; GradScaler skips "
            "that step and halves the scale permanently."
        )
    if start.dynamic or not start.scale:
        yield "GradScaler has no upper limit for the scale; apex stopped at 2**24."
    if uses.of(REGISTERED):
        yield "Functions registered as half functions run in half under autocast anyway."
    if any(step.windowed for step in steps):
        yield (
            "Apex counted backward passes, GradScaler counts steps: with accumulation the scale "
            "grows after 2000 steps, not after 2000 micro-batches, and is halved once per window."
        )
    if start.losses or any("loss_id" in call.bound() for call in uses.of("scale_loss")):
        yield "All losses share one scale; apex had one scale per loss."
    if uses.of("state_dict") or uses.of("load_state_dict"):
        yield "The state of the scaler has another format: older checkpoints cannot be loaded."
    if any(step.of("schedule") for step in steps):
        yield (
            "A learning rate schedule still advances when a step is skipped; PyTorch warns "
            "if the first step is skipped."
        )

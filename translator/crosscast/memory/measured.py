"""Memory of a model from short runs, or from a compiler's plans of them."""

from __future__ import annotations

from crosscast.memory.records import COMPONENTS, Component, Device, Estimate, MeasuredModel
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import Target

MARGIN = 0.25
"""Share of the peak to keep free: allocators hand out larger pieces than they are asked for, and on
a GPU nothing was measured."""
NOTES = {
    "parameters": "weights and buffers",
    "half_copies": "at most: of weights and activations; the runs computed in float32",
    "gradients": "of all trained weights",
    "optimizer": "moments",
    "ema": "averaged weights",
    "batch": "rows of a window; some of them are in the measured peak as well",
    "activations": "everything else that was allocated at the peak",
}


def estimate_of_runs(
    recipe: Recipe, target: Target, device: Device, model: MeasuredModel
) -> Estimate:
    """Return the memory of one process of a recipe whose model was run or planned in windows."""
    rows = recipe.batch.micro_batch_size
    gradients = 4 * model.trained
    fixed = model.parameters + model.optimizer + model.ema
    activations = max(0, model.peak_at(rows) - fixed - gradients)
    # Whatever a half model keeps is a float32 tensor that was measured, or a cast of one.
    copies = 2 * model.trained + activations // 2
    sizes = {
        "parameters": model.parameters,
        "half_copies": copies if model.widened else 0,
        "gradients": gradients,
        "optimizer": model.optimizer,
        "ema": model.ema,
        "batch": model.held_row * rows * recipe.accumulation.steps,
        "activations": activations,
    }
    components = tuple(
        Component(
            name, sizes[name], "uint8" if name in ("batch", "activations") else "float32", note
        )
        for name, note in NOTES.items()
        if sizes[name]
    )
    peak = sum(component.bytes for component in components)
    return Estimate(
        target=target.name,
        device=device,
        components=tuple(sorted(components, key=lambda part: COMPONENTS.index(part.name))),
        peak_bytes=peak,
        peak_phase="unknown",
        margin_bytes=int(peak * MARGIN),
        simple_formula_bytes=None,
        evidence="planned" if model.planned else "measured",
        bound=model.widened,
        fixed_bytes=fixed,
    )

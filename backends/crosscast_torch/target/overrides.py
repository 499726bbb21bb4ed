"""Settings below `overrides.torch`."""

from __future__ import annotations

from crosscast.recipe.document import Section


class TorchOverrides(Section):
    """What only PyTorch knows."""

    fused_optimizer: bool = True
    """Use the fused kernels of the optimizer where the dialect has them, except for scaled momentum
    (CC315) and for Adam and AdamW with betas close to 1 (CC399)."""
    compile: bool = False
    """Compile the model with torch.compile, which gains nothing for small models on a CPU
    (docs/explanation/performance.md); refused for a step, which is given its model."""

"""What answers are ranked by, which is not shown: it is no estimate of a time.

Measured on an H100, bfloat16 takes 0.78 of the time of float32 with BERT-base and 1.23 with
BERT-small (docs/measurements/half-precision-gpu.md), where this says 0.07.

A window is `steps` micro-batches of `tokens` tokens each. The time of one is modelled as

    passes x (tokens + n_half) / rate

`passes`: the forward pass counts 1 and the backward pass 2, as both products of a dense layer's
backward pass are as large as that of its forward pass (Kaplan et al., "Scaling Laws for Neural
Language Models", 2020, section 2.1). Activation checkpointing adds about one forward pass (Chen et
al., "Training Deep Nets with Sublinear Memory Cost", 2016): 4 instead of 3.

`n_half`: work of half the peak rate needs so many tokens (Hockney's n_1/2, "Parallel Computers",
1981). It is taken from the device's ridge point, peak rate over memory bandwidth (Williams,
Waterman and Patterson, "Roofline", 2009): a dense layer of n tokens does 2 n operations for every
weight it reads, so with b bytes a weight, n_half = ridge x b / 2.

Not modelled: parts that are equal for all answers (the optimizer's step), the quadratic part of
attention, operations other than matrix products (which exaggerates float32 against half), the
start of operations, and TensorFloat-32.
"""

from __future__ import annotations

from crosscast.fit.devices import HALVES, GpuModel

FORWARD_AND_BACKWARD, RECOMPUTE = 3, 1


def n_half(device: GpuModel, dtype: str) -> float:
    """Tokens of a micro-batch with which dense layers reach half of the peak rate."""
    ridge = device.tflops(dtype) * 1e12 / (device.bandwidth_gbs * 1e9)
    return ridge * (2 if dtype in HALVES else 4) / 2


def window_cost(
    *, steps: int, tokens: int, checkpointing: bool, dtype: str, device: GpuModel
) -> float:
    """Return the modelled time of a window in an arbitrary unit.

    Args:
        steps: Micro-batches of a window, on one process.
        tokens: Tokens of one micro-batch.
        checkpointing: Whether the forward pass of the layers is recomputed.
        dtype: Type of the matrix products.
        device: The device.
    """
    passes = FORWARD_AND_BACKWARD + (RECOMPUTE if checkpointing else 0)
    return steps * passes * (tokens + n_half(device, dtype)) / device.tflops(dtype)

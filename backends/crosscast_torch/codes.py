"""Codes of what the rows of the PyTorch backend say."""

from __future__ import annotations

from crosscast.messages.codes import Code

CODES = (
    Code(
        "CC310",
        "loss scale has no bounds",
        "torch.amp.GradScaler falls to 0 and grows without limit; the script clamps it.",
    ),
    Code(
        "CC311",
        "loss scale has no hysteresis",
        "torch.amp.GradScaler backs off at the first overflow; the script keeps its own counter.",
    ),
    Code(
        "CC312",
        "no static loss scale",
        "torch.amp.GradScaler is always dynamic; the script sets the scale back every step.",
    ),
    Code(
        "CC313",
        "clip formula differs",
        "clip_grad_norm_ always adds 1e-6 to the norm; the script clips by itself.",
    ),
    Code(
        "CC314",
        "no elastic launch",
        "The launcher of this PyTorch lets a run end with its first failed process. Write "
        "launch.rendezvous: static, or emit for PyTorch 1.11 or newer.",
    ),
    Code(
        "CC315",
        "no fused momentum under loss scaling",
        "Fused SGD goes on from uninitialised memory when its first step was skipped.",
    ),
    Code(
        "CC316",
        "mixed precision needs a GPU",
        "torch.cuda.amp leaves the CPU in float32; the script for PyTorch before 2.4 refuses to "
        "pretend.",
    ),
    Code(
        "CC317",
        "loss scale grows to inf",
        "Before PyTorch 2.1 GradScaler grew to inf, from where it never returns; the script keeps "
        "the last finite scale.",
    ),
    Code(
        "CC318",
        "no bfloat16 autocast",
        "torch.cuda.amp.autocast knows float16 only before PyTorch 1.10.",
    ),
    Code(
        "CC319",
        "no activation checkpointing before PyTorch 1.11",
        "torch.utils.checkpoint has no use_reentrant=False, which the script calls, before 1.11.",
    ),
    Code(
        "CC360",
        "no clipping by the norm of each gradient",
        "clip_grad_norm_ takes the norm of all gradients; the script calls it for each.",
    ),
    Code(
        "CC361",
        "no rate inside the momentum",
        "torch.optim.SGD multiplies the momentum by the rate, Keras the gradients before they "
        "enter it; the script brings its own optimizer.",
    ),
    Code(
        "CC362",
        "bias correction and epsilon of Adam are fixed",
        "torch.optim.Adam and AdamW always correct the bias and add epsilon behind it; the script "
        "sets rate and epsilon of every step so that this cancels.",
    ),
    Code(
        "CC363",
        "average of the weights starts later",
        "AveragedModel copies the weights at its first update, when they have changed already; "
        "the script keeps its own averages.",
    ),
    Code(
        "CC364",
        "no float32 masters",
        "torch.optim updates the weights it is given; the script gives it float32 masters of the "
        "half weights and copies them back.",
    ),
    Code(
        "CC365",
        "optimizer not in torch.optim",
        "torch.optim has no LAMB and no Lion, and Adafactor since 2.5 only; the script brings the "
        "optimizer along.",
    ),
)

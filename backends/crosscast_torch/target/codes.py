"""Diagnostic codes of the PyTorch backend's rows."""

from __future__ import annotations

from crosscast.messages.codes import Code

CODES = (
    Code(
        "CC309",
        "no fused attention before PyTorch 2.0",
        "scaled_dot_product_attention is new in PyTorch 2.0; the script computes attention with "
        "two matrix products and a softmax, and keeps the scores for the backward pass.",
    ),
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
        "torch.amp.GradScaler is always dynamic; the script resets the scale after every step.",
    ),
    Code(
        "CC313",
        "clip formula differs",
        "clip_grad_norm_ always adds 1e-6 to the norm; the script implements clipping.",
    ),
    Code(
        "CC314",
        "no elastic launch",
        "The launcher of this PyTorch version ends the run when a process fails. Write "
        "launch.rendezvous: static, or emit for PyTorch 1.11 or newer.",
    ),
    Code(
        "CC315",
        "no fused momentum under loss scaling",
        "Fused SGD reads uninitialized memory after a skipped first step.",
    ),
    Code(
        "CC316",
        "mixed precision needs a GPU",
        "torch.cuda.amp computes in float32 on a CPU; the script for PyTorch before 2.4 refuses "
        "to run there.",
    ),
    Code(
        "CC317",
        "loss scale grows to inf",
        "Before PyTorch 2.1, GradScaler could grow to inf and never recover; the script keeps "
        "the last finite scale.",
    ),
    Code(
        "CC318",
        "no bfloat16 autocast",
        "Before PyTorch 1.10, torch.cuda.amp.autocast supports only float16.",
    ),
    Code(
        "CC319",
        "no activation checkpointing before PyTorch 1.11",
        "torch.utils.checkpoint has no use_reentrant=False, which the script needs, before 1.11.",
    ),
    Code(
        "CC360",
        "no clipping by the norm of each gradient",
        "clip_grad_norm_ computes one norm of all gradients; the script calls it for each "
        "gradient.",
    ),
    Code(
        "CC361",
        "no rate inside the momentum",
        "torch.optim.SGD multiplies the momentum by the learning rate, Keras the gradients "
        "before they enter it; the script defines its own optimizer.",
    ),
    Code(
        "CC362",
        "bias correction and epsilon of Adam are fixed",
        "torch.optim.Adam and AdamW always correct the bias and add epsilon after the "
        "correction; the script sets rate and epsilon in every step to cancel this.",
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
        "torch.optim would update the half weights in half; the script passes it float32 masters "
        "and copies them back.",
    ),
    Code(
        "CC365",
        "optimizer not in torch.optim",
        "torch.optim has no LAMB and no Lion, and has Adafactor since 2.5; the script defines "
        "the optimizer.",
    ),
    Code(
        "CC399",
        "betas close to 1",
        "On a GPU, fused kernels of Adam in PyTorch compute 1 - beta in float32: the share of a "
        "new gradient in a moment is 1.3e-5 off at 0.999, 1.7e-4 at 0.9999 and 1.4e-3 at 0.99999. "
        "Where it is more than 1e-4 off, the script's optimizer is not fused.",
    ),
)

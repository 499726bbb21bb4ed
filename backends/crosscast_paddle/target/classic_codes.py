"""Diagnostic codes of the classic Paddle scripts."""

from __future__ import annotations

from crosscast.messages.codes import Code

CLASSIC_CODES = (
    Code(
        "CC343",
        "clip formula differs",
        "The library function adds another epsilon to the norm; the script implements clipping.",
    ),
    Code(
        "CC390",
        "overflow is no skip",
        "The script does not skip a step with non-finite gradients: it updates with zeros "
        "(dynamic scale) or with what it has (constant scale). Keep overflows rare.",
    ),
    Code(
        "CC391",
        "the script counts one step more",
        "ERNIE's own scaler grows and backs off one step after the number in its flags; run.sh "
        "passes one less.",
    ),
    Code(
        "CC392",
        "flags without effect",
        "The script parses the flag but never uses it; only its built-in value is possible.",
    ),
    Code(
        "CC393",
        "loss scaling the script does not have",
        "LARK has only a constant scale; the others have the floor 1, no ceiling and count "
        "overflows in a row.",
    ),
    Code(
        "CC394",
        "clipping is fixed in the script",
        "Write `clipping: {kind: global_norm, max_norm: 1.0, eps: 0.0}`; in LARK with a constant "
        "scale above 1, max_norm is that scale.",
    ),
    Code(
        "CC395",
        "optimizer is fixed in the script",
        "Adam with betas 0.9 and 0.999, epsilon 1e-8 before the bias correction, decoupled decay.",
    ),
    Code(
        "CC396",
        "schedule the script does not have",
        "Linear from the start with a warm-up, inverse square root, or constant without one; a "
        "step that overflows counts (`tick: attempt`).",
    ),
    Code(
        "CC385",
        "the script counts epochs",
        "run.sh computes whole epochs from TRAIN_ROWS and prints the number of steps.",
    ),
    Code(
        "CC386",
        "not available in the script",
        "No loss but plain cross-entropy, no metrics, no accumulation, rows without a label, "
        "averaged weights, trackers or activation checkpointing, one machine and no scheduler, and "
        "no step to import.",
    ),
    Code(
        "CC387",
        "the script reads its own data",
        "It tokenizes text files itself and visits rows in its own order.",
    ),
    Code(
        "CC388",
        "model the script does not build",
        "Its encoder is configured by the JSON file beside run.sh; the rest is fixed in its code.",
    ),
    Code(
        "CC389",
        "half precision is the script's choice",
        "The script fixes which operations and weights are float16, the only half type.",
    ),
)

"""Diagnostic codes of the classic Paddle scripts."""

from __future__ import annotations

from crosscast.messages.codes import Code

CLASSIC_CODES = (
    Code(
        "CC343",
        "clip formula differs",
        "The stock function adds another epsilon to the norm; the script clips by itself.",
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
        "The script parses the flag and never uses it; only its built-in value can be meant.",
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
        "run.sh computes whole epochs from TRAIN_ROWS and tells how many steps they are.",
    ),
    Code(
        "CC386",
        "the script has no such thing",
        "No accumulation, rows without a label, averaged weights or activation checkpointing, "
        "one machine and no scheduler, and no step to import.",
    ),
    Code(
        "CC387",
        "the script reads data of its own",
        "It tokenises text files itself and visits rows in an order of its own.",
    ),
    Code(
        "CC388",
        "model the script does not build",
        "Its encoder is configured by the JSON file beside run.sh; the rest is fixed in its code.",
    ),
    Code(
        "CC389",
        "half precision is the script's choice",
        "Which operations and weights are float16 is written in the script, and float16 is all.",
    ),
)

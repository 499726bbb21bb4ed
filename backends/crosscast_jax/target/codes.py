"""Diagnostic codes of the JAX backend's rows."""

from __future__ import annotations

from crosscast.messages.codes import Code

CODES = (
    Code(
        "CC410",
        "no autocast",
        "JAX has no autocast: a layer computes in its `dtype`. The emitted model names the type of "
        "every layer. In your own model the script sets it for layers of Flax that have none: "
        "those that multiply matrices compute in half, normalizations and tables as "
        "`precision.ops` says. Other operations follow the types of what they get.",
    ),
    Code(
        "CC411",
        "no loss scaling",
        "JAX, Flax NNX and optax scale no losses. The script scales the loss, and keeps weights "
        "and optimizer as they are where a gradient is not finite.",
    ),
    Code(
        "CC413",
        "clip formula differs",
        "optax.clip_by_global_norm adds nothing to the norm; the script implements clipping.",
    ),
    Code(
        "CC414",
        "corrections of Adam",
        "optax computes 1 - beta**t in float32, which is off by 1e-5 in the first updates for a "
        "beta of 0.999. The script computes it without cancellation.",
    ),
    Code(
        "CC415",
        "another Adafactor",
        "optax.adafactor factors only matrices of at least 128 rows and columns and adds epsilon "
        "to every square; the script implements the neutral formula.",
    ),
    Code(
        "CC416",
        "momentum with the rate inside",
        "optax applies the learning rate outside the momentum; the script implements this form.",
    ),
    Code(
        "CC417",
        "attention is computed again",
        "Flax composes attention of two matrix products and a softmax. In the script the backward "
        "pass computes it again, so that no scores are kept.",
    ),
    Code(
        "CC418",
        "statistics of each process",
        "In Flax a normalization layer takes its running statistics over the rows of its process. "
        "Checkpoints and weights hold those of the first process.",
    ),
    Code(
        "CC419",
        "formula of Adam",
        "optax adds epsilon after the bias correction, and always corrects; the script implements "
        "the form of the recipe.",
    ),
    Code(
        "CC420",
        "no restarts",
        "JAX has no launcher, and launch.sh starts its processes once. Set launch.rendezvous to "
        "static; a requeued SLURM job resumes from its checkpoint.",
    ),
    Code(
        "CC421",
        "no writer for TensorBoard",
        "JAX and optax write no files for TensorBoard, and the writer of Flax needs TensorFlow; "
        "the script writes them with tensorboardX.",
    ),
)

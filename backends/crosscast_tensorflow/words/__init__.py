"""Names of TensorFlow and Keras."""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import FrameworkPackages, Words
from crosscast_tensorflow.words import keras_signatures, signatures
from crosscast_tensorflow.words.mixed_precision import MIXED_PRECISION

WORDS = Words(
    packages=(
        FrameworkPackages(
            "tensorflow",
            own=("tensorflow", "keras", "tf_keras"),
            known=("tensorflow_addons",),
            steps=(
                *("train.", "optimizers", "GradientTape", "mixed_precision", "clip_by", "Model."),
            ),
            aliases=("tf",),
        ),
    ),
    signatures={**signatures.SIGNATURES, **keras_signatures.SIGNATURES},
    public_names={
        "tensorflow.compat.v2": "tensorflow",
        "tensorflow.python.keras": "tensorflow.keras",
        "keras.src": "keras",
        "keras.api": "keras",
    },
    results={"tensorflow.clip_by_global_norm": ("tensorflow.Tensor", "tensorflow.Tensor")},
    distributions={"tensorflow": "tensorflow"},
    roles={
        "optimizer": r"keras\.optimizers\.(?!schedules\b)(\w+\.)*[A-Z]\w+"
        r"|tensorflow_addons\.optimizers\.[A-Z]\w+|tensorflow\.train\.\w*Optimizer"
        r"|tensorflow\.train\.experimental\.enable_mixed_precision_graph_rewrite",
        "schedule": r"keras\.optimizers\.schedules\.[A-Z]\w+"
        r"|keras\.callbacks\.(ReduceLROnPlateau|LearningRateScheduler)",
        "clips_a_copy": r"tensorflow\.clip_by_(global_norm|norm|value)",
    },
    foreign_arguments=(
        (
            r"keras\.optimizers\.(legacy\.)?(Adam|AdamW|SGD)",
            {
                "betas": "Adam has `beta_1` and `beta_2`",
                "beta1": "Adam has `beta_1`",
                "beta2": "Adam has `beta_2`",
                "eps": "Adam has `epsilon`",
                "params": "leave it out: the variables come with the gradients",
                "parameters": "leave it out: the variables come with the gradients",
            },
        ),
    ),
    mixed_precision=MIXED_PRECISION,
)
"""See `pysource.libraries.words`."""

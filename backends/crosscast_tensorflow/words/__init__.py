"""Names of TensorFlow and Keras."""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import FrameworkPackages, Words
from crosscast_tensorflow.words import keras_signatures, signatures

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
)
"""See `pysource.libraries.words`."""

"""API generations of TensorFlow and Keras that can be emitted.

Features:
    keras3: the package keras; without it tf.keras, or tf_keras where TensorFlow brings Keras 3.
    reduce_retracing: tf.function generalises shapes by that argument.
"""

from __future__ import annotations

from crosscast.targets.backend import Dialect
from crosscast.targets.capability import Evidence

_KERAS2 = (
    "# or a newer tensorflow with the tf_keras of its version",
    "tensorflow>=2.5,<2.16",
    "numpy",
    "safetensors>=0.6",
)
_ALONE = (("KERAS_BACKEND", "tensorflow"),)
"""Keras must not bring another framework into the process."""

DIALECTS = (
    Dialect(
        name="keras3",
        title="TensorFlow 2.16 or newer (Keras 3)",
        since="2.16",
        newest="2.21",
        requirements=("tensorflow>=2.16", "keras>=3.0.5", "numpy>=1.26", "safetensors>=0.6"),
        features=frozenset({"keras3", "reduce_retracing"}),
        environment=_ALONE,
    ),
    Dialect(
        name="keras2",
        title="TensorFlow 2.5 to 2.15, or tf_keras (Keras 2)",
        since="2.5",
        until="2.16",
        requirements=_KERAS2,
        environment=(*_ALONE, ("TF_USE_LEGACY_KERAS", "1")),
    ),
    Dialect(
        name="graph-rewrite",
        title="TensorFlow 2.5 to 2.15, or tf_keras (mixed precision by graph rewrite)",
        oldest="2.5",
        evidence=Evidence.DOCUMENTED,
        requirements=_KERAS2,
        environment=_ALONE,
    ),
)

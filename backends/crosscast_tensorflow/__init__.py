"""TensorFlow and Keras: the target, and what is known of programs for it."""

from __future__ import annotations

from pathlib import Path

from crosscast.targets.source_support import MigrationApi, SourceSupport

TEXTS = Path(__file__).parent / "texts"
"""Chinese texts of its codes, rules and hints."""
SUPPORT = SourceSupport(
    text_readers={
        "model_garden_yaml": "crosscast_tensorflow.reading.model_garden_yaml:READER",
    },
    python_readers={
        "keras": "crosscast_tensorflow.reading.keras:READER",
        "keras_optimizers": "crosscast_tensorflow.reading.keras_optimizers:READER",
        "tf_garden": "crosscast_tensorflow.reading.garden:READER",
        "tf_loops": "crosscast_tensorflow.reading.loops:READER",
        "tf_optimizers": "crosscast_tensorflow.reading.optimizers:READER",
        "tf_rewrite": "crosscast_tensorflow.reading.rewrite:READER",
    },
    rules="crosscast_tensorflow.rules",
    codemods="crosscast_tensorflow.migration.codemods",
    apis=(
        MigrationApi(
            name="keras3",
            codes="CM2",
            modules=("tensorflow", "keras", "tf_keras"),
            framework="tensorflow",
            old_environment=(("TF_USE_LEGACY_KERAS", "1"),),
        ),
        MigrationApi(
            name="tf.compat.v1",
            codes="CM4",
            modules=("tensorflow",),
            framework="tensorflow",
            old_python="CROSSCAST_TENSORFLOW_1_15",
        ),
    ),
    words="crosscast_tensorflow.words:WORDS",
    texts=TEXTS,
)
"""Programs that others wrote, see `targets.source_support`."""

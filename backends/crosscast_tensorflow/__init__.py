"""TensorFlow and Keras: the target, and what is known of programs for it."""

from __future__ import annotations

from pathlib import Path

from crosscast.targets.source_support import Era, MigrationApi, SourceSupport

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
    eras=(
        Era(
            name="keras2",
            title="Keras 2",
            codemods="crosscast_tensorflow.migration.experimental.codemods_keras2",
            programs=21,
            right=1,
            wrong=12,
            not_looked_at="values, shapes and what your own functions return: run it once, or "
            "run it as it is with the package tf_keras and TF_USE_LEGACY_KERAS=1 (import tf_keras "
            "instead of keras)",
        ),
        Era(
            name="tensorflow1",
            title="TensorFlow 1",
            codemods="crosscast_tensorflow.migration.experimental.codemods_tensorflow1",
            programs=22,
            right=8,
            wrong=5,
        ),
    ),
    apis=(
        MigrationApi(
            name="keras3",
            codes="CM2",
            modules=("tensorflow", "keras", "tf_keras"),
            framework="tensorflow",
            old_environment=(("TF_USE_LEGACY_KERAS", "1"),),
            public_names="crosscast_tensorflow.names:NAMES",
        ),
        MigrationApi(
            name="tf.compat.v1",
            codes="CM4",
            modules=("tensorflow",),
            framework="tensorflow",
            old_python="CROSSCAST_TENSORFLOW_1_15",
            public_names="crosscast_tensorflow.names:WITH_TF_KERAS",
        ),
    ),
    words="crosscast_tensorflow.words:WORDS",
    models="crosscast_tensorflow.models:MODELS",
    texts=TEXTS,
)
"""Programs that others wrote, see `targets.source_support`."""

"""What the parity harness must know of TensorFlow and Keras."""

from __future__ import annotations

from crosscast.targets.harness import Bugs, Edit, Harness, Pace, Updates

_HINTS = {
    r"Unknown variable": "an optimizer takes the variables of its first step only: make a new one "
    "for each compile",
    r"A KerasTensor cannot be used": "use the function of keras.ops, or call it in a layer",
    r"of int(32|64) is not in the list|dtype int(32|64)": "Keras 3 calls a schedule with an "
    "integer: cast the step to float32 first",
}

HARNESS = Harness(
    inside="crosscast_tensorflow.inside",
    environment={
        "TF_NUM_INTRAOP_THREADS": "{threads}",
        "TF_NUM_INTEROP_THREADS": "1",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    },
    numeric_variables=("TF_", "XLA_", "KERAS_"),
    pace=Pace(factor=1.3, start=5.0, load=6.0),  # every run traces its graphs again
    packages=("keras", "tf_keras"),
    rank_variable="TF_CONFIG",
    float32_betas=True,
    # Of 9, 10 or 18 equal runs the 8th adds some gradients in another order: seen in 2.21 with one
    # thread, with and without oneDNN. `make false-alarms` repeats it, in "no accumulation".
    repeats_bits=False,
    bugs=Bugs(
        half_mark='DTYPE_POLICY = "mixed_',
        tanh_gelu=Edit("tf.nn.gelu(y)", "tf.nn.gelu(y, approximate=True)", file="model.py"),
        no_autocast=(Edit("set_dtype_policy(DTYPE_POLICY)", 'set_dtype_policy("float32")'),),
        half_loss=(
            Edit(
                "logits = tf.cast(model(**inputs, training=training), tf.float32)",
                "logits = model(**inputs, training=training)",
            ),
        ),
    ),
    refusal_hints=_HINTS,
    updates=Updates(
        modules=("keras", "tf_keras", "tensorflow"),
        notes=("functions ran eagerly, mixed policies computed in float32",),
        session_notes=("weights that were drawn got other values, the same on both sides",),
        skips_counted="Keras 2 counts a skipped update: what follows one was not compared",
        rounds_betas=True,
        stays_on_cpu=True,
    ),
)

"""What a mixed policy of Keras does to types within the `call` of a model.

A layer casts its inputs to half and returns half; a raw operation of TensorFlow follows its inputs
(tests/probes/tensorflow/test_policy_types.py).
"""

from __future__ import annotations

from crosscast_reading.pysource.libraries.precision_words import MixedPrecision, Operations

MIXED_PRECISION = MixedPrecision(
    policies=r"keras\.mixed_precision\.(set_global_policy|set_dtype_policy)"
    r"|keras\.config\.set_dtype_policy",
    mixed=r"mixed_(b)?float16",
    run=("call",),
    chains=r"(tensorflow\.)?keras\.(models\.)?Sequential",
    layers=r"(tensorflow\.)?keras\.layers\.[A-Z]\w+",
    casts=r"tensorflow\.cast|keras\.ops\.cast",
    float32=r"tensorflow\.float32|float32",
    half_types=r"tensorflow\.(float16|bfloat16|half)|float16|bfloat16",
    layer_type="dtype",
    operations=(
        Operations(
            kind="norm",
            stores="half",
            names=r"(tensorflow\.)?keras\.layers\.\w*Normalization",
        ),
        Operations(
            kind="attention",
            stores="half",
            names=r"(tensorflow\.)?keras\.layers\.(MultiHeadAttention|GroupQueryAttention)"
            r"|keras\.ops\.dot_product_attention",
        ),
        Operations(kind="dense", stores="half", names=r"(tensorflow\.)?keras\.layers\.[A-Z]\w+"),
        Operations(
            kind="softmax",
            stores="input",
            names=r"tensorflow\.nn\.(log_)?softmax|keras\.ops\.(log_)?softmax",
        ),
        Operations(
            kind="pointwise",
            stores="input",
            names=r"(tensorflow\.nn|keras\.ops)\.(gelu|relu|silu|swish|elu|tanh|sigmoid|leaky_relu)"
            r"|tensorflow\.(tanh|sigmoid)",
        ),
        Operations(
            kind="sum", stores="input", names=r"(tensorflow(\.math)?|keras\.ops)\.(add|subtract)"
        ),
        Operations(
            kind="same",
            stores="input",
            names=r"(tensorflow|keras\.ops)\.(reshape|transpose|concat|concatenate|stack|split|squeeze"
            r"|expand_dims|identity|pad|tile|roll)|tensorflow\.nn\.dropout",
        ),
        Operations(
            kind="loss",
            stores="input",
            logits=1,
            names=r"tensorflow\.nn\.(sparse_)?softmax_cross_entropy_with_logits"
            r"|tensorflow\.nn\.sigmoid_cross_entropy_with_logits",
        ),
    ),
)
"""See `pysource.libraries.precision_words`."""

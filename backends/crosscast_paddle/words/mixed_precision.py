"""What `auto_cast` at level O1 does to types.

Read in the lists of Paddle 3.3.1 (`paddle.amp.amp_lists`), which are the same for float16 and
bfloat16; tests/probes/paddle/test_amp.py compares these rows with them.
"""

from __future__ import annotations

from crosscast_reading.pysource.libraries.precision_words import MixedPrecision, Operations

_FUNCTIONAL = r"paddle\.nn\.functional\."
_SAME_METHODS = frozenset(
    {
        *("reshape", "transpose", "flatten", "squeeze", "unsqueeze", "expand", "tile", "chunk"),
        *("split", "unbind", "clone", "masked_fill", "reshape_", "squeeze_", "unsqueeze_", "T"),
    }
)

MIXED_PRECISION = MixedPrecision(
    regions=r"paddle\.amp\.(auto_cast|autocast|amp_guard)|paddle\.amp\.auto_cast\.\w+",
    half_throughout={"level": ("O2", "O3", "OD")},
    run=("forward",),
    runs_first=r"paddle\.distributed\.fleet\.(utils\.)?recompute",
    chains=r"paddle\.nn\.Sequential",
    lists=r"paddle\.nn\.(LayerList|Sequential|LayerDict)",
    layers=r"paddle\.nn\.(\w+\.)*[A-Z]\w+",
    casts=r"paddle\.cast",
    float32=r"paddle\.float32|float32",
    half_types=r"paddle\.(float16|bfloat16)|float16|bfloat16",
    operations=(
        Operations(
            kind="dense",
            stores="half",
            names=rf"{_FUNCTIONAL}(linear|conv\dd)|paddle\.nn\.(Linear|Conv[123]D(Transpose)?)",
        ),
        Operations(
            kind="product",
            stores="half",
            names=r"paddle\.(matmul|mm|bmm|einsum)",
            methods=frozenset({"matmul", "mm", "bmm"}),
        ),
        Operations(
            kind="attention",
            stores="half",
            names=rf"{_FUNCTIONAL}(scaled_dot_product_attention|flash_attention(\.\w+)?)"
            r"|paddle\.nn\.MultiHeadAttention",
        ),
        Operations(
            kind="norm",
            stores="float32",
            names=rf"{_FUNCTIONAL}(layer_norm|group_norm)|paddle\.nn\.(LayerNorm|GroupNorm)",
        ),
        Operations(
            kind="norm",
            stores="input",
            names=rf"{_FUNCTIONAL}(batch_norm|instance_norm)"
            r"|paddle\.nn\.((Sync)?BatchNorm([123]D)?|InstanceNorm[123]D)",
        ),
        Operations(
            kind="softmax",
            stores="float32",
            names=rf"{_FUNCTIONAL}(log_)?softmax|paddle\.nn\.(Log)?Softmax",
            methods=frozenset({"softmax"}),
        ),
        Operations(
            kind="pointwise",
            stores="input",
            names=rf"{_FUNCTIONAL}(gelu|silu|swish|relu6?|leaky_relu|elu|mish|hardswish|tanh|sigmoid)"
            r"|paddle\.(tanh)"
            r"|paddle\.nn\.(GELU|Silu|Swish|ReLU6?|LeakyReLU|ELU|Mish|Hardswish|Tanh|Sigmoid)",
            methods=frozenset({"tanh"}),
        ),
        Operations(
            kind="sum",
            stores="input",
            names=r"paddle\.(add|subtract)",
            methods=frozenset({"add", "subtract"}),
        ),
        Operations(
            kind="same",
            stores="input",
            names=rf"{_FUNCTIONAL}(dropout\w*|pad)|paddle\.nn\.(Dropout\w*|Identity|Flatten)"
            r"|paddle\.(concat|stack|reshape|transpose|flatten|chunk|split|unbind|clone|squeeze"
            r"|unsqueeze|scale)",
            methods=_SAME_METHODS,
        ),
        Operations(
            kind="lookup", stores="float32", names=rf"paddle\.nn\.Embedding|{_FUNCTIONAL}embedding"
        ),
        Operations(
            kind="loss",
            stores="float32",
            names=r"paddle\.nn\.(functional\.)?(cross_entropy|softmax_with_cross_entropy|nll_loss"
            r"|binary_cross_entropy_with_logits|kl_div|mse_loss|CrossEntropyLoss|NLLLoss"
            r"|BCEWithLogitsLoss|KLDivLoss|MSELoss)",
        ),
    ),
    fused_attention="F.scaled_dot_product_attention",
    fused_words=("scaled_dot_product", "flash_attention", "memory_efficient_attention"),
)
"""See `pysource.libraries.precision_words`."""

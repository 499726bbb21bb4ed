"""What autocast on CUDA does to types.

Its lists are registrations for the dispatch key AutocastCUDA. tests/probes/torch/test_autocast.py
shows them in the installed release; `rms_norm` came with PyTorch 2.12 (pytorch/pytorch#174824).
"""

from __future__ import annotations

from crosscast_reading.pysource.libraries.precision_words import MixedPrecision, Operations

_FUNCTIONAL = r"torch\.nn\.functional\."
_SAME_METHODS = frozenset(
    {
        *("view", "reshape", "transpose", "permute", "contiguous", "flatten", "unflatten"),
        *("squeeze", "unsqueeze", "expand", "expand_as", "repeat", "chunk", "split", "unbind"),
        *("masked_fill", "masked_fill_", "clone", "detach_", "swapaxes", "movedim", "roll", "t"),
        *("requires_grad_", "view_as", "reshape_as", "narrow", "select", "index_select", "cuda"),
    }
)

MIXED_PRECISION = MixedPrecision(
    regions=r"torch\.(cuda\.)?amp\.(autocast|auto_cast|autocast_mode\.autocast)|torch\.autocast",
    devices=frozenset({"cuda"}),
    run=("forward",),
    runs_first=r"torch\.utils\.checkpoint\.checkpoint",
    chains=r"torch\.nn\.Sequential",
    lists=r"torch\.nn\.(ModuleList|Sequential|ModuleDict)",
    layers=r"torch\.nn\.(\w+\.)*[A-Z]\w+",
    float32=r"torch\.float(32)?",
    half_types=r"torch\.(float16|half|bfloat16|get_autocast_(gpu_)?dtype)|half|bfloat16",
    type_arguments=frozenset({"torch_dtype"}),
    operations=(
        Operations(
            kind="dense",
            stores="half",
            names=rf"{_FUNCTIONAL}(linear|bilinear|conv\w+)"
            r"|torch\.nn\.((Lazy)?Linear|Bilinear|(Lazy)?Conv(Transpose)?[123]d)",
        ),
        Operations(
            kind="product",
            stores="half",
            names=r"torch\.(matmul|mm|bmm|einsum|addmm|baddbmm|addbmm|mv|tensordot|chain_matmul)",
            methods=frozenset({"matmul", "mm", "bmm", "baddbmm", "addmm"}),
        ),
        Operations(
            kind="attention",
            stores="half",
            names=rf"{_FUNCTIONAL}scaled_dot_product_attention|torch\.nn\.MultiheadAttention"
            r"|torch\.nn\.attention\.flex_attention\.flex_attention"
            r"|xformers\.ops\.(\w+\.)*memory_efficient_attention|flash_attn\.(\w+\.)*flash_attn_\w+",
        ),
        Operations(
            kind="norm",
            stores="float32",
            names=rf"{_FUNCTIONAL}(layer_norm|group_norm)|torch\.nn\.(LayerNorm|GroupNorm)"
            r"|torch\.(layer_norm|group_norm)",
        ),
        Operations(
            kind="norm",
            stores="float32",
            names=rf"{_FUNCTIONAL}rms_norm|torch\.nn\.RMSNorm|torch\.rms_norm",
            since="2.12",
            versions_of="PyTorch",
        ),
        Operations(
            kind="norm",
            stores="input",
            names=rf"{_FUNCTIONAL}(batch_norm|instance_norm)"
            r"|torch\.nn\.((Sync|Lazy)?BatchNorm([123]d)?|(Lazy)?InstanceNorm[123]d)",
        ),
        Operations(
            kind="softmax",
            stores="float32",
            names=rf"torch\.(log_)?softmax|{_FUNCTIONAL}(log_)?softmax|torch\.nn\.(Log)?Softmax",
            methods=frozenset({"softmax", "log_softmax"}),
        ),
        Operations(
            kind="pointwise",
            stores="input",
            names=rf"{_FUNCTIONAL}(gelu|silu|relu6?_?|leaky_relu|elu|mish|hardswish|tanh|sigmoid|glu)"
            r"|torch\.(tanh|sigmoid|relu|sin|cos)"
            r"|torch\.nn\.(GELU|SiLU|ReLU6?|LeakyReLU|ELU|Mish|Hardswish|Tanh|Sigmoid|GLU)",
            methods=frozenset({"tanh", "sigmoid", "relu", "relu_", "gelu"}),
        ),
        Operations(
            kind="sum", stores="input", names=r"torch\.(add|sub)", methods=frozenset({"add", "sub"})
        ),
        Operations(
            kind="same",
            stores="input",
            names=rf"{_FUNCTIONAL}(dropout\w*|pad|max_pool\w+|avg_pool\w+)"
            r"|torch\.nn\.(Dropout\w*|AlphaDropout|Identity|Flatten|Unflatten|(Max|Avg)Pool[123]d)"
            r"|torch\.(cat|concat|stack|reshape|transpose|permute|flatten|chunk|split|unbind|clone"
            r"|squeeze|unsqueeze|roll|swapaxes|masked_fill)"
            r"|einops\.(rearrange|repeat)|einops\.layers\.torch\.Rearrange"
            r"|timm\.(\w+\.)*(DropPath|drop_path)",
            methods=_SAME_METHODS,
        ),
        Operations(
            kind="lookup", stores="float32", names=rf"torch\.nn\.Embedding|{_FUNCTIONAL}embedding"
        ),
        Operations(
            kind="loss",
            stores="float32",
            names=r"torch\.nn\.(functional\.)?(cross_entropy|nll_loss|binary_cross_entropy"
            r"|binary_cross_entropy_with_logits|kl_div|mse_loss|l1_loss|smooth_l1_loss"
            r"|CrossEntropyLoss|NLLLoss|BCEWithLogitsLoss|BCELoss|KLDivLoss|MSELoss|L1Loss"
            r"|SmoothL1Loss)",
        ),
    ),
    fused_attention="F.scaled_dot_product_attention",
    fused_words=(
        "scaled_dot_product",
        "flash_attn",
        "memory_efficient_attention",
        "flex_attention",
    ),
)
"""See `pysource.libraries.precision_words`."""

"""Rows: layers with parameters, losses, inputs and metrics of static graphs."""

from __future__ import annotations

from crosscast_paddle.migration.experimental.paddle_names.row import NameRow
from crosscast_paddle.migration.experimental.paddle_names.rows_math import AT_ZERO

_ATTR = {"input": "x", "param_attr": "weight_attr", "act": "activation"}
_LOD = (
    "rows of different lengths (LoD levels) have no counterpart; pad the rows and give their "
    "lengths as a mask"
)


def _helped(*names: str) -> tuple[NameRow, ...]:
    return tuple(
        NameRow(old=(f"layers.{name}",), mode="static", helper=f"fluid_{name}") for name in names
    )


def _same(*names: str) -> tuple[NameRow, ...]:
    return tuple(
        NameRow(old=(f"layers.{name}",), mode="static", new=f"paddle.static.nn.{name}")
        for name in names
    )


ROWS = (
    NameRow(
        old=("layers.fc",),
        mode="static",
        new="paddle.static.nn.fc",
        helper="fluid_fc",
        renamed=_ATTR,
    ),
    *_same("conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "batch_norm", "layer_norm"),
    *_same("group_norm", "instance_norm", "spectral_norm", "bilinear_tensor_product", "nce"),
    *_same("row_conv"),
    *_same("sequence_conv", "sequence_softmax", "sequence_pool", "sequence_expand"),
    *_same("sequence_first_step", "sequence_last_step"),
    NameRow(
        old=("layers.prelu",),
        mode="static",
        new="paddle.static.nn.prelu",
        order="x mode param_attr name",
        new_order="x mode param_attr",
    ),
    NameRow(old=("embedding",), mode="static", new="paddle.static.nn.embedding"),
    NameRow(
        old=("one_hot",),
        mode="static",
        new="paddle.nn.functional.one_hot",
        order="input depth allow_out_of_range",
        new_order="input depth",
        renamed={"input": "x", "depth": "num_classes"},
        dropped={"allow_out_of_range": ("False",)},
    ),
    NameRow(
        old=("layers.reshape",),
        mode="static",
        new="paddle.reshape",
        helper="fluid_reshape",
        order="x shape actual_shape act inplace name",
        new_order="x shape",
        dropped={
            "actual_shape": ("None",),
            "act": ("None",),
            "inplace": ("*",),
            "name": ("*",),
        },
    ),
    NameRow(
        old=("layers.dropout",),
        mode="static",
        new="paddle.nn.functional.dropout",
        helper="fluid_dropout",
        order="x dropout_prob is_test seed name dropout_implementation",
        new_order="x dropout_prob",
        renamed={"dropout_prob": "p", "dropout_implementation": "mode"},
        dropped={"is_test": ("False",), "seed": ("None",), "name": ("*",)},
        values={
            "dropout_implementation": {
                '"upscale_in_train"': '"upscale_in_train"',
                '"downgrade_in_infer"': '"downscale_in_infer"',
            }
        },
        written={"dropout_implementation": '"downscale_in_infer"'},
    ),
    *_helped("flatten", "pool2d", "adaptive_pool2d", "pad", "pad2d", "image_resize"),
    *_helped("resize_bilinear", "resize_nearest", "embedding", "one_hot", "cross_entropy"),
    NameRow(
        old=("layers.sigmoid_cross_entropy_with_logits",),
        mode="static",
        helper="fluid_sigmoid_cross_entropy_with_logits",
        note=AT_ZERO,
    ),
    *_helped("mse_loss", "smooth_l1", "accuracy", "auc", "is_empty"),
    *_helped("fill_constant_batch_size_like", "uniform_random_batch_size_like"),
    NameRow(old=("layers.data",), mode="static", helper="fluid_layers_data"),
    NameRow(old=("nets.simple_img_conv_pool",), mode="static", helper="fluid_simple_img_conv_pool"),
    NameRow(old=("nets.sequence_conv_pool",), mode="static", helper="fluid_sequence_conv_pool"),
    NameRow(old=("nets.img_conv_group",), mode="static", helper="fluid_img_conv_group"),
    NameRow(
        old=(
            *("layers.sequence_pad", "layers.sequence_unpad", "layers.sequence_concat"),
            *("layers.sequence_expand_as", "layers.sequence_reshape", "layers.sequence_slice"),
            *("layers.sequence_enumerate", "layers.sequence_reverse", "layers.sequence_scatter"),
            *("layers.lod_reset", "layers.lod_append", "layers.dynamic_lstm", "layers.dynamic_gru"),
            *("layers.dynamic_lstmp", "layers.DynamicRNN", "layers.linear_chain_crf"),
            *("layers.crf_decoding", "layers.chunk_eval", "layers.edit_distance"),
            *("layers.ctc_greedy_decoder", "layers.beam_search", "layers.beam_search_decode"),
            "layers.sequence_erase",
        ),
        mode="static",
        refused=_LOD,
    ),
)

"""Layers and losses of Paddle 1 for graphs with names, with their old defaults and shapes."""

import paddle

from .fluid_operations import fluid_op


def fluid_activated(x, act):
    """Apply an activation by its name; None applies none."""
    from paddle.base.layer_helper import LayerHelper

    return LayerHelper("activated", act=act).append_activation(x)


def fluid_reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None):
    return fluid_activated(paddle.reshape(x, shape if actual_shape is None else actual_shape), act)


# Programs have these line breaks.
# fmt: off
def fluid_fc(
    input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, name=None
):
    return paddle.static.nn.fc(input, size, num_flatten_dims, param_attr, bias_attr, act, name)
# fmt: on


def fluid_flatten(x, axis=1, name=None):
    """A matrix: the dimensions before `axis` form its rows."""
    from paddle.base.layer_helper import LayerHelper

    helper = LayerHelper("flatten")
    result = helper.create_variable_for_type_inference(x.dtype)
    shape = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(
        type="flatten2",
        inputs={"X": [x]},
        outputs={"Out": [result], "XShape": [shape]},
        attrs={"axis": axis},
    )
    return result


def fluid_pool2d(
    input,
    pool_size=-1,
    pool_type="max",
    pool_stride=1,
    pool_padding=0,
    global_pooling=False,
    use_cudnn=True,
    ceil_mode=False,
    name=None,
    exclusive=True,
    data_format="NCHW",
):
    """Pooling; the stride is 1 where none is given, as in Paddle 1."""

    def two(value):
        return list(value) if isinstance(value, (list, tuple)) else [value, value]

    algorithm = pool_padding.upper() if isinstance(pool_padding, str) else "EXPLICIT"
    return fluid_op(
        "pool2d",
        {"X": input},
        pooling_type=pool_type,
        ksize=two(pool_size),
        global_pooling=global_pooling,
        strides=two(pool_stride),
        paddings=[0, 0] if algorithm != "EXPLICIT" else two(pool_padding),
        padding_algorithm=algorithm,
        ceil_mode=ceil_mode,
        exclusive=exclusive,
        data_format=data_format,
    )


def fluid_dropout(
    x,
    dropout_prob,
    is_test=False,
    seed=None,
    name=None,
    dropout_implementation="downgrade_in_infer",
):
    mode = dropout_implementation.replace("downgrade", "downscale")
    return paddle.nn.functional.dropout(x, dropout_prob, training=not is_test, mode=mode)


def fluid_adaptive_pool2d(input, pool_size, pool_type="max", require_index=False, name=None):
    kinds = {
        "max": paddle.nn.functional.adaptive_max_pool2d,
        "avg": paddle.nn.functional.adaptive_avg_pool2d,
    }
    if require_index:
        return kinds["max"](input, pool_size, return_mask=True)
    return kinds[pool_type](input, pool_size)


def fluid_pad2d(
    input, paddings=[0, 0, 0, 0], mode="constant", pad_value=0.0, data_format="NCHW", name=None
):
    """Pad; `paddings` are top, bottom, left, right."""
    top, bottom, left, right = paddings
    mode = {"edge": "replicate"}.get(mode, mode)
    sides = [left, right, top, bottom]
    return paddle.nn.functional.pad(input, sides, mode, pad_value, data_format)


def fluid_pad(x, paddings, pad_value=0.0, name=None):
    return fluid_op("pad", {"X": x}, paddings=list(paddings), pad_value=float(pad_value))


def fluid_embedding(
    input,
    size,
    is_sparse=False,
    is_distributed=False,
    padding_idx=None,
    param_attr=None,
    dtype="float32",
):
    """Rows of a table; the last dimension of the ids is 1 and goes, as in Paddle 1."""
    from paddle.base.layer_helper import LayerHelper

    helper = LayerHelper("embedding", param_attr=param_attr)
    table = helper.create_parameter(attr=helper.param_attr, shape=size, dtype=dtype)
    result = helper.create_variable_for_type_inference(dtype)
    padding = -1 if padding_idx is None else padding_idx % size[0]
    helper.append_op(
        type="lookup_table",
        inputs={"Ids": [input], "W": [table]},
        outputs={"Out": [result]},
        attrs={"is_sparse": is_sparse, "is_distributed": is_distributed, "padding_idx": padding},
    )
    return result


def fluid_one_hot(input, depth, allow_out_of_range=False):
    """One row per id; a last dimension of 1 goes, as in Paddle 1."""
    if input.shape[-1] == 1 and len(input.shape) > 1:
        input = paddle.squeeze(input, [-1])
    return paddle.nn.functional.one_hot(input, depth)


def fluid_cross_entropy(input, label, soft_label=False, ignore_index=-100):
    """The loss of probabilities, not of logits, with the shape [rows, 1]."""
    from paddle.base.layer_helper import LayerHelper

    if soft_label:
        return fluid_op(
            "cross_entropy",
            {"X": input, "Label": label},
            "Y",
            soft_label=True,
            ignore_index=ignore_index,
        )
    helper = LayerHelper("cross_entropy2")
    result, shape, match = (
        helper.create_variable_for_type_inference(input.dtype) for _ in range(3)
    )
    helper.append_op(
        type="cross_entropy2",
        inputs={"X": [input], "Label": [label]},
        outputs={"Y": [result], "MatchX": [match], "XShape": [shape]},
        attrs={"ignore_index": ignore_index},
    )
    return result


def fluid_sigmoid_cross_entropy_with_logits(
    x, label, ignore_index=-100, name=None, normalize=False
):
    return fluid_op(
        "sigmoid_cross_entropy_with_logits",
        {"X": x, "Label": label},
        ignore_index=ignore_index,
        normalize=normalize,
    )


def fluid_mse_loss(input, label):
    """The mean squared error with the shape [1]."""
    return paddle.reshape(paddle.mean(paddle.square(input - label)), [1])


def fluid_smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None):
    """The loss of each row, with the shape [rows, 1]."""
    square = (sigma or 1.0) ** 2
    difference = x - y if inside_weight is None else (x - y) * inside_weight
    size = fluid_op("abs", {"X": difference})
    near = paddle.cast(size < 1.0 / square, x.dtype)
    loss = near * (0.5 * square) * difference * difference + (1.0 - near) * (size - 0.5 / square)
    loss = loss if outside_weight is None else loss * outside_weight
    axes = list(range(1, len(x.shape)))
    total = fluid_op("reduce_sum", {"X": loss}, dim=axes, keep_dim=False, reduce_all=False)
    return paddle.reshape(total, [-1, 1])


def fluid_accuracy(input, label, k=1, correct=None, total=None):
    """The share of right answers, with the shape [1]; counts go to `correct` and `total`."""
    counts = [paddle.tensor.create_tensor("int32"), paddle.tensor.create_tensor("int32")]
    share = paddle.static.accuracy(input, label, k, *counts)
    for count, wanted in zip(counts, (correct, total)):
        if wanted is not None:
            paddle.assign(paddle.cast(paddle.reshape(count, [1]), wanted.dtype), wanted)
    return paddle.reshape(share, [1])


# Programs have these line breaks.
# fmt: off
def fluid_auc(input, label, curve="ROC", num_thresholds=4095, topk=1, slide_steps=1):
    """The area under the curve of all batches and of this one, with the shape [1]."""
    whole, batch, states = paddle.static.auc(
        input, label, curve, num_thresholds, topk, slide_steps
    )
    return paddle.reshape(whole, [1]), paddle.reshape(batch, [1]), states
# fmt: on


def fluid_is_empty(x, cond=None):
    result = paddle.reshape(paddle.is_empty(x), [1])
    return result if cond is None else paddle.assign(result, cond)


def fluid_fill_constant_batch_size_like(
    input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0, force_cpu=False
):
    filled = fluid_op(
        "fill_constant_batch_size_like",
        {"Input": input},
        shape=list(shape),
        value=float(value),
        input_dim_idx=input_dim_idx,
        output_dim_idx=output_dim_idx,
    )
    return paddle.cast(filled, dtype)


def fluid_uniform_random_batch_size_like(
    input, shape, dtype="float32", input_dim_idx=0, output_dim_idx=0, min=-1.0, max=1.0, seed=0
):
    drawn = fluid_op(
        "uniform_random_batch_size_like",
        {"Input": input},
        shape=list(shape),
        input_dim_idx=input_dim_idx,
        output_dim_idx=output_dim_idx,
        min=min,
        max=max,
        seed=seed,
    )
    return paddle.cast(drawn, dtype)


def fluid_layers_data(
    name,
    shape,
    append_batch_size=True,
    dtype="float32",
    lod_level=0,
    type=None,
    stop_gradient=True,
):
    """An input; the batch dimension is put before `shape`, unless there is an open one."""
    shape = [-1 if side is None else side for side in shape]
    if append_batch_size and all(side >= 0 for side in shape):
        shape = [-1, *shape]
    data = paddle.static.data(name, shape, dtype, lod_level)
    data.stop_gradient = stop_gradient
    data.desc.set_need_check_feed(False)
    return data


# Programs have these line breaks.
# fmt: off
def fluid_simple_img_conv_pool(
    input,
    num_filters,
    filter_size,
    pool_size,
    pool_stride,
    pool_padding=0,
    pool_type="max",
    global_pooling=False,
    conv_stride=1,
    conv_padding=0,
    conv_dilation=1,
    conv_groups=1,
    param_attr=None,
    bias_attr=None,
    act=None,
    use_cudnn=True,
):
    image = paddle.static.nn.conv2d(
        input,
        num_filters,
        filter_size,
        conv_stride,
        conv_padding,
        conv_dilation,
        conv_groups,
        param_attr,
        bias_attr,
        act=act,
    )
    return fluid_pool2d(
        image, pool_size, pool_type, pool_stride, pool_padding, global_pooling
    )
# fmt: on


def fluid_sequence_conv_pool(
    input,
    num_filters,
    filter_size,
    param_attr=None,
    act="sigmoid",
    pool_type="max",
    bias_attr=None,
):
    """A convolution over the rows of each sequence, and one value per filter and sequence."""
    rows = paddle.static.nn.sequence_conv(
        input, num_filters, filter_size, param_attr=param_attr, bias_attr=bias_attr, act=act
    )
    return paddle.static.nn.sequence_pool(rows, pool_type)


def fluid_img_conv_group(
    input,
    conv_num_filter,
    pool_size,
    conv_padding=1,
    conv_filter_size=3,
    conv_act=None,
    param_attr=None,
    conv_with_batchnorm=False,
    conv_batchnorm_drop_rate=0.0,
    pool_stride=1,
    pool_type="max",
    use_cudnn=True,
):
    """Convolutions, each with batch normalization and dropout if wanted, and one pooling."""

    def each(value):
        return value if isinstance(value, (list, tuple)) else [value] * len(conv_num_filter)

    settings = zip(
        conv_num_filter,
        each(conv_filter_size),
        each(conv_padding),
        each(param_attr),
        each(conv_with_batchnorm),
        each(conv_batchnorm_drop_rate),
    )
    image = input
    for filters, size, padding, attr, normal, drop in settings:
        act = None if normal else conv_act
        image = paddle.static.nn.conv2d(
            image, filters, size, padding=padding, param_attr=attr, act=act
        )
        if normal:
            image = paddle.static.nn.batch_norm(image, act=conv_act)
            if drop:
                image = fluid_dropout(image, drop)
    return fluid_pool2d(image, pool_size, pool_type, pool_stride)

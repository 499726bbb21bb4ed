"""Operations of Paddle 1 for graphs with names, with their old attributes and shapes."""

import paddle


def fluid_op(kind, inputs, out="Out", act=None, dtype=None, **attributes):
    """Append an operation of Paddle 1 to the graph; return its result."""
    from paddle.base.layer_helper import LayerHelper

    slots = {
        slot: list(value) if isinstance(value, (list, tuple)) else [value]
        for slot, value in inputs.items()
        if value is not None
    }
    helper = LayerHelper(kind, act=act)
    result = helper.create_variable_for_type_inference(dtype or next(iter(slots.values()))[0].dtype)
    helper.append_op(type=kind, inputs=slots, outputs={out: [result]}, attrs=attributes)
    return helper.append_activation(result)


def fluid_round(x, name=None):
    """Round to whole numbers, halves away from zero, as in Paddle 1."""
    half = paddle.scale(fluid_op("abs", {"X": x}), 1.0, 0.5)
    whole = fluid_op("floor", {"X": half})
    return fluid_op("elementwise_mul", {"X": fluid_op("sign", {"X": x}), "Y": whole}, axis=-1)


def fluid_mean(x, name=None):
    """The mean with the shape [1], as in Paddle 1."""
    return paddle.reshape(fluid_op("mean", {"X": x}), [1])


def fluid_gelu(x, approximate=False):
    return fluid_op("gelu", {"X": x}, approximate=approximate)


def fluid_softplus(x, name=None):
    return fluid_op("softplus", {"X": x}, beta=1.0, threshold=20.0)


def fluid_pow(x, factor=1.0, name=None):
    if isinstance(factor, (int, float)):
        return fluid_op("pow", {"X": x}, factor=float(factor))
    return fluid_op("pow", {"X": x, "FactorTensor": factor})


def fluid_logical_not(x, out=None, name=None):
    result = fluid_op("logical_not", {"X": x}, dtype="bool")
    return result if out is None else paddle.assign(result, out)


def fluid_mul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None):
    """The product of matrices; the leading dimensions of each form its rows."""
    return fluid_op(
        "mul", {"X": x, "Y": y}, x_num_col_dims=x_num_col_dims, y_num_col_dims=y_num_col_dims
    )


def fluid_matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None):
    result = fluid_op("matmul_v2", {"X": x, "Y": y}, trans_x=transpose_x, trans_y=transpose_y)
    result = result if alpha == 1.0 else paddle.scale(result, alpha)
    scalar = len(x.shape) == len(y.shape) == 1
    return paddle.reshape(result, [1]) if scalar else result


def fluid_argmax(x, axis=0):
    return fluid_op("arg_max", {"X": x}, dtype="int64", axis=axis, keepdims=False, flatten=False)


def fluid_argmin(x, axis=0):
    return fluid_op("arg_min", {"X": x}, dtype="int64", axis=axis, keepdims=False, flatten=False)


def fluid_argsort(input, axis=-1, descending=False, name=None):
    """The sorted values, and their places."""
    values = paddle.sort(input, axis=axis, descending=descending)
    return values, paddle.argsort(input, axis=axis, descending=descending)


def fluid_cumsum(x, axis=None, exclusive=None, reverse=None):
    return fluid_op(
        "cumsum",
        {"X": x},
        axis=-1 if axis is None else axis,
        exclusive=bool(exclusive),
        reverse=bool(reverse),
    )


def fluid_clip_by_norm(x, max_norm, name=None):
    return fluid_op("clip_by_norm", {"X": x}, max_norm=max_norm)


def fluid_l2_normalize(x, axis, epsilon=1e-12, name=None):
    from paddle.base.layer_helper import LayerHelper

    helper = LayerHelper("l2_normalize")
    norm = helper.create_variable_for_type_inference(x.dtype)
    result = helper.create_variable_for_type_inference(x.dtype)
    axis = 0 if len(x.shape) == 1 else axis
    helper.append_op(
        type="norm",
        inputs={"X": [x]},
        outputs={"Out": [result], "Norm": [norm]},
        attrs={"axis": 1 if axis is None else axis, "epsilon": epsilon},
    )
    return result


def fluid_cos_sim(X, Y):
    """The cosine of the rows of two matrices, with the shape [rows, 1]."""
    dot = fluid_op("elementwise_mul", {"X": X, "Y": Y}, axis=-1)
    squares = [paddle.square(matrix) for matrix in (X, Y)]
    dot, one, two = (
        fluid_op("reduce_sum", {"X": x}, dim=[-1], keep_dim=True, reduce_all=False)
        for x in (dot, *squares)
    )
    norm = fluid_op("sqrt", {"X": fluid_op("elementwise_mul", {"X": one, "Y": two}, axis=-1)})
    return dot / norm


def fluid_sums(input, out=None):
    result = paddle.add_n(input)
    return result if out is None else paddle.assign(result, out)


def fluid_increment(x, value=1.0, in_place=True):
    return paddle.increment(x, value) if in_place else x + value


def fluid_isfinite(x):
    """Whether every element is finite, with the shape [1]."""
    finite = fluid_op("isfinite_v2", {"X": x}, dtype="bool")
    whole = fluid_op("reduce_all", {"X": finite}, dim=[0], keep_dim=False, reduce_all=True)
    return paddle.reshape(whole, [1])

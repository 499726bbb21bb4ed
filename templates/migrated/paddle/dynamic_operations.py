"""Operations of Paddle 1 for dynamic graphs, with their old arguments."""

import paddle


def resize_to_nearest(
    input,
    out_shape=None,
    scale=None,
    name=None,
    actual_shape=None,
    align_corners=True,
    data_format="NCHW",
):
    """Resize images by the nearest pixel; corners are aligned by default, as in Paddle 1."""
    if data_format != "NCHW":
        raise ValueError(f"images in {data_format} are not resized")
    size = out_shape if actual_shape is None else actual_shape
    size = [int(side) for side in size or [side * scale for side in input.shape[2:]]]
    if not align_corners:
        return paddle.nn.functional.interpolate(input, size, mode="nearest")
    for axis, length in enumerate(size, 2):
        step = (input.shape[axis] - 1) / (length - 1) if length > 1 else 0.0
        places = paddle.to_tensor([int(step * place + 0.5) for place in range(length)])
        input = paddle.index_select(input, places, axis)
    return input


def resize_image(
    input,
    out_shape=None,
    scale=None,
    name=None,
    resample="BILINEAR",
    actual_shape=None,
    align_corners=True,
    align_mode=1,
    data_format="NCHW",
):
    """Resize images; corners are aligned by default, as in Paddle 1."""
    size = out_shape if actual_shape is None else actual_shape
    if resample.upper() == "NEAREST":
        return resize_to_nearest(input, size, scale, None, None, align_corners, data_format)
    return paddle.nn.functional.interpolate(
        input,
        size,
        scale if size is None else None,
        mode=resample.lower(),
        align_corners=align_corners,
        align_mode=align_mode,
        data_format=data_format,
    )


def aligned(y, x, axis):
    """Return y with dimensions at its end, so that its first one meets dimension axis of x."""
    if axis == -1 or y.ndim == x.ndim:
        return y
    return paddle.reshape(y, [*y.shape, *[1] * (x.ndim - axis - y.ndim)])


def activated(x, act):
    """Return a tensor after an activation, or after none."""
    return x if act is None else getattr(paddle.nn.functional, act)(x)


def scaled_matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None):
    """Return alpha times the matrix product."""
    return paddle.scale(paddle.matmul(x, y, transpose_x, transpose_y), alpha)


def flat_matmul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None):
    """Return the product of x and y as matrices, in the shape of their other dimensions."""
    import math

    rows, columns = x.shape[:x_num_col_dims], y.shape[y_num_col_dims:]
    left = paddle.reshape(x, [math.prod(rows), -1])
    right = paddle.reshape(y, [math.prod(y.shape[:y_num_col_dims]), -1])
    return paddle.reshape(paddle.matmul(left, right), [*rows, *columns])


def rounded_away(x, name=None):
    """Return x rounded to whole numbers, halves away from zero."""
    return paddle.sign(x) * paddle.floor(paddle.abs(x) + 0.5)


def flattened_to_matrix(x, axis=1, name=None):
    """Return x as a matrix, whose rows are the dimensions before axis."""
    rows = 1
    for size in x.shape[:axis]:
        rows *= size
    return paddle.reshape(x, [rows, -1])


def sorted_with_indices(input, axis=-1, descending=False, name=None):
    """Return sorted values and where they stood."""
    indices = paddle.argsort(input, axis, descending)
    return paddle.take_along_axis(input, indices, axis), indices


def one_hot_of_column(input, depth, allow_out_of_range=False):
    """Return one-hot rows of class numbers, whose last dimension of size 1 is replaced."""
    numbers = paddle.squeeze(input, -1) if input.shape[-1] == 1 else input
    return paddle.nn.functional.one_hot(numbers, depth)


def pad_image(
    input, paddings=(0, 0, 0, 0), mode="constant", pad_value=0.0, data_format="NCHW", name=None
):
    """Pad images at the top, bottom, left and right."""
    top, bottom, left, right = paddings
    mode = "replicate" if mode == "edge" else mode
    sides = [left, right, top, bottom]
    return paddle.nn.functional.pad(input, sides, mode, pad_value, data_format=data_format)


def pool_image(
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
    """Return the largest or average values of the windows of images."""
    functions = paddle.nn.functional
    if global_pooling:
        pool_size = input.shape[2:] if data_format == "NCHW" else input.shape[1:3]
        pool_stride, pool_padding = pool_size, 0
    given = {"ceil_mode": ceil_mode, "data_format": data_format}
    if pool_type == "max":
        return functions.max_pool2d(input, pool_size, pool_stride, pool_padding, **given)
    given["exclusive"] = exclusive
    return functions.avg_pool2d(input, pool_size, pool_stride, pool_padding, **given)

"""Functions written into programs with dynamic graphs: operations whose arguments changed."""

from __future__ import annotations

from crosscast_paddle.migration.experimental.paddle_names.helper import Helper

_ALONG = '''
def aligned(y, x, axis):
    """Return y with dimensions at its end, so that its first one meets dimension axis of x."""
    if axis == -1 or y.ndim == x.ndim:
        return y
    return paddle.reshape(y, [*y.shape, *[1] * (x.ndim - axis - y.ndim)])
'''
_BINARY = '''
def elementwise_{old}_along(x, y, axis=-1, act=None, name=None):
    """Return {what} x and y, of which the dimensions of y begin at axis."""
    return activated(paddle.{new}(x, aligned(y, x, axis)), act)
'''
_BINARIES = (
    ("add", "add", "the sum of"),
    ("sub", "subtract", "the difference of"),
    ("mul", "multiply", "the product of"),
    ("div", "divide", "the quotient of"),
    ("max", "maximum", "the maxima of"),
    ("min", "minimum", "the minima of"),
    ("pow", "pow", "the power of"),
    ("mod", "remainder", "the remainder of"),
    ("floordiv", "floor_divide", "the whole quotient of"),
)
_SCALED = '''
def scaled_matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None):
    """Return alpha times the matrix product."""
    return paddle.scale(paddle.matmul(x, y, transpose_x, transpose_y), alpha)
'''
_FLAT = '''
def flat_matmul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None):
    """Return the product of x and y as matrices, in the shape of their other dimensions."""
    rows, columns = x.shape[:x_num_col_dims], y.shape[y_num_col_dims:]
    left = paddle.reshape(x, [math.prod(rows), -1])
    right = paddle.reshape(y, [math.prod(y.shape[:y_num_col_dims]), -1])
    return paddle.reshape(paddle.matmul(left, right), [*rows, *columns])
'''.replace("    rows, columns", "    import math\n\n    rows, columns")
_ROUNDED = '''
def rounded_away(x, name=None):
    """Return x rounded to whole numbers, halves away from zero."""
    return paddle.sign(x) * paddle.floor(paddle.abs(x) + 0.5)
'''
_FLATTENED = '''
def flattened_to_matrix(x, axis=1, name=None):
    """Return x as a matrix, whose rows are the dimensions before axis."""
    rows = 1
    for size in x.shape[:axis]:
        rows *= size
    return paddle.reshape(x, [rows, -1])
'''
_SORTED = '''
def sorted_with_indices(input, axis=-1, descending=False, name=None):
    """Return sorted values and where they stood."""
    indices = paddle.argsort(input, axis, descending)
    return paddle.take_along_axis(input, indices, axis), indices
'''
_ONE_HOT = '''
def one_hot_of_column(input, depth, allow_out_of_range=False):
    """Return one-hot rows of class numbers, whose last dimension of size 1 is replaced."""
    numbers = paddle.squeeze(input, -1) if input.shape[-1] == 1 else input
    return paddle.nn.functional.one_hot(numbers, depth)
'''
_AT_ALL = '''
def {name}_at_all(x):
    """Return whether {what}."""
    return paddle.{new}
'''
_PAD = '''
def pad_image(
    input, paddings=(0, 0, 0, 0), mode="constant", pad_value=0.0, data_format="NCHW", name=None
):
    """Pad images at the top, bottom, left and right."""
    top, bottom, left, right = paddings
    mode = "replicate" if mode == "edge" else mode
    sides = [left, right, top, bottom]
    return paddle.nn.functional.pad(input, sides, mode, pad_value, data_format=data_format)
'''
_POOL = '''
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
'''

_RESIZE_TO_NEAREST = '''
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
'''
_RESIZE_IMAGE = '''
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
'''
HELPERS = (
    Helper(name="resize_to_nearest", text=_RESIZE_TO_NEAREST),
    Helper(name="resize_image", text=_RESIZE_IMAGE, needs=("resize_to_nearest",)),
    Helper(name="aligned", text=_ALONG),
    *(
        Helper(
            name=f"elementwise_{old}_along",
            text=_BINARY.format(old=old, new=new, what=what),
            needs=("aligned", "activated"),
        )
        for old, new, what in _BINARIES
    ),
    Helper(name="scaled_matmul", text=_SCALED),
    Helper(name="flat_matmul", text=_FLAT),
    Helper(name="rounded_away", text=_ROUNDED),
    Helper(name="flattened_to_matrix", text=_FLATTENED),
    Helper(name="sorted_with_indices", text=_SORTED),
    Helper(name="one_hot_of_column", text=_ONE_HOT),
    *(
        Helper(name=f"{name}_at_all", text=_AT_ALL.format(name=name, new=new, what=what))
        for name, new, what in (
            ("isfinite", "isfinite(x).all()", "every element is finite"),
            ("has_nan", "isnan(x).any()", "an element is not a number"),
            ("has_inf", "isinf(x).any()", "an element is infinite"),
        )
    ),
    Helper(name="pad_image", text=_PAD),
    Helper(name="pool_image", text=_POOL),
)

"""Images of another size, with corners as in Paddle 1."""

import paddle

from .fluid_operations import fluid_op


def fluid_image_resize(
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
    """Resize an image; corners are aligned by default, as in Paddle 1."""
    if resample == "NEAREST":
        return fluid_resize_nearest(input, out_shape, scale, name, actual_shape, align_corners)
    size = actual_shape if actual_shape is not None else out_shape
    return paddle.nn.functional.interpolate(
        input,
        size=size,
        scale_factor=scale if size is None else None,
        mode=resample.lower(),
        align_corners=align_corners,
        align_mode=align_mode,
        data_format=data_format,
    )


def fluid_resize_bilinear(
    input,
    out_shape=None,
    scale=None,
    name=None,
    actual_shape=None,
    align_corners=True,
    align_mode=1,
    data_format="NCHW",
):
    return fluid_image_resize(
        input, out_shape, scale, name, "BILINEAR", actual_shape, align_corners, align_mode
    )


def fluid_resize_nearest(
    input,
    out_shape=None,
    scale=None,
    name=None,
    actual_shape=None,
    align_corners=True,
    data_format="NCHW",
):
    """Resize by the nearest point; corners are aligned by default, as in Paddle 1."""
    size = list(out_shape or [int(side * scale) for side in input.shape[2:]])
    return fluid_op(
        "nearest_interp_v2",
        {"X": input},
        out_h=size[0],
        out_w=size[1],
        interp_method="nearest",
        align_corners=align_corners,
        data_layout=data_format,
    )

"""Rows: names of the first releases of Paddle 2 (2.0 alpha to 2.0 rc) that were renamed since."""

from __future__ import annotations

from crosscast_paddle.migration.experimental.paddle_names.row import NameRow

_NN = "paddle.nn"
_SIZED = (
    *("Conv", "MaxPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "BatchNorm"),
    *("InstanceNorm", "Dropout"),
)
_POOL = {
    1: "kernel_size stride padding count_include_pad ceil_mode name",
    2: "kernel_size stride padding ceil_mode count_include_pad divisor_override data_format name",
    3: "kernel_size stride padding ceil_mode count_include_pad divisor_override data_format name",
}
_SCHEDULES = {
    "CosineAnnealingLR": "CosineAnnealingDecay",
    "ExponentialLR": "ExponentialDecay",
    "InverseTimeLR": "InverseTimeDecay",
    "LambdaLR": "LambdaDecay",
    "LinearLrWarmup": "LinearWarmup",
    "MultiStepLR": "MultiStepDecay",
    "NaturalExpLR": "NaturalExpDecay",
    "NoamLR": "NoamDecay",
    "PiecewiseLR": "PiecewiseDecay",
    "PolynomialLR": "PolynomialDecay",
    "ReduceLROnPlateau": "ReduceOnPlateau",
    "StepLR": "StepDecay",
    "_LRScheduler": "LRScheduler",
}
_RENAMED = {
    "paddle.distributed.prepare_context": "paddle.distributed.init_parallel_env",
    "paddle.incubate.hapi.Model": "paddle.Model",
    "paddle.nn.functional.logsigmoid": "paddle.nn.functional.log_sigmoid",
    "paddle.nn.GradientClipByGlobalNorm": "paddle.nn.ClipGradByGlobalNorm",
    "paddle.nn.GradientClipByNorm": "paddle.nn.ClipGradByNorm",
    "paddle.nn.GradientClipByValue": "paddle.nn.ClipGradByValue",
    "paddle.io.load_program_state": "paddle.static.load_program_state",
    "paddle.io.set_program_state": "paddle.static.set_program_state",
    "paddle.nn.Pad2d": "paddle.nn.Pad2D",
    "paddle.manual_seed": "paddle.seed",
}

ROWS = (
    *(
        NameRow(old=(f"{_NN}.{name}{size}d",), new=f"{_NN}.{name}{size}D")
        for name in _SIZED
        for size in (1, 2, 3)
        if (name, size) != ("Dropout", 1)
    ),
    *(
        NameRow(
            old=(f"{_NN}.AvgPool{size}d",),
            new=f"{_NN}.AvgPool{size}D",
            order=order,
            renamed={"count_include_pad": "exclusive"},
            values={"count_include_pad": {"True": "False", "False": "True"}},
            written={"count_include_pad": "False"},
        )
        for size, order in _POOL.items()
    ),
    *(
        NameRow(
            old=(f"{_NN}.ConvTranspose{size}d", f"{_NN}.ConvTranspose{size}D"),
            new=f"{_NN}.Conv{size}DTranspose",
        )
        for size in (1, 2, 3)
    ),
    *(
        NameRow(
            old=(f"paddle.optimizer.lr_scheduler.{old}", f"paddle.optimizer.{old}"),
            new=f"paddle.optimizer.lr.{new}",
        )
        for old, new in _SCHEDULES.items()
    ),
    *(NameRow(old=(old,), new=new) for old, new in _RENAMED.items()),
)

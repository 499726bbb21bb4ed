"""Rows: names inside of `paddle.fluid` that programs use all the same, and where they are now."""

from __future__ import annotations

from crosscast_paddle.migration.experimental.paddle_names.row import NameRow

_BASE = "paddle.base"
_FEEDER = f"{_BASE}.data_feeder"
_FRAMEWORK = f"{_BASE}.framework"
_NESTED = (
    *("map_structure", "flatten", "pack_sequence_as", "is_sequence", "assert_same_structure"),
    *("convert_to_list", "hold_mutable_vars", "copy_mutable_vars", "padding_to_same_structure"),
)
_BOTH = {
    **{
        name: f"{_FEEDER}.{name}"
        for name in ("check_type", "check_dtype", "check_variable_and_dtype", "convert_dtype")
    },
    **{
        name: f"{_FRAMEWORK}.{name}"
        for name in ("_dygraph_tracer", "_current_expected_place", "grad_var_name", "dygraph_only")
    },
    **{f"layers.utils.{name}": f"paddle.utils.layers_utils.{name}" for name in _NESTED},
    "_non_static_mode": "paddle.in_dynamic_mode",
    "log_helper": f"{_BASE}.log_helper",
    "dataloader": "paddle.io.dataloader",
    "dataloader.dataloader_iter.default_collate_fn": "paddle.io.dataloader.collate"
    ".default_collate_fn",
    "install_check.run_check": "paddle.utils.run_check",
}
_DYNAMIC = {
    "layer_helper": f"{_BASE}.layer_helper",
    "wrapped_decorator": f"{_BASE}.wrapped_decorator",
    "convert_np_dtype_to_dtype_": f"{_FRAMEWORK}.convert_np_dtype_to_dtype_",
    "Parameter": f"{_FRAMEWORK}.Parameter",
    "ParamBase": f"{_FRAMEWORK}.EagerParamBase",
    "EagerParamBase": f"{_FRAMEWORK}.EagerParamBase",
    "core.VarDesc": f"{_BASE}.core.VarDesc",
    "core.eager": f"{_BASE}.core.eager",
    "core.EnforceNotMet": f"{_BASE}.core.EnforceNotMet",
    "core.EOFException": f"{_BASE}.core.EOFException",
    "core.get_cuda_device_count": "paddle.device.cuda.device_count",
    "require_version": "paddle.utils.require_version",
}
"""Programs that build graphs have rows of their own."""

ROWS = (
    *(NameRow(old=(old,), new=new) for old, new in _BOTH.items()),
    *(NameRow(old=(old,), mode="dynamic", new=new) for old, new in _DYNAMIC.items()),
)

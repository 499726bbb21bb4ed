"""Rows: programs, executors, places, data feeding and files of static graphs."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_paddle.migration.experimental.paddle_names.row import NameRow

_STATIC = "paddle.static"
_FLEET = (
    "Paddle 3 has no transpiler and no parameter servers in this form; start the processes with "
    "paddle.distributed.launch and use paddle.distributed.fleet"
)
_FILES = "checkpoints keep one file per variable, and files of Paddle 1 can be read"
_MODELS = "an inference model is saved as NAME.pdmodel and NAME.pdiparams"


def _moved(names: Mapping[str, str]) -> tuple[NameRow, ...]:
    return tuple(NameRow(old=(old,), mode="static", new=new) for old, new in names.items())


ROWS = (
    *_moved(
        {
            name: f"{_STATIC}.{name}"
            for name in (
                *("Executor", "program_guard", "default_main_program"),
                *("default_startup_program", "global_scope", "scope_guard", "name_scope"),
                *("cpu_places", "cuda_places", "BuildStrategy", "CompiledProgram", "gradients"),
                *("append_backward", "Variable", "device_guard", "Operator", "Scope"),
                *("load_program_state", "set_program_state"),
            )
        }
    ),
    *_moved(
        {
            name: f"paddle.{name}"
            for name in (
                *("CPUPlace", "CUDAPlace", "CUDAPinnedPlace", "set_flags", "get_flags"),
                *("is_compiled_with_cuda",),
            )
        }
    ),
    *_moved(
        {
            "data": f"{_STATIC}.data",
            "unique_name": "paddle.utils.unique_name",
            "require_version": "paddle.utils.require_version",
            "DataFeeder": "paddle.base.DataFeeder",
            "LoDTensor": "paddle.base.core.DenseTensor",
            "LoDTensorArray": "paddle.base.core.DenseTensorArray",
            "create_lod_tensor": "paddle.base.create_lod_tensor",
            "create_random_int_lodtensor": "paddle.base.create_random_int_lodtensor",
            "DatasetFactory": "paddle.base.DatasetFactory",
            "in_dygraph_mode": "paddle.in_dynamic_mode",
            "Parameter": "paddle.base.framework.Parameter",
            "convert_np_dtype_to_dtype_": "paddle.base.framework.convert_np_dtype_to_dtype_",
            "layer_helper": "paddle.base.layer_helper",
            "core.VarDesc": "paddle.base.core.VarDesc",
            "core.EOFException": "paddle.base.core.EOFException",
            "core.op_proto_and_checker_maker": "paddle.base.core.op_proto_and_checker_maker",
            "core.is_compiled_with_cuda": "paddle.is_compiled_with_cuda",
            "core.get_cuda_device_count": "paddle.device.cuda.device_count",
            "core.EnforceNotMet": "paddle.base.core.EnforceNotMet",
            "incubate.data_generator.MultiSlotDataGenerator": "paddle.distributed.fleet"
            ".MultiSlotDataGenerator",
            "incubate.data_generator.MultiSlotStringDataGenerator": "paddle.distributed.fleet"
            ".MultiSlotStringDataGenerator",
            "wrapped_decorator": "paddle.base.wrapped_decorator",
            "core.PassBuilder": "paddle.base.core.PassBuilder",
            "io.is_persistable": f"{_STATIC}.is_persistable",
            "io.batch": "paddle.batch",
            "save": f"{_STATIC}.save",
            "load": f"{_STATIC}.load",
            "io.save": f"{_STATIC}.save",
            "io.load": f"{_STATIC}.load",
            "io.load_program_state": f"{_STATIC}.load_program_state",
            "io.set_program_state": f"{_STATIC}.set_program_state",
            "io.PyReader": "paddle.base.reader.PyReader",
            "layers.autoincreased_step_counter": "paddle.optimizer.lr.autoincreased_step_counter",
            "layers._decay_step_counter": "paddle.optimizer.lr._decay_step_counter",
        }
    ),
    *_moved(
        {
            f"io.{name}": f"paddle.reader.{name}"
            for name in (
                *("cache", "map_readers", "buffered", "compose", "chain", "shuffle", "firstn"),
                *("xmap_readers", "multiprocess_reader", "ComposeNotAligned"),
            )
        }
    ),
    NameRow(
        old=("io.DataLoader",),
        mode="static",
        new="paddle.io.DataLoader",
        order="dataset feed_list places return_list",
        written={"return_list": "False"},
    ),
    NameRow(old=("Program",), mode="static", helper="fluid_Program"),
    NameRow(old=("io.save_vars",), mode="static", new=f"{_STATIC}.save_vars", note=_FILES),
    NameRow(old=("io.load_vars",), mode="static", new=f"{_STATIC}.load_vars", note=_FILES),
    *(
        NameRow(old=(f"io.{name}",), mode="static", helper=f"fluid_{name}", note=_FILES)
        for name in ("save_persistables", "load_persistables", "save_params", "load_params")
    ),
    *(
        NameRow(old=(f"io.{name}",), mode="static", helper=f"fluid_{name}", note=_MODELS)
        for name in ("save_inference_model", "load_inference_model")
    ),
    NameRow(old=("io.is_parameter",), mode="static", helper="fluid_is_parameter"),
    NameRow(
        old=("layers.py_reader",),
        mode="static",
        helper="fluid_py_reader",
        note="at the end of each pass of its reader, Paddle 1 counted one more step for the "
        "learning rates in the graph",
    ),
    NameRow(old=("layers.read_file",), mode="static", helper="fluid_read_file"),
    NameRow(old=("layers.double_buffer",), mode="static", helper="fluid_double_buffer"),
    NameRow(old=("memory_optimize",), mode="static", helper="fluid_memory_optimize"),
    NameRow(old=("release_memory",), mode="static", helper="fluid_memory_optimize"),
    NameRow(
        old=("ExecutionStrategy",),
        mode="static",
        helper="fluid_ExecutionStrategy",
        note="the options of ExecutionStrategy have no effect in Paddle 3",
    ),
    NameRow(
        old=("ParallelExecutor",),
        mode="static",
        helper="fluid_ParallelExecutor",
        note="ParallelExecutor trains on one device; for several start one process each with "
        "paddle.distributed.launch and use paddle.distributed.fleet",
    ),
    NameRow(
        old=("contrib.reader.distributed_batch_reader",),
        mode="static",
        helper="fluid_distributed_batch_reader",
    ),
    NameRow(old=("metrics.Accuracy",), mode="static", helper="fluid_Accuracy"),
    NameRow(
        old=("DistributeTranspiler", "DistributeTranspilerConfig", "transpiler"),
        mode="static",
        refused=_FLEET,
    ),
    NameRow(
        old=("optimizer.ModelAverage",),
        mode="static",
        refused="averages of weights do not work in graphs with names; assign them in the program",
    ),
    NameRow(
        old=("contrib.memory_usage",),
        mode="static",
        refused="the estimate of memory was removed; read paddle.device.cuda.max_memory_allocated",
    ),
    NameRow(
        old=("profiler",),
        mode="static",
        refused="the profiler has another interface; use paddle.profiler.Profiler",
    ),
    NameRow(
        old=("core.NCCL2", "core.globals", "core.Tracer"),
        mode="static",
        refused="it is internal to Paddle 1; remove what needs it",
    ),
)

"""Names that wrappers of models for several devices have themselves."""

from __future__ import annotations

NAMES = frozenset(
    {
        *("add_module", "add_parameter", "add_sublayer", "apply", "apply_collective_grads"),
        *("astype", "backward", "bfloat16", "broadcast_bucket_size", "broadcast_buffers"),
        *("bucket_bytes_cap", "buffer_hook", "buffers", "call_super_init", "children"),
        *("clear_gradients", "comm_buffer_size", "compile", "cpu", "create_parameter"),
        *("create_tensor", "create_variable", "cuda", "ddp", "device", "device_ids"),
        *("device_mesh", "device_type", "dim", "double", "dump_patches", "eval", "extra_repr"),
        *("find_unused_parameters", "float", "float16", "forward", "full", "full_name"),
        *("gather", "get_buffer", "get_extra_state", "get_parameter", "get_sublayer"),
        *("get_submodule", "grad_need_sync", "gradient_as_bucket_view", "group"),
        *("group_indices", "half", "init_reducer", "ipu", "is_multi_device_module", "join"),
        *("join_device", "join_hook", "join_process_group", "last_comm_buffer_size"),
        *("load_dict", "load_state_dict", "logger", "mixed_precision", "module", "modules"),
        *("modules_buffers", "mtia", "named_buffers", "named_children", "named_modules"),
        *("named_module_buffers", "named_parameters", "named_sublayers", "no_sync"),
        *("output_device", "parallel_apply", "parameters", "parameters_to_ignore"),
        *("process_group", "reducer", "register_backward_hook", "register_buffer"),
        *("register_comm_hook", "register_forward_hook", "register_forward_post_hook"),
        *("register_forward_pre_hook", "register_full_backward_hook"),
        *("register_full_backward_pre_hook", "register_load_state_dict_post_hook"),
        *("register_load_state_dict_pre_hook", "register_module", "register_parameter"),
        *("register_state_dict_hook", "register_state_dict_post_hook"),
        *("register_state_dict_pre_hook", "replicate", "require_backward_grad_sync"),
        *("require_forward_param_sync", "requires_grad_", "scale_loss", "scatter", "set_dict"),
        *("set_extra_state", "set_state_dict", "set_sublayer", "set_submodule"),
        *("share_memory", "sharded_state_dict", "skip_all_reduce_unused_params"),
        *("src_device_obj", "state_dict", "static_graph", "sublayers", "T_destination", "to"),
        *("to_empty", "to_static_state_dict", "train", "training", "type", "var_dtype"),
        *("use_side_stream_for_tensor_copies", "will_sync_module_buffers", "xpu", "zero_grad"),
        *("batched_grad_copy", "bucket_bytes_cap_default", "bucket_bytes_cap_list"),
        *("forward_sync_buffers", "parameters_and_buffers", "layers", "strategy", "to_kwargs"),
    }
)
"""Public attributes that some wrapper has itself."""

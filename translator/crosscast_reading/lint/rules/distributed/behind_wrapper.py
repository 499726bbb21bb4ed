"""CL608: an attribute of the model is asked of the wrapper that hides it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from crosscast_reading.lint.answers.supposed import can_be_met, comes_round
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.libraries.words import merged
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.readers.python.conditions import Condition, conditions
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject

_ASKS = ("isinstance", "hasattr", "getattr", "type(", "__class__", "Parallel", "dist", "module")
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


def check(subject: Subject) -> Iterator[Finding]:
    """Find attributes of local variables that may be a wrapper, none of which it has."""
    program = subject.program
    inside = merged(lambda words: words.hidden_models)
    wrapped = {call.node: inside[name] for name, call in calls_of(program) if name in inside}
    for module in program.modules if wrapped else ():
        set_here = {e.attr for e in module.every(ast.Attribute) if isinstance(e.ctx, ast.Store)}
        asked: dict[Call, list[ast.Attribute]] = {}
        conditions_of_wrap: dict[Call, list[Condition]] = {}
        for node in module.every(ast.Attribute):
            if node.attr in NAMES | set_here or node.attr.startswith("_"):
                continue
            wrap = next((w for w in _reaching(node.value, module) if w.node in wrapped), None)
            if wrap is None:
                continue
            if wrap not in conditions_of_wrap:
                conditions_of_wrap[wrap] = conditions(wrap.node, module)
            if _can_happen(node, module, conditions_of_wrap[wrap]):
                asked.setdefault(wrap, []).append(node)
        for wrap, nodes in asked.items():
            names = list(dict.fromkeys(node.attr for node in nodes))
            inner = wrapped[wrap.node]
            yield Finding(
                span=module.span(nodes[0]),
                message=f"{wrap.method} has no {' and no '.join(names)}: the line raises an "
                "exception where the model is wrapped",
                hint=f"read `{module.text(nodes[0].value)}.{inner}.{names[0]}` where it is "
                "wrapped, or keep the model under a name of its own",
                related=(module.span(wrap.node), *(module.span(node) for node in nodes[1:4])),
            )


def _reaching(node: ast.expr, module: Module) -> Iterator[Call]:
    """Yield the calls of the same function whose results a variable may have."""
    if not isinstance(node, ast.Name):
        return
    function, bindings = module.function_of(node), definitions(node, module)
    for binding in bindings:
        value = binding.value
        if binding.kind != "assign" or not isinstance(value, ast.Call) or binding.path:
            continue
        later = bindings[bindings.index(binding) + 1 :]
        again = [each for each in later if module.function_of(each.node) is function]
        if module.function_of(value) is function and all(_keeps(each, node.id) for each in again):
            yield module.call(value)


def _keeps(binding: Binding, name: str) -> bool:
    """Whether an assignment changes nothing: `model = model`, left by a conversion."""
    match binding.value:
        case ast.Name(id=same):
            return same == name
    return False


def _can_happen(node: ast.Attribute, module: Module, of_wrap: Sequence[Condition]) -> bool:
    """Whether the attribute is asked in a case in which the wrapper was certainly made."""
    around = conditions(node, module)
    own = [test for test in around if test.node not in {each.node for each in of_wrap}]
    if any(word in test.text for test in own for word in _ASKS):
        return False
    if module.enclosing(node, ast.Try) is not None:
        return False
    shared = {(test.text, test.holds) for test in of_wrap}
    others = [test for test in own if (test.text, test.holds) not in shared]
    if not of_wrap or all(comes_round((test.node, test.module)) for test in others):
        return True
    return can_be_met([((test.node, test.module), test.holds) for test in (*of_wrap, *around)])


RULE = Rule("CL608", check, hints=("DataParallel",), needs_training=False)

"""Methods of old objects: calls of those that are gone, and renamed arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, replace_node
from crosscast_reading.pysource.programs.module import Module

PARALLEL = (
    "with_data_parallel is gone: the program runs on one device; for several start one process "
    "each with paddle.distributed.launch and use paddle.distributed.fleet"
)


RATE = (
    "current_step_lr() of an optimizer is gone and fails: write get_lr(), which is the rate of the "
    "next step once the schedule has stepped"
)
STATES = "set_dict of an optimizer is set_state_dict in Paddle 3, as that of a layer may be, too"
SCALARS = (
    "means, whole sums and accuracies have no dimension in Paddle 3: where such an x is left as "
    "x.numpy()[0], write x.item()"
)


def reads_rates(module: Module) -> bool:
    """Whether `current_step_lr` is called, which only optimizers of fluid had."""
    return any(call.method == "current_step_lr" for call in module.calls)


def reads_first_elements(module: Module) -> bool:
    """Whether `x.numpy()[0]` is read anywhere, which fails if x has no dimension."""
    return any(
        isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "numpy"
        and isinstance(node.slice, ast.Constant)
        and node.slice.value == 0
        for node in module.every(ast.Subscript)
    )


def without_data_parallel(module: Module) -> Iterator[Edit]:
    """Yield the edits that take `.with_data_parallel(...)` off compiled programs."""
    for call in module.calls:
        receiver = call.receiver
        if call.method != "with_data_parallel" or receiver is None:
            continue
        if not any("CompiledProgram" in name for name in module.resolve_all(receiver)):
            continue
        node = call.node
        assert receiver.end_lineno is not None
        assert receiver.end_col_offset is not None
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        yield Edit(
            file=module.source.name,
            line=receiver.end_lineno,
            column=column_at(module, receiver.end_lineno, receiver.end_col_offset),
            end_line=node.end_lineno,
            end_column=column_at(module, node.end_lineno, node.end_col_offset),
            text="",
        )


def renamed_methods(module: Module) -> Iterator[Edit]:
    """Yield the edits that rename `parameter_list` and `set_dict` of an optimizer's methods."""
    for call in module.calls:
        receiver = call.receiver
        if receiver is None or not _is_optimizer(module, receiver):
            continue
        function = call.node.func
        if call.method == "set_dict" and isinstance(function, ast.Attribute):
            yield replace_node(module, function, f"{module.text(receiver)}.set_state_dict")
        if call.method not in ("minimize", "backward"):
            continue
        for keyword in call.node.keywords:
            if keyword.arg == "parameter_list":
                column = column_at(module, keyword.lineno, keyword.col_offset)
                yield Edit(
                    file=module.source.name,
                    line=keyword.lineno,
                    column=column,
                    end_line=keyword.lineno,
                    end_column=column + len(keyword.arg),
                    text="parameters",
                )


def sets_unknown_states(module: Module) -> bool:
    """Whether `x.set_dict` is called and x may be an optimizer, whose method has another name."""
    return any(
        call.method == "set_dict"
        and call.receiver is not None
        and not module.resolve_all(call.receiver)
        for call in module.calls
    )


def _is_optimizer(module: Module, receiver: ast.expr) -> bool:
    names = module.resolve_all(receiver)
    return bool(names) and all(name.startswith("paddle.fluid.optimizer.") for name in names)

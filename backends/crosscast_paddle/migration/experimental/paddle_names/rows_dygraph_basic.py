"""Rows: guards, tensors, states and processes of dynamic graphs."""

from __future__ import annotations

import ast

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError
from crosscast_paddle.migration.experimental.paddle_names.call_forms import closing, given, is_array
from crosscast_paddle.migration.experimental.paddle_names.row import NameRow
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert, replace_node
from crosscast_reading.pysource.programs.module import Module

_NAMES = "paddle.utils.unique_name.guard"
_VALUE = "value name zero_copy dtype"


def _guard(module: Module, call: ast.Call | None) -> NameRow:
    """Return the row of a guard: Paddle 3 is dynamic by itself, what is left is the device."""
    if call is None:
        raise CannotError(module.tree, "it is used as a value; call it in a with statement")
    return _PLACED if given(call, "place", "place") else NameRow(old=(), new=_NAMES)


def _device_first(module: Module, call: ast.Call) -> list[Edit]:
    """Return the edits that select the device before the block of a guard."""
    item = module.parent(call)
    block = module.parent(item) if isinstance(item, ast.withitem) else None
    if not isinstance(block, ast.With) or len(block.items) != 1:
        raise CannotError(call, "it is not alone in a with statement; write paddle.set_device")
    if block.items[0].optional_vars is not None or block.lineno != call.lineno:
        raise CannotError(call, "it is not alone in a with statement; write paddle.set_device")
    line = module.lines[block.lineno - 1]
    indent = line[: len(line) - len(line.lstrip())]
    start = column_at(module, block.lineno, block.col_offset)
    head = Edit(
        file=module.source.name,
        line=block.lineno,
        column=start,
        end_line=block.lineno,
        end_column=column_at(module, call.lineno, call.col_offset),
        text="",
    )
    keywords = [_keyword_removed(module, keyword) for keyword in call.keywords]
    return [head, *keywords, closing(module, call, f"\n{indent}with {_NAMES}()")]


def _keyword_removed(module: Module, keyword: ast.keyword) -> Edit:
    column = column_at(module, keyword.lineno, keyword.col_offset)
    return Edit(
        file=module.source.name,
        line=keyword.lineno,
        column=column,
        end_line=keyword.value.lineno,
        end_column=column_at(module, keyword.value.lineno, keyword.value.col_offset),
        text="",
    )


_ARRAY = NameRow(
    old=(),
    new="paddle.to_tensor",
    order=_VALUE,
    new_order="value dtype",
    renamed={"value": "data"},
    dropped={"name": ("*",), "zero_copy": ("*",)},
)
_MAY_BE_TENSOR = NameRow(old=(), helper="as_tensor")


def _tensor(module: Module, call: ast.Call | None) -> NameRow:
    """Return the row of to_variable, which returned a tensor as it is, with its gradient."""
    value = given(call, _VALUE, "value") if call is not None else None
    return _ARRAY if value is not None and is_array(value, module) else _MAY_BE_TENSOR


_PLACED = NameRow(old=(), new="paddle.set_device", rewrite=_device_first)


def _no_grad(module: Module, call: ast.Call | None) -> NameRow:
    """Return the row of `no_grad`, which is a decorator without a call in fluid, too."""
    if call is not None and (call.args or call.keywords):
        raise CannotError(call, "it is called with a function; write @paddle.no_grad()")
    return NameRow(old=(), new="paddle.no_grad" if call is not None else "paddle.no_grad()")


def _enable(module: Module, call: ast.Call | None) -> NameRow:
    """Return the row of enable_dygraph: only its place is left."""
    if call is None:
        raise CannotError(module.tree, "it is used as a value")
    if given(call, "place", "place") is None:
        return NameRow(old=(), new="paddle.disable_static")
    return NameRow(old=(), new="paddle.disable_static", order="place")


_STATE = "state_dict model_path"


def _saved(module: Module, call: ast.Call | None) -> NameRow:
    """Return the row of a saved state: of a layer if it is certain, else a function."""
    state = given(call, _STATE, "state_dict") if call is not None else None
    path = given(call, _STATE, "model_path") if call is not None else None
    helper = NameRow(old=(), helper="save_dygraph_state")
    if not isinstance(state, ast.Call) or path is None:
        return helper
    owners = module.call(state).names
    if len(owners) != 1 or not _is_layer(module, state) or not isinstance(path, _PLAIN_PATH):
        return helper
    return NameRow(
        old=(),
        new="paddle.save",
        order=_STATE,
        renamed={"state_dict": "obj", "model_path": "path"},
        rewrite=_parameters_path,
    )


_PLAIN_PATH = ast.Constant | ast.Name | ast.Call | ast.BinOp | ast.Attribute


def _is_layer(module: Module, state: ast.Call) -> bool:
    """Whether `x.state_dict()` is certainly of an object of a layer's class."""
    function = state.func
    if not isinstance(function, ast.Attribute) or function.attr != "state_dict":
        return False
    name = module.call(state).name
    return ":" in name or name.startswith(("paddle.fluid.dygraph.Layer", "paddle.nn."))


def _parameters_path(module: Module, call: ast.Call) -> list[Edit]:
    """Return the edit that adds the suffix which fluid added to a path."""
    path = given(call, _STATE, "model_path")
    assert path is not None
    if isinstance(path, ast.Constant) and isinstance(path.value, str):
        text = module.text(path)
        if text[-1] in "'\"" and text[:3] not in ("'''", '"""'):
            return [replace_node(module, path, f"{text[:-1]}.pdparams{text[-1]}")]
    end = insert(
        module,
        path.end_lineno or path.lineno,
        column_at(module, path.end_lineno or path.lineno, path.end_col_offset or 0),
        ' + ".pdparams"',
    )
    return [end]


def _seeded(module: Module, call: ast.Call) -> list[Edit]:
    """Return the edits of `default_main_program().random_seed = seed`."""
    member = module.parent(call)
    statement = module.parent(member) if isinstance(member, ast.Attribute) else None
    if (
        not isinstance(statement, ast.Assign)
        or len(statement.targets) != 1
        or statement.targets[0] is not member
        or statement.lineno != statement.value.lineno
        or getattr(member, "attr", "") != "random_seed"
    ):
        raise CannotError(call, "dynamic programs have no graph; remove what needs it")
    value = statement.value
    function = call.func
    start = column_at(module, call.lineno, function.end_col_offset or 0)
    return [
        Edit(
            file=module.source.name,
            line=call.lineno,
            column=start,
            end_line=value.lineno,
            end_column=column_at(module, value.lineno, value.col_offset),
            text="(",
        ),
        insert(
            module,
            value.end_lineno or value.lineno,
            column_at(module, value.end_lineno or value.lineno, value.end_col_offset or 0),
            ")",
        ),
    ]


ROWS = (
    NameRow(
        old=("dygraph.guard", "imperative.guard", "paddle.imperative.guard"),
        mode="dynamic",
        variant=_guard,
    ),
    NameRow(
        old=("enable_dygraph", "dygraph.enable_dygraph", "enable_imperative"),
        mode="dynamic",
        variant=_enable,
    ),
    NameRow(
        old=("dygraph.to_variable", "imperative.to_variable"),
        mode="dynamic",
        variant=_tensor,
    ),
    NameRow(
        old=("dygraph.no_grad", "paddle.imperative.no_grad"),
        mode="dynamic",
        variant=_no_grad,
    ),
    NameRow(
        old=("dygraph.BackwardStrategy",),
        mode="dynamic",
        refused="Paddle 3 orders sums of gradients itself; remove it, and call backward() without "
        "it",
    ),
    NameRow(old=("save_dygraph", "dygraph.save_dygraph"), mode="dynamic", variant=_saved),
    NameRow(
        old=("default_startup_program", "default_main_program"),
        mode="dynamic",
        new="paddle.seed",
        order="",
        rewrite=_seeded,
    ),
    NameRow(
        old=("dygraph.DataParallel",),
        mode="dynamic",
        new="paddle.DataParallel",
        order="layers strategy",
        dropped={"strategy": ("*",)},
        note="paddle.DataParallel averages the gradients in backward(); scale_loss() and "
        "apply_collective_grads() do nothing any more",
    ),
    NameRow(
        old=("dygraph.TracedLayer",),
        mode="dynamic",
        refused="it was removed; write paddle.jit.save(layer, path, input_spec)",
    ),
    NameRow(
        old=("clip.set_gradient_clip",),
        mode="dynamic",
        refused="it was removed; give the clip to the optimizer as grad_clip=",
    ),
    NameRow(
        old=("io.DataLoader.from_generator", "paddle.io.DataLoader.from_generator"),
        mode="dynamic",
        helper="GeneratorLoader",
        note="the loader reads in this process, without a queue",
    ),
)

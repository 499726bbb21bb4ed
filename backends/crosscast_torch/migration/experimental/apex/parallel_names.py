"""Names of apex.parallel and what replaces them in torch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_migrate.conditions import is_plain
from crosscast_reading.edits.layout import Draft
from crosscast_torch.migration.experimental.apex.moved_names import (
    Name,
    change_arguments,
    is_constant,
    keywords_of,
    removable,
)
from crosscast_torch.migration.experimental.torch_name import torch_in

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_NEW = {
    "DistributedDataParallel": ".nn.parallel.DistributedDataParallel",
    "convert_syncbn_model": ".nn.SyncBatchNorm.convert_sync_batchnorm",
    "SyncBatchNorm": ".nn.SyncBatchNorm",
}
_HINTS = {
    "Reducer": "use torch.distributed.all_reduce on the gradients",
    "LARC": "copy the class from apex/parallel/LARC.py into the program: it needs nothing of apex, "
    "and GradScaler.step calls its step",
    "create_syncbn_process_group": "write torch.distributed.new_subgroups(SIZE)[0], or None for a "
    "size of 0",
}
_DROPPED = {"delay_allreduce": (True, False), "gradient_average": (True,)}
_KEPT = {
    "DistributedDataParallel": {"module"},
    "convert_syncbn_model": {"module", "process_group"},
    "SyncBatchNorm": {
        *("num_features", "eps", "momentum", "affine", "track_running_stats", "process_group"),
    },
}
NOTES = {
    "DistributedDataParallel": (
        "torch reduces gradients during the backward pass: if a loss does not use all weights, add "
        "find_unused_parameters=True (apex allowed it with delay_allreduce=True). "
        "broadcast_buffers=False preserves the behavior of apex: every process keeps its own batch "
        "norm statistics."
    ),
}


def move(name: Name, draft: Draft) -> Refusal | None:
    """Replace a name and its arguments in a draft, or return why that is not possible."""
    refusal = wrong(name)
    if refusal is None:
        _replace(name, draft)
    return refusal


def new_name(name: Name) -> str:
    """Return what replaces a name, for a message."""
    return f"torch{_NEW[name.what]}"


def wrong(name: Name) -> Refusal | None:
    """Return why a name of apex.parallel cannot be replaced."""
    module = name.module
    if name.what not in _NEW:
        hint = _HINTS.get(name.what, "migrate it to torch by hand")
        message = f"apex.parallel.{name.what} has no equivalent in torch"
        return Refusal(span=module.span(name.uses[0]), message=message, hint=hint)
    if not removable([name]):
        message = f"the import of {name.what} shares its line with another statement"
        hint = "put it on its own line"
        return Refusal(span=module.span(name.imports[0][0]), message=message, hint=hint)
    if (handed := name.reexport()) is not None:
        message = f"another file imports {name.what} from this file"
        return Refusal(
            span=module.span(handed), message=message, hint="first import it from torch there"
        )
    for call in name.calls():
        given = keywords_of(call)
        most = len(_KEPT[name.what])
        if given is None or len(call.args) > most or not (call.args or given):
            message = f"not all arguments of {name.what} are keyword arguments"
            hint = "pass them by name"
            return Refusal(span=module.span(call), message=message, hint=hint)
        for word, value in given.items():
            dropped = name.what == "DistributedDataParallel" and any(
                is_constant(value, dropped) for dropped in _DROPPED.get(word, ())
            )
            if word in _KEPT[name.what] or dropped:
                continue
            return Refusal(
                span=module.span(value),
                message=f"{name.what} with {word}={module.text(value)} has no equivalent in torch",
                hint="decide whether the training needs it; if not, remove it",
            )
    return None


def _replace(name: Name, draft: Draft) -> None:
    torch = torch_in(draft)
    new = torch + _NEW[name.what]
    for use in name.uses:
        draft.replace(use, new)
    if name.what != "DistributedDataParallel":
        return
    for call in name.calls():
        device = _device(name.module, call)
        ids = f"device_ids=[{device}], " if device else ""
        change_arguments(draft, call, _DROPPED, f"{ids}broadcast_buffers=False")


def _device(module: Module, call: ast.Call) -> str:
    """Return the argument of an earlier `torch.cuda.set_device` in the same function."""
    for setter in module.calls:
        if setter.name != "torch.cuda.set_device" or len(setter.node.args) != 1:
            continue
        device = setter.node.args[0]
        same = module.function_of(setter.node) is module.function_of(call)
        index = not isinstance(device, ast.Name) or "device" not in device.id
        if same and is_plain(device) and index and setter.node.lineno < call.lineno:
            return module.text(device)
    return ""

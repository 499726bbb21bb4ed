"""Methods of old objects that are gone: their calls are taken out."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.edits.edit import Edit
from crosscast.edits.node_edits import column_at
from crosscast.pysource.programs.module import Module

PARALLEL = (
    "with_data_parallel is gone: the program runs on one device; for several start one process "
    "each with paddle.distributed.launch and use paddle.distributed.fleet"
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

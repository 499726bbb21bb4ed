"""CM310: names of paddle.fluid to those of Paddle 3."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_paddle.migration.experimental.paddle_fluid import (
    CannotError,
    guarded,
    unused_fluid_imports,
)
from crosscast_paddle.migration.experimental.paddle_names.gone import gone_names
from crosscast_paddle.migration.experimental.paddle_names.imports import (
    FLAG,
    FLAG_NAME,
    flag_lines,
    has_moved_imports,
    is_of_fluid,
    is_paddle,
)
from crosscast_paddle.migration.experimental.paddle_names.modes import mode_of
from crosscast_paddle.migration.experimental.paddle_names.moves import Moves, moves_of
from crosscast_paddle.migration.experimental.paddle_names.old_graphs import (
    differentiated_twice,
    rejected,
)
from crosscast_paddle.migration.experimental.paddle_names.row import Mode
from crosscast_paddle.migration.experimental.paddle_names.table import rows_for
from crosscast_paddle.migration.experimental.paddle_names.uses import uses_of
from crosscast_reading.edits.node_edits import insert_before
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.sources.subject import Subject

_AMP = re.compile(r"paddle\.fluid\.(?:contrib\.mixed_precision\b|incubate\.fleet\b)")
_GRAPH = (
    "the program builds graphs with names, which Paddle 3 keeps behind FLAGS_enable_pir_api=0; "
    "the flag is set before paddle is imported"
)
_OUT = "write it with paddle.static, paddle.nn or paddle.io, or remove what needs it"
SHOWN = 6


def run(subject: Subject) -> Iterator[Outcome]:
    """Move the names of each module, and report those without a counterpart."""
    program = subject.program
    if not program.modules:
        return
    mode = mode_of(program.modules, subject.beside)
    if _is_for_fluid(program, mode):
        for module in program.modules:
            if _concerned(module, mode):
                yield from _moved(module, mode)
    yield from gone_names(program.modules, mode)
    if mode == "static":
        yield from rejected(program.modules)
        yield from differentiated_twice(program.modules)
    yield from _flag_first(program)


def _moved(module: Module, mode: Mode) -> Iterator[Outcome]:
    if guarded(module, ("paddle.fluid",)):
        yield from _guarded(module)
        return
    try:
        moves = moves_of(module, mode)
    except CannotError as error:
        yield Refusal(
            span=module.span(error.node),
            message=f"paddle.fluid stays in this file: {error.reason}",
            hint="write the names of this file out, with one import of paddle.fluid",
        )
        return
    if moves.moved or not moves.left:
        yield _change(module, moves, mode)
    yield from _left(module, moves)


def _flag_first(program: Program) -> Iterator[Change]:
    """Set the flag where the program begins, if a module that it imports sets it too late."""
    main, *others = program.modules
    if FLAG_NAME in main.source.text or not any(FLAG in other.source.text for other in others):
        return
    for statement in main.tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom) and is_paddle(statement):
            yield Change(
                span=main.span(statement),
                message=f"{FLAG_NAME}=0 is set before paddle is imported first",
                edits=(insert_before(main, statement, flag_lines(main, statement)),),
            )
            return


def _guarded(module: Module) -> Iterator[Refusal]:
    """Report a file that expects some names of fluid to be missing, but needs it otherwise."""
    for node in module.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) and is_of_fluid(node):
            yield Refusal(
                span=module.span(node),
                message="paddle.fluid stays in this file: another import of it is in a try",
                hint="leave one of the alternatives, then migrate the file",
            )
            return


def _concerned(module: Module, mode: Mode) -> bool:
    """Whether a module has names of fluid, used or imported."""
    uses = any(use.row or not _is_reported(use.name) for use in uses_of(module, rows_for(mode)))
    return uses or has_moved_imports(module, mode) or any(unused_fluid_imports(module, _AMP))


def _is_for_fluid(program: Program, mode: Mode) -> bool:
    """Whether a program has more of fluid than mixed precision, which other codemods change."""
    return any(
        any(not _is_reported(use.name) for use in uses_of(module, rows_for(mode)))
        or any(unused_fluid_imports(module, _AMP))
        or has_moved_imports(module, mode)
        for module in program.modules
    )


def _change(module: Module, moves: Moves, mode: Mode) -> Change:
    moved = [f"{old.removeprefix('paddle.')} is {new}" for old, new in moves.moved.items()]
    fluid = any(old.startswith("paddle.fluid.") for old in moves.moved)
    more = f" and {len(moved) - SHOWN} more" if len(moved) > SHOWN else ""
    notes = [*moves.notes, *([_GRAPH] if mode == "static" and fluid else [])]
    return Change(
        span=module.span(moves.first or module.tree.body[0]),
        message=", ".join(moved[:SHOWN]) + more or "the import of paddle.fluid goes",
        edits=tuple(moves.edits),
        note="; ".join(notes),
    )


def _is_reported(name: str) -> bool:
    """Whether the codemods of mixed precision say what they leave of a name."""
    return bool(_AMP.match(name)) and not name.startswith("paddle.fluid.incubate.")


def _left(module: Module, moves: Moves) -> Iterator[Refusal]:
    seen: set[str] = set()
    for node, name, reason in moves.left:
        if _is_reported(name) or (name in seen and not reason):
            continue
        seen.add(name)
        what, _, way = reason.partition("; ")
        yield Refusal(
            span=module.span(node),
            message=f"{name} stays and fails in Paddle 3: {what or 'it has no known counterpart'}",
            hint=way or _OUT,
        )


_BEFORE = """\
import paddle.fluid as fluid

image = fluid.data("image", [None, 784])
label = fluid.data("label", [None, 1], dtype="int64")
hidden = fluid.layers.fc(input=image, size=10, act="relu")  # the only layer
"""
_AFTER = """\
import os
os.environ.setdefault("FLAGS_enable_pir_api", "0")  # the graphs of paddle.fluid, with names
import paddle
paddle.enable_static()

image = paddle.static.data("image", [None, 784])
label = paddle.static.data("label", [None, 1], dtype="int64")
hidden = paddle.static.nn.fc(x=image, size=10, activation="relu")  # the only layer
"""
_LEFT = """\
import paddle.fluid as fluid

x = fluid.data("x", [None, 4])
table = fluid.layers.lod_rank_table(x)
"""
_LEFT_AFTER = """\
import os
os.environ.setdefault("FLAGS_enable_pir_api", "0")  # the graphs of paddle.fluid, with names
import paddle
paddle.enable_static()

x = paddle.static.data("x", [None, 4])
table = paddle.fluid.layers.lod_rank_table(x)
"""
_GONE = """\
import paddle
from paddle.incubate.nn import FusedEcMoe

experts = FusedEcMoe(8, 16, 4)
loss = paddle.nn.functional.cross_entropy(logits, labels)
"""
_RANGE = """\
import paddle

places = paddle.range(0, 10, 1)
"""
_OWN = """\
import paddle

if not hasattr(paddle, "flops_of"):
    paddle.profile_of = print
    paddle.profile_of(paddle.flops_of)
try:
    from paddle.nn import Spectral
except ImportError:
    Spectral = None


def total(paddle):
    return paddle.elementwise_total(1)
"""
_MIXED = """\
import paddle
import paddle.fluid as fluid

x = fluid.data("x", [None, 4])
y = paddle.tanh(x)
"""
_MIXED_AFTER = """\
import os
os.environ.setdefault("FLAGS_enable_pir_api", "0")  # the graphs of paddle.fluid, with names
import paddle
paddle.enable_static()

x = paddle.static.data("x", [None, 4])
y = paddle.tanh(x)
"""
_ENABLED = """\
import paddle
import paddle.fluid as fluid

paddle.enable_static()
x = fluid.data("x", [None, 4])
"""
_ENABLED_AFTER = """\
import os
os.environ.setdefault("FLAGS_enable_pir_api", "0")  # the graphs of paddle.fluid, with names
import paddle

paddle.enable_static()
x = paddle.static.data("x", [None, 4])
"""

CODEMOD = Codemod(
    code="CM310",
    name="paddle-fluid-names",
    api="paddle3",
    title="names of paddle.fluid become those of Paddle 3, with the old defaults written out",
    hints=("paddle",),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_AFTER, after=_AFTER),
        Example(before=_LEFT, after=_LEFT_AFTER, refused="no known counterpart"),
        Example(before=_GONE, after=_GONE, refused="does not have paddle.incubate.nn.FusedEcMoe"),
        Example(before=_RANGE, after=_RANGE, refused="leaves out its end"),
        Example(before=_OWN, after=_OWN),
        Example(before=_ENABLED, after=_ENABLED_AFTER),
        Example(before=_MIXED, after=_MIXED_AFTER, refused="paddle.tanh fails with variables"),
    ),
    scope="every file",
    run=run,
)

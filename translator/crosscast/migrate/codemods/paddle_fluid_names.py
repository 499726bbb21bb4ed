"""CM310: names of paddle.fluid to those of Paddle 3."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast.edits.node_edits import insert_before
from crosscast.migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast.migrate.paddle_fluid import CannotError, guarded, unused_fluid_imports
from crosscast.migrate.paddle_names.imports import (
    FLAG,
    FLAG_NAME,
    flag_lines,
    has_moved_imports,
    is_of_fluid,
    is_paddle,
)
from crosscast.migrate.paddle_names.moves import Moves, moves_of
from crosscast.migrate.paddle_names.row import Mode
from crosscast.migrate.paddle_names.table import later_names, rows_for
from crosscast.migrate.paddle_names.uses import uses_of
from crosscast.pysource.programs.module import Module
from crosscast.pysource.programs.program import Program
from crosscast.sources.subject import Subject

_AMP = re.compile(
    r"paddle\.fluid\.(?:contrib\.mixed_precision\b|incubate\.fleet\b|"
    r"dygraph\.(?:amp\.)?(?:(?:auto_cast|loss_scaler)\.)?(?:AmpScaler|amp_guard|amp_decorate)\b)"
)
_DYNAMIC = re.compile(
    r"\bdygraph\.(?:guard|Layer|to_variable)\b|\b(?:enable_dygraph|disable_static|to_variable)\b"
)
_STATIC = re.compile(r"\b(?:enable_static|program_guard|Executor|ParallelExecutor)\(")
_AT_ONCE = re.compile(
    r"\bdygraph\b|\bimperative\b|\.clear_grad\(|\bpaddle\.(?:to_tensor|set_device|no_grad)\b|"
    r"\bnn\.Layer\b"
)
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
    mode = mode_of(program)
    if not _is_for_fluid(program, mode):
        yield from _flag_first(program)
        return
    for module in program.modules:
        if not _concerned(module, mode):
            continue
        if guarded(module, ("paddle.fluid",)):
            yield from _guarded(module)
            continue
        try:
            moves = moves_of(module, mode)
        except CannotError as error:
            yield Refusal(
                span=module.span(error.node),
                message=f"paddle.fluid stays in this file: {error.reason}",
                hint="write the names of this file out, with one import of paddle.fluid",
            )
            continue
        if moves.moved or not moves.left:
            yield _change(module, moves, mode)
        yield from _left(module, moves)
    yield from _flag_first(program)


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


def mode_of(program: Program) -> Mode:
    """Return whether a program computes at once or builds a graph first.

    Programs of Paddle 1 build graphs unless they say otherwise, those of Paddle 2 do not.
    """
    text = "\n".join(module.source.text for module in program.modules)
    if _DYNAMIC.search(text):
        return "dynamic"
    return "dynamic" if _AT_ONCE.search(text) and not _STATIC.search(text) else "static"


def _concerned(module: Module, mode: Mode) -> bool:
    """Whether a module has names of fluid, used or imported."""
    uses = any(use.row or not _AMP.match(use.name) for use in uses_of(module, rows_for(mode)))
    return uses or has_moved_imports(module, mode) or any(unused_fluid_imports(module, _AMP))


def _is_for_fluid(program: Program, mode: Mode) -> bool:
    """Whether a program has more of fluid than mixed precision, which other codemods change."""
    return any(
        any(not _AMP.match(use.name) for use in uses_of(module, rows_for(mode)))
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


def _left(module: Module, moves: Moves) -> Iterator[Refusal]:
    seen: set[str] = set()
    for node, name, reason in moves.left:
        if _AMP.match(name) or (name in seen and not reason):
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

CODEMOD = Codemod(
    code="CM310",
    name="paddle-fluid-names",
    api="paddle3",
    title="names of paddle.fluid become those of Paddle 3, with the old defaults written out",
    hints=("fluid", *later_names()),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_AFTER, after=_AFTER),
        Example(before=_LEFT, after=_LEFT_AFTER, refused="no known counterpart"),
    ),
    scope="every file",
    run=run,
)

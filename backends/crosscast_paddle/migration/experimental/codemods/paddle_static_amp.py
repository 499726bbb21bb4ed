"""CM302: mixed precision of static graphs to the interface that works in Paddle 3."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_paddle.migration.experimental.paddle_decorate import (
    DECORATE,
    SCALING,
    decorate_arguments,
)
from crosscast_paddle.migration.experimental.paddle_fluid import (
    CannotError,
    Renaming,
    drop_lines,
    exact,
    guarded,
    remaining_fluid_names,
)
from crosscast_paddle.migration.experimental.paddle_graph import (
    Graph,
    can_be_indented,
    decorated_plainly,
    graph_of,
    minimized,
    name_of_paddle,
    put_under,
)
from crosscast_paddle.reading.static import is_static
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import insert
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.sources.subject import Subject

_FLUID = "paddle.fluid.contrib.mixed_precision"
_NAMES = (f"{_FLUID}.decorate", DECORATE, "paddle.static.amp.bf16.decorate_bf16")
_IMPORTED = {f"{_FLUID}.decorate": DECORATE, f"{_FLUID}.decorator.decorate": DECORATE}
_LISTS = (
    f"{_FLUID}.AutoMixedPrecisionLists",
    "paddle.static.amp.AutoMixedPrecisionLists",
    "paddle.static.amp.CustomOpLists",
)
_STATE = (
    "in Paddle 3 it neither casts nor scales on its own",
    f"it was removed, and {DECORATE} of Paddle 3 neither casts nor scales on its own",
)
_HINT = (
    "build the network under paddle.amp.auto_cast(...), keep decorate(optimizer), and call "
    "paddle.amp.GradScaler(...).minimize(optimizer, scaler.scale(loss)) in the program; or let "
    "`crosscast migrate SOURCE --to paddle -o DIR` create a new script"
)
_SCRIPT = "let `crosscast migrate SOURCE --to paddle -o DIR` create a script with dynamic graphs"


def run(subject: Subject) -> Iterator[Outcome]:
    """Change each decorated optimizer and its program, or report why that is not possible."""
    program = subject.program
    if any("FLAGS_enable_pir_api" in source.text for source in subject.sources):
        return  # the program selects its graph representation itself
    decorated = [call for call in _calls(program) if _is_old(call, program)]
    for call in decorated:
        name = call.name
        try:
            if len(decorated) > 1:
                raise CannotError(call.node, "several optimizers are decorated")
            yield _change(call, program)
        except CannotError as error:
            yield Refusal(
                span=call.module.span(error.node),
                message=f"{name} is unchanged, although {_STATE[name != DECORATE]}: {error.reason}",
                hint=_HINT,
            )
    yield from _fleet(program)


def _calls(program: Program) -> Iterator[Call]:
    for module in program.modules:
        yield from module.calls


def _is_old(call: Call, program: Program) -> bool:
    """Whether a call certainly decorates an optimizer that is not used with a GradScaler."""
    if call.name not in _NAMES or len(call.names) != 1 or guarded(call.module, [_FLUID]):
        return False
    return call.name != DECORATE or not any(
        call.name == "paddle.amp.GradScaler.minimize" for call in _calls(program)
    )


def _change(call: Call, program: Program) -> Change:
    module, node = call.module, call.node
    for other in program.modules:
        if found := next(remaining_fluid_names(other, re.compile(re.escape(_FLUID))), None):
            raise CannotError(node, f"the program also needs {found[0]}, which was removed")
    given, newer = decorate_arguments(call, program)
    graph = graph_of(module, node)
    lists, edits, dropped = _lists(module, given.get("amp_lists"), graph)
    if "#" in module.text(node) or not can_be_indented(module, graph):
        raise CannotError(node, "it contains comments or multi-line strings")
    indent = " " * graph.decorated.col_offset
    scaling = "".join(
        f"{indent}    {name}={exact(module, given[name]) if name in given else defaults[newer]},\n"
        for name, defaults in SCALING.items()
    )
    if not module.resolve(given["optimizer"]).startswith("paddle.optimizer."):
        raise CannotError(node, "the decorated optimizer is not visible")
    if call.name != DECORATE:
        gone = frozenset(map(id, (*node.args, *node.keywords, *dropped)))
        edits += Renaming(module, [(node.func, DECORATE)], _IMPORTED, gone=gone).run()
    edits.append(decorated_plainly(module, node, exact(module, given["optimizer"])))
    edits += put_under(module, graph, lists)
    paddle = name_of_paddle(module)
    end = len(module.lines[(graph.decorated.end_lineno or 1) - 1]) + 1
    made = f"\n{indent}{graph.scaler} = {paddle}.amp.GradScaler(\n{scaling}{indent})"
    edits.append(insert(module, graph.decorated.end_lineno or 1, end, made))
    edits += minimized(module, graph)
    return Change(
        span=module.span(node),
        message=f"the network is built under auto_cast and {graph.scaler} scales "
        f"{graph.loss.id}, as Paddle 3 requires; defaults are written out",
        edits=tuple(edits),
        note="the lists of the installed Paddle determine the operations in half; Adam now skips "
        "an overflow, where it made a step with zero gradients before Paddle 2; the loss scale of "
        "GradScaler has no minimum (the program: 1)",
    )


def _lists(
    module: Module, node: ast.expr | None, graph: Graph
) -> tuple[str, list[Edit], list[ast.stmt]]:
    """Return the arguments of auto_cast for the lists, and the statements dropped by edits."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return "", [], []
    edits: list[Edit] = []
    dropped: list[ast.stmt] = []
    if isinstance(node, ast.Name):
        made = graph.only_assignment(module, node)
        node = made.value
        edits.append(drop_lines(module, made))
        dropped.append(made)
    call = module.call(node) if isinstance(node, ast.Call) else None
    if call is None or call.name not in _LISTS or call.has_star:
        raise CannotError(node, "its lists of operations are created elsewhere")
    arguments = []
    for name, value in call.bound().items():
        if name not in ("custom_white_list", "custom_black_list"):
            raise CannotError(node, f"auto_cast has no {name}")
        try:
            ast.literal_eval(value)
        except ValueError:
            raise CannotError(value, "a list of operations is created elsewhere") from None
        arguments.append(f"{name}={exact(module, value)}, ")
    return "".join(arguments), edits, dropped


def _fleet(program: Program) -> Iterator[Refusal]:
    """Refuse strategies of fleet for static programs, which Paddle 3 does not build."""
    if not is_static(program):
        return
    for module in program.modules:
        for node in module.every(ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and target.attr in ("amp", "use_amp"):
                made = module.resolve(target.value)
                if made.startswith("paddle.") and made.endswith("DistributedStrategy"):
                    yield Refusal(
                        span=module.span(node),
                        message=f"{module.text(target)}: fleet of Paddle 3 does not build static "
                        "programs with mixed precision",
                        hint=_SCRIPT,
                    )


def _program(build: str, optimize: str, imports: str = "") -> str:
    return f"""\
import paddle
{imports}
paddle.enable_static()
images = paddle.static.data("images", [8, 4])  # pixels
{build}optimizer = paddle.optimizer.Momentum(0.1)
{optimize}\
executor = paddle.static.Executor()
executor.run(paddle.static.default_startup_program())
for batch in batches:
    executor.run(feed={{"images": batch}}, fetch_list=[loss])
"""


_BEFORE = _program(
    """\
# the network
hidden = paddle.nn.Linear(4, 2)(images)
loss = paddle.mean(
    hidden,
)
""",
    """\
optimizer = mixed_precision.decorate(
    optimizer, init_loss_scaling=1024.0
)
optimizer.minimize(loss)
""",
    "from paddle.fluid.contrib import mixed_precision\n",
)
_AFTER = """\
import paddle

paddle.enable_static()
with paddle.amp.auto_cast(level="O1", dtype="float16"):
    images = paddle.static.data("images", [8, 4])  # pixels
    # the network
    hidden = paddle.nn.Linear(4, 2)(images)
    loss = paddle.mean(
        hidden,
    )
optimizer = paddle.optimizer.Momentum(0.1)
optimizer = paddle.static.amp.decorate(optimizer, level="O1", dtype="float16", master_weight=False)
scaler = paddle.amp.GradScaler(
    init_loss_scaling=1024.0,
    incr_ratio=2.0,
    decr_ratio=0.8,
    incr_every_n_steps=1000,
    decr_every_n_nan_or_inf=2,
)
scaler.minimize(optimizer, scaler.scale(loss))
executor = paddle.static.Executor()
executor.run(paddle.static.default_startup_program())
for batch in batches:
    executor.run(feed={"images": batch}, fetch_list=[loss])
"""
_FLAG = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true")
args = parser.parse_args()
"""
_FLAGGED = _FLAG + _program(
    "loss = paddle.mean(paddle.nn.Linear(4, 2)(images))\n",
    """\
if args.amp:
    lists = paddle.static.amp.CustomOpLists(custom_black_list=["softmax"])
    optimizer = paddle.static.amp.decorate(optimizer, lists, init_loss_scaling=1024.0, \
use_bf16=False)
optimizer.minimize(loss)  # the update
""",
)
_FLAGGED_AFTER = f"""\
{_FLAG}import paddle

paddle.enable_static()
with paddle.amp.auto_cast(args.amp, custom_black_list=["softmax"], level="O1", dtype="float16"):
    images = paddle.static.data("images", [8, 4])  # pixels
    loss = paddle.mean(paddle.nn.Linear(4, 2)(images))
optimizer = paddle.optimizer.Momentum(0.1)
if args.amp:
    optimizer = paddle.static.amp.decorate(optimizer, level="O1", dtype="float16", \
master_weight=False)
    scaler = paddle.amp.GradScaler(
        init_loss_scaling=1024.0,
        incr_ratio=2.0,
        decr_ratio=0.8,
        incr_every_n_steps=1000,
        decr_every_n_nan_or_inf=2,
    )
if args.amp:
    scaler.minimize(optimizer, scaler.scale(loss))
else:
    optimizer.minimize(loss)  # the update
executor = paddle.static.Executor()
executor.run(paddle.static.default_startup_program())
for batch in batches:
    executor.run(feed={{"images": batch}}, fetch_list=[loss])
"""
_LATE = _FLAGGED.replace("if args.amp:", "if memory(loss) > limit:")
_CONSTANT = _program(
    "loss = paddle.mean(paddle.nn.Linear(4, 2)(images))\n",
    """\
optimizer = paddle.static.amp.decorate(
    optimizer, init_loss_scaling=128.0, use_dynamic_loss_scaling=False, use_pure_fp16=False
)
optimizer.minimize(loss)
""",
)
CODEMOD = Codemod(
    code="CM302",
    name="paddle-static-amp",
    api="paddle3",
    title="decorate of static graphs becomes auto_cast around the network and a GradScaler that "
    "minimizes, with the old defaults written out",
    hints=("mixed_precision", "static.amp", "decorate", "DistributedStrategy"),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_FLAGGED, after=_FLAGGED_AFTER),
        Example(before=_AFTER, after=_AFTER),
        Example(before=_LATE, after=_LATE, refused="under a computed condition"),
        Example(before=_CONSTANT, after=_CONSTANT, refused="a constant scale"),
    ),
    run=run,
)

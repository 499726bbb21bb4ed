"""CM301: mixed precision of dynamic graphs from paddle.fluid to paddle.amp."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_paddle.migration.experimental.paddle_fluid import (
    CannotError,
    Renaming,
    guarded,
    more_arguments,
)
from crosscast_reading.edits.edit import Edit
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.sources.subject import Subject

_PLACES = (
    "paddle.fluid.dygraph",
    "paddle.fluid.dygraph.amp",
    "paddle.fluid.dygraph.amp.auto_cast",
    "paddle.fluid.dygraph.amp.loss_scaler",
)
_NEW = {
    "AmpScaler": "paddle.amp.GradScaler",
    "amp_guard": "paddle.amp.auto_cast",
    "amp_decorate": "paddle.amp.decorate",
}
_IMPORTED = {f"{place}.{old}": new for place in _PLACES for old, new in _NEW.items()}
_OLD = re.compile(r"paddle\.fluid\.dygraph\.(amp\.)?((auto_cast|loss_scaler)\.)?(?P<what>\w+)")
_SCALER = (
    "enable",
    "init_loss_scaling",
    "incr_ratio",
    "decr_ratio",
    "incr_every_n_steps",
    "decr_every_n_nan_or_inf",
    "use_dynamic_loss_scaling",
)
_GUARD = ("enable", "custom_white_list", "custom_black_list", "level", "dtype")
_WRITTEN = {"init_loss_scaling": "2.0**15", "incr_every_n_steps": "1000"}
"""Defaults of AmpScaler that differ in GradScaler."""
_AUTOCASTS = ("paddle.amp.auto_cast", "paddle.amp.amp_guard", "paddle.amp.autocast")
_NOTE = (
    "the lists of the installed Paddle determine the operations in half; they are longer than in "
    "paddle.fluid, whose operation names are still accepted in custom lists"
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the calls of each module together."""
    program = subject.program
    for module in program.modules:
        if guarded(module, _PLACES):
            continue
        calls = [(call, what) for call in module.calls if (what := _what(call))]
        try:
            yield from _changed(module, calls, program)
        except CannotError as error:
            yield Refusal(
                span=module.span(error.node),
                message=f"mixed precision of paddle.fluid is not changed: {error.reason}",
                hint="replace amp_guard with paddle.amp.auto_cast and AmpScaler with "
                "paddle.amp.GradScaler, with init_loss_scaling=2.0**15 and incr_every_n_steps=1000 "
                "unless they are given",
            )


def _what(call: Call) -> str:
    """Return the old name that a call certainly refers to; empty if there is none."""
    found = {m["what"] for name in call.names if (m := _OLD.fullmatch(name))}
    name = found.pop() if len(found) == 1 and len(call.names) == 1 else ""
    return name if name in _NEW else ""


def _changed(module: Module, calls: list[tuple[Call, str]], program: Program) -> Iterator[Outcome]:
    edits: list[Edit] = []
    for call, what in calls:
        edits += _arguments(call, what, program)
    named = [(call.node.func, _NEW[what]) for call, what in calls]
    _only_called(module, {id(function) for function, _ in named})
    edits += Renaming(module, named, _IMPORTED).run()
    if not edits:
        return
    where = calls[0][0].node if calls else _first_import(module)
    words = dict.fromkeys(f"{what} is {_NEW[what]}" for _, what in calls)
    summary = ", ".join(words) or "imports from paddle.amp"
    yield Change(
        span=module.span(where),
        message=f"{summary}; changed defaults are written out",
        edits=tuple(edits),
        note=_NOTE,
    )


def _arguments(call: Call, what: str, program: Program) -> list[Edit]:
    """Return the edits of the arguments of a call."""
    node = call.node
    known = _SCALER if what == "AmpScaler" else _GUARD
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    if starred or any(keyword.arg is None for keyword in node.keywords):
        raise CannotError(node, f"the arguments of {what} are not visible")
    if what == "amp_decorate":
        raise CannotError(
            node, "at level O2, newer releases select half-precision weights differently"
        )
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if len(node.args) > len(known) or not set(given) <= set(known):
        raise CannotError(node, f"{what} has an argument that does not exist in any release")
    given |= dict(zip(known, node.args, strict=False))
    if what == "amp_guard":
        level = given.get("level")
        if level is not None and not (isinstance(level, ast.Constant) and level.value == "O1"):
            raise CannotError(node, "levels other than O1 compute differently since Paddle 2.5")
        return []
    dynamic = given.get("use_dynamic_loss_scaling")
    if not (isinstance(dynamic, ast.Constant) and dynamic.value is False) and not _casts(program):
        raise CannotError(
            node,
            "auto_cast is never entered here, and GradScaler of Paddle 3 turns itself off when "
            "scale() is called outside of it",
        )
    missing = [f"{name}={value}" for name, value in _WRITTEN.items() if name not in given]
    return [more_arguments(call.module, node, ", ".join(missing))] if missing else []


def _casts(program: Program) -> bool:
    """Whether the program enters a region of mixed precision somewhere."""
    return any(
        _what(call) == "amp_guard" or call.name in _AUTOCASTS
        for module in program.modules
        for call in module.calls
    )


def _only_called(module: Module, called: set[int]) -> None:
    """Refuse classes that are subclassed, passed as values or used in tests."""
    for node in module.every(ast.Attribute):
        if node.attr in _NEW and id(node) not in called and not module.is_dead(node):
            match = _OLD.fullmatch(module.resolve(node))
            if match and match["what"] in _NEW:
                raise CannotError(node, f"{node.attr} is also used as a value")


def _first_import(module: Module) -> ast.AST:
    return next(
        statement
        for statement in module.every(ast.ImportFrom)
        if any(f"{statement.module}.{alias.name}" in _IMPORTED for alias in statement.names)
    )


_LOOP = """\
for images, labels in loader:
    with {guard}:
        loss = paddle.nn.functional.cross_entropy(model(images), labels)
    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.minimize(optimizer, scaled)
    optimizer.clear_grad()
"""
_MODEL = """\
model = paddle.nn.Linear(4, 2)
optimizer = paddle.optimizer.Adam(parameters=model.parameters())
"""
_BEFORE = f"""\
import paddle
import paddle.fluid as fluid

{_MODEL}scaler = fluid.dygraph.AmpScaler(decr_ratio=0.25)  # careful
{_LOOP.format(guard='fluid.dygraph.amp_guard(True, custom_black_list={"softmax"})')}"""
_AFTER = f"""\
import paddle

{_MODEL}scaler = paddle.amp.GradScaler(decr_ratio=0.25, init_loss_scaling=2.0**15, \
incr_every_n_steps=1000)  # careful
{_LOOP.format(guard='paddle.amp.auto_cast(True, custom_black_list={"softmax"})')}"""
_NAMED = f"""\
import paddle
from paddle.fluid.dygraph.amp import AmpScaler, amp_guard  # mixed precision

{_MODEL}scaler = AmpScaler(True, 1024)
{_LOOP.format(guard="amp_guard()")}"""
_NAMED_AFTER = f"""\
import paddle
from paddle.amp import GradScaler, auto_cast  # mixed precision

{_MODEL}scaler = GradScaler(True, 1024, incr_every_n_steps=1000)
{_LOOP.format(guard="auto_cast()")}"""
_PRESENT = f"""\
import paddle

{_MODEL}scaler = paddle.amp.GradScaler(init_loss_scaling=1024)
{_LOOP.format(guard="paddle.amp.auto_cast()")}"""
_LEVEL = f"""\
import paddle
import paddle.fluid as fluid

{_MODEL}scaler = fluid.dygraph.AmpScaler()
{_LOOP.format(guard='fluid.dygraph.amp_guard(level="O2")')}"""
CODEMOD = Codemod(
    code="CM301",
    name="paddle-fluid-amp",
    api="paddle3",
    title="AmpScaler and amp_guard of paddle.fluid.dygraph become paddle.amp.GradScaler and "
    "auto_cast, with the old defaults written out",
    hints=("fluid",),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_NAMED, after=_NAMED_AFTER),
        Example(before=_PRESENT, after=_PRESENT),
        Example(before=_LEVEL, after=_LEVEL, refused="levels other than O1"),
    ),
    run=run,
)

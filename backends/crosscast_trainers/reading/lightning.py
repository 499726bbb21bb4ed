"""Reads Lightning: arguments of Trainer and Fabric, `configure_optimizers`, `training_step`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.fact_writer import FactWriter, content, place_of
from crosscast_reading.readers.python.library_calls import calls_matching, last
from crosscast_reading.readers.python.losses import returned_losses
from crosscast_reading.readers.python.manual_steps import switches_off
from crosscast_torch.reading.groups import entries_of
from crosscast_torch.reading.schedule_calls import schedule_of
from crosscast_trainers.reading.lightning_settings import accumulation, clipping, precision

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "lightning"
_PACKAGE = r"(pytorch_lightning|lightning(\.pytorch)?)"
_TRAINER = re.compile(rf"{_PACKAGE}(\.trainer(\.trainer)?)?\.Trainer(\.from_argparse_args)?")
_CLI = re.compile(rf"{_PACKAGE}(\.(utilities\.)?cli)?\.LightningCLI")
_FABRIC = re.compile(
    r"(lightning(\.fabric)?(\.fabric)?|lightning_fabric|pytorch_lightning)\.Fabric"
)
_PARSER = re.compile(rf"{_PACKAGE}(\.trainer(\.trainer)?)?\.Trainer\.add_argparse_args")
_MODULE = re.compile(rf"{_PACKAGE}(\.core(\.\w+)?)?\.LightningModule")
_CHANGES_LOSS = ("training_step_end", "backward")
"""Methods that get the loss of a training step."""
_PLUGINS = ("MixedPrecision", "MixedPrecisionPlugin")
_KINDS = (
    (re.compile(r"fsdp|fully_sharded"), "fsdp"),
    (re.compile(r"deepspeed"), "deepspeed"),
    (re.compile(r"horovod"), "horovod"),
    (re.compile(r"^ddp(_spawn|_sharded|_find_unused_parameters_\w+)?$"), "ddp"),
)


class Lightning:
    """Reads Trainer and Fabric."""

    name = NAME
    hints = ("ightning", "Fabric")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the arguments of Lightning and its own behaviour."""
        writer = FactWriter(NAME)
        trainers = calls_matching(program, _TRAINER)
        for call in trainers:
            _trainer(writer, call, program)
        for call in calls_matching(program, _CLI):
            _command_line(writer, call)
        for call in calls_matching(program, _FABRIC):
            _fabric(writer, call)
        modules = list(_methods(program, "configure_optimizers"))
        for module, function in modules:
            _module(writer, module, function, program)
        yield from writer.facts
        yield from _losses(program)


def _trainer(writer: FactWriter, call: Call, program: Program) -> None:
    place = place_of(call)
    writer.say("api", "lightning", place)
    writer.say("scaler_update.status", "library", place)
    bound = call.bound()
    parsers = calls_matching(program, _PARSER)
    by_flags = bool(parsers) and (last(call.name) == "from_argparse_args" or call.has_star)
    places = [place, *(place_of(parser) for parser in parsers)] if by_flags else [place]
    if not _strategy(writer, bound, call):
        writer.say("parallel.kind", "library", place)
    _processes(writer, bound, call)
    chosen = bound.get("precision") or _plugin(bound.get("plugins"), call)
    precision(writer, chosen, call, places, by_flags=by_flags)
    accumulation(writer, bound.get("accumulate_grad_batches"), call, places, by_flags=by_flags)
    clipping(writer, bound, call, places, by_flags=by_flags)
    _epochs(writer, bound, call)


def _epochs(writer: FactWriter, bound: dict[str, ast.expr], call: Call) -> None:
    for name in ("max_epochs", "n_epochs"):
        if name in bound:
            writer.number("run.epochs", evaluate(bound[name], call.module), place_of(call))


def _plugin(node: ast.expr | None, call: Call) -> ast.expr | None:
    """Return the precision argument of a plugin: `MixedPrecision("16-mixed", …)`."""
    for plugin in node.elts if isinstance(node, ast.List | ast.Tuple) else [node]:
        if isinstance(plugin, ast.Call) and last(call.module.resolve(plugin.func)) in _PLUGINS:
            named = {keyword.arg: keyword.value for keyword in plugin.keywords}
            return named.get("precision", plugin.args[0] if plugin.args else None)
    return None


def _strategy(writer: FactWriter, bound: dict[str, ast.expr], call: Call) -> bool:
    """Record a strategy that names how processes train together; return whether one does."""
    named = False
    for name in ("strategy", "accelerator", "distributed_backend"):
        if name not in bound:
            continue
        word = content(evaluate(bound[name], call.module))
        text = word if isinstance(word, str) else call.module.text(bound[name])
        for pattern, kind in _KINDS:
            if pattern.search(text.lower()):
                named = True
                writer.say("parallel.kind", kind, call.module.span(bound[name]))
    return named


def _processes(writer: FactWriter, bound: dict[str, ast.expr], call: Call) -> None:
    """Record the number of processes, if `devices` and `num_nodes` are numbers."""
    devices = bound.get("devices", bound.get("gpus"))
    if devices is None or _text(bound.get("strategy"), call) in ("dp", "ddp2"):
        return
    count = _count(devices, call)
    nodes = _count(bound["num_nodes"], call) if "num_nodes" in bound else 1
    if count is not None and nodes is not None and count * nodes > 1:
        writer.say("parallel.world_size", count * nodes, call.module.span(devices))


def _count(node: ast.expr, call: Call) -> int | None:
    """Return the number of devices or nodes in an argument; None if unknown."""
    value = evaluate(node, call.module)
    setting = value.value if isinstance(value, Known) and not value.flag else None
    if isinstance(setting, bool):
        return None
    if isinstance(setting, str) and setting.isdigit():
        return int(setting)
    if isinstance(setting, tuple | list):
        return len(setting)
    return setting if isinstance(setting, int) and setting > 0 else None


def _text(node: ast.expr | None, call: Call) -> str:
    return "" if node is None else str(content(evaluate(node, call.module)) or "")


def _command_line(writer: FactWriter, call: Call) -> None:
    """Record the facts of Lightning's command line."""
    place = place_of(call)
    writer.say("api", "lightning", place)
    writer.say("parallel.kind", "library", place)
    defaults = call.bound().get("trainer_defaults")
    bound = entries_of(defaults) if isinstance(defaults, ast.Dict) else {}
    if "precision" in bound:
        precision(writer, bound["precision"], call, [place], by_flags=False)
    accumulation(writer, bound.get("accumulate_grad_batches"), call, [place], by_flags=False)
    clipping(writer, bound, call, [place], by_flags=False)
    _epochs(writer, bound, call)


def _fabric(writer: FactWriter, call: Call) -> None:
    place = place_of(call)
    writer.say("api", "lightning_fabric", place)
    chosen = call.bound().get("precision") or _plugin(call.bound().get("plugins"), call)
    precision(writer, chosen, call, [place], by_flags=False)
    writer.say("scaler_update.status", "library", place)
    if not _strategy(writer, call.bound(), call):
        writer.say("parallel.kind", "library", place)
    _processes(writer, call.bound(), call)


def _losses(program: Program) -> Iterator[Fact]:
    """Yield the facts about what the training steps of Lightning modules return."""
    steps = [
        (module, function)
        for module, function in _methods(program, "training_step")
        if not _by_hand(module, function)
    ]
    later = [each for name in _CHANGES_LOSS for each in _methods(program, name)]
    if not steps or not later:
        yield from returned_losses(steps, "loss", NAME)
        return
    writer = FactWriter(NAME)
    module, function = later[0]
    named = module.qualname(function)
    writer.unknown("loss.kind", "it is changed there", module.span(function), expression=named)
    yield from writer.facts


def _methods(program: Program, wanted: str) -> Iterator[tuple[Module, Function]]:
    """Yield the methods of this name of Lightning modules."""
    for module in program.modules:
        for name, owner in module.classes.items():
            function = module.functions.get(f"{name}.{wanted}")
            base = program.library_base(module.scopes[owner])
            inherits = _MODULE.fullmatch(base) if base else _imports(module)
            if function is not None and inherits:
                yield module, function


def _imports(module: Module) -> bool:
    return any("lightning" in name for name in module.imported)


def _module(writer: FactWriter, module: Module, function: Function, program: Program) -> None:
    span = module.span(function)
    writer.say("api", "lightning", span)
    if not _by_hand(module, function):
        writer.say("zero_grad.where", "library", span)
    calls = (module.call(node) for node in walk(function) if isinstance(node, ast.Call))
    if not any(schedule_of(call, program) for call in calls):
        return
    interval, place = _interval(module, function)
    writer.say("schedule.stepped_per", interval, place)
    if interval == "step":
        writer.say("schedule.on_skip", "library", place)


def _by_hand(module: Module, function: Function) -> bool:
    """Whether the module steps its optimizers itself."""
    owner = module.class_of(function)
    return owner is not None and any(map(switches_off, walk(owner)))


def _interval(module: Module, function: Function) -> tuple[str, Span]:
    for node in walk(function):
        for key, value in entries_of(node).items() if isinstance(node, ast.Dict) else ():
            word = content(evaluate(value, module)) if key == "interval" else ""
            if word in ("step", "epoch"):
                return str(word), module.span(value)
    return "epoch", module.span(function)


READER = Lightning()

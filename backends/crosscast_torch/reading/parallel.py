"""Reads data parallelism of PyTorch: DDP, DataParallel, FSDP, Horovod, apex, XLA."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.scopes import Scope
from crosscast_reading.pysource.values.value import Choice, Known, Unknown
from crosscast_reading.readers.python.conditions import conditions
from crosscast_reading.readers.python.fact_writer import FactWriter, place_of, trains
from crosscast_reading.readers.python.library_calls import last, parts_of
from crosscast_reading.trainstep.frames.object_kinds import is_model_name, last_name
from crosscast_reading.trainstep.steps.search import training_steps
from crosscast_torch.reading.spawned import SPAWNS, node_factor, spawns

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.events import Event

NAME = "torch_parallel"
_KINDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"apex\.parallel\.(distributed\.)?DistributedDataParallel", "apex_ddp"),
        (r"torch\.nn\.parallel\.(distributed\.)?DistributedDataParallel", "ddp"),
        (r"fairscale\.nn(\.data_parallel)?\.ShardedDataParallel", "ddp"),
        (r"torch\.nn\.parallel\.DataParallel", "dp"),
        (r"torch\.distributed\.fsdp\.(\w+\.)?(FullyShardedDataParallel|fully_shard|FSDP)", "fsdp"),
        (r"torch\.distributed\._composable\.fsdp\.fully_shard", "fsdp"),
        (r"fairscale\.nn(\.\w+)?\.FullyShardedDataParallel", "fsdp"),
        (r"horovod\.torch\.DistributedOptimizer", "horovod"),
        (r"torch_xla\.distributed\.xla_multiprocessing\.spawn", "tpu"),
        (r"torch_xla\.(launch|core\.xla_model\.optimizer_step)", "tpu"),
    )
)
_OWN = {
    "MMDistributedDataParallel": "ddp",
    "DistributedDataParallel": "ddp",
    "LegacyDistributedDataParallel": "ddp",
    "NativeDDP": "ddp",
    "ApexDDP": "apex_ddp",
    "DataParallelCriterion": "",
    "DataParallelModel": "dp",
    "BalancedDataParallel": "dp",
    "FullyShardedDataParallel": "fsdp",
    "FSDP": "fsdp",
}
_BACKENDS = frozenset({"dist_backend", "ddp_backend", "distributed_backend", "dist_url_backend"})
_PROCESSES = re.compile(r"(is_)?(main|master)_process|get_(rank|world_size)|is_dist\w*initialized")
_FLAGS = frozenset({"multiprocessing_distributed", "distributed", "local_rank", "world_size"})
_PREPARE = frozenset({"prepare_distributed", "wrap_ddp", "setup_ddp", "to_ddp", "wrap_model_ddp"})


class TorchParallel:
    """Reads data parallelism."""

    name = NAME
    hints = (
        "arallel",
        "process",
        "module",
        "rank",
        "horovod",
        "hvd",
        "fsdp",
        "FSDP",
        "init_process_group",
        "xla",
        "istributed",
    )

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield how training is distributed."""
        writer = FactWriter(NAME)
        if not trains(program):
            return
        for module in program.modules:
            for call in module.calls:
                kind = _kind(call)
                if kind and not _never(call):
                    writer.say("parallel.kind", kind, place_of(call), under=_under(call))
                elif call.name == "torch.distributed.init_process_group":
                    _group(writer, call)
                elif call.name in SPAWNS and not _never(call):
                    processes = call.argument("nprocs")
                    writer.number("parallel.world_size", processes, place_of(call))
        if not any(fact.field == "parallel.kind" for fact in writer.facts):
            _prepared(writer, program)
        yield from writer.facts


def _kind(call: Call) -> str:
    for name in call.names:
        for pattern, kind in _KINDS:
            if pattern.fullmatch(name):
                return kind
        if last(name) in _OWN:
            return _OWN[last(name)]
        if ":" in name and (kind := _of_base(name, call)):
            return kind
    return _of_own_wrapper(call)


def _of_base(name: str, call: Call) -> str:
    """Return the kind of parallelism of a class of the program, from its base class."""
    match call.module.program.class_named(name):
        case Scope(node=ast.ClassDef(bases=bases), module=module):
            for above in map(module.resolve, bases):
                for pattern, kind in _KINDS:
                    if above.startswith("torch.nn.") and pattern.fullmatch(above):
                        return kind
    return ""


def _of_own_wrapper(call: Call) -> str:
    """Return the kind of a function of another file: `model = smart_DDP(model)`."""
    words = parts_of(last(call.name))
    kind = "fsdp" if "fsdp" in words else "ddp" if words & {"ddp", "allreduce"} else ""
    if not kind or call.module.program.function(call) is not None:
        return ""
    match call.module.parent(call.node), call.node.args:
        case ast.Assign(targets=[made, *_]), [given, *_]:
            named = (last_name(made), last_name(given))
            return kind if all(map(is_model_name, named)) else ""
    return ""


def _never(call: Call) -> bool:
    """Whether a condition that the source fixes keeps the call from running."""
    for condition in conditions(call.node, call.module):
        match evaluate(condition.node, condition.module):
            case Known(value=value, flag="", origin="literal" | "constant"):
                if bool(value) != condition.holds:
                    return True
    return False


def _under(call: Call) -> tuple[str, ...]:
    return tuple(condition.text for condition in conditions(call.node, call.module, callers=False))


def _group(writer: FactWriter, call: Call) -> None:
    """Record the backend and the number of processes."""
    place = place_of(call)
    node = call.bound().get("backend")
    text = call.module.text(node) if node is not None else ""
    value = call.argument("backend")
    match value, node:
        case _, ast.IfExp() if "nccl" in text:  # it runs on a GPU
            writer.say("parallel.backend", "nccl", place, origin="literal", confidence="likely")
        case Known(value="nccl" | "gloo" | "mpi" as word, flag=""), _:
            writer.say("parallel.backend", word, place, origin="literal")
        case Choice(options=((_, Known(value="nccl" | "gloo" | "mpi" as word)), *_)), _:
            writer.say("parallel.backend", word, place, origin="literal", confidence="likely")
        case Known(flag=""), _:
            pass
        case (Known(), _) | (Unknown(), ast.Attribute() | ast.Subscript()):
            writer.say("parallel.backend", "flag", place, origin="flag", expression=text)
    size = call.argument("world_size")
    match size:
        case Known(value=int(count)) if count <= 0:
            return
    writer.number("parallel.world_size", size, place)
    _nodes(writer, call)


def _nodes(writer: FactWriter, call: Call) -> None:
    """Record the machines of `world_size = processes_of_one * machines`."""
    given = call.bound().get("world_size")
    if given is None:
        return
    for spawn in spawns(call.module.program):
        factor = node_factor(given, call.module, spawn)
        if factor is not None:
            node, module = factor
            writer.number("parallel.nodes", evaluate(node, module), module.span(node))
            return


def _prepared(writer: FactWriter, program: Program) -> None:
    """Record requests to helpers of other files: a model that wraps itself, a flag's backend."""
    for flag in program.all_flags:
        if flag.dest in _BACKENDS and not any(f.field == "parallel.backend" for f in writer.facts):
            writer.say(
                "parallel.backend", "flag", flag.span, origin="flag", expression=f"args.{flag.dest}"
            )
    for module in program.modules:
        for call in module.calls:
            if call.method in _PREPARE:
                writer.say("parallel.kind", "ddp", place_of(call), confidence="likely")
    if not any(fact.field == "parallel.kind" for fact in writer.facts):
        _of_caller(writer, program)


def _of_caller(writer: FactWriter, program: Program) -> None:
    """Record that functions train a model they receive, which may be one of several copies."""
    for step in training_steps(program):
        forward = [e for e in step.of("forward") if e.context("no_grad") is None]
        if not forward or not all(_is_given(event) for event in forward):
            continue
        module = forward[0].module
        signs = [node for node in module.nodes if _is_sign(node, module)]
        if signs:
            span = module.span(signs[0])
            writer.say("parallel.kind", "caller", span, confidence="likely")
            return


def _is_given(event: Event) -> bool:
    """Whether the model is a parameter of the function that trains it."""
    function = event.module.function_of(event.node)
    name = event.subject.partition(".")[0]
    arguments = function.args if function is not None else None
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if arguments else ()
    return any(argument.arg == name for argument in every) and name not in ("self", "cls")


def _is_sign(node: ast.AST, module: Module) -> bool:
    """Whether code speaks of several processes, or of a model in a wrapper (`model.module`)."""
    match node:
        case ast.Call(
            func=ast.Name(id="getattr" | "hasattr"),
            args=[of, ast.Constant(value="module" | "no_sync"), *_],
        ):
            return is_model_name(last_name(of))
        case ast.Attribute(value=ast.Name() | ast.Attribute() as of, attr="module"):
            return is_model_name(last_name(of))
        case ast.Call():
            call = module.call(node)
            return bool(_PROCESSES.fullmatch(last(call.name) or call.method))
        case ast.Attribute(attr=name):
            return name in _FLAGS
    return False


READER = TorchParallel()

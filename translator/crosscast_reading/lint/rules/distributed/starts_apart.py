"""CL610: every process draws its own initial weights, and only gradients are reduced."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from crosscast_reading.lint.answers.loop import backward_of, eager_steps, trained_passes
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.distributed._data_parallel import calls_of
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.sources.connected import connected
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep
from crosscast_reading.trainstep.frames.weight_sources import is_collection, is_weight

_ALIKE = re.compile(
    r"broadcast(?!_buffers)|all_?gather|load_|\bload\(|[Cc]kpt|pretrained|restore|resume|checkpoint|DataParallel"
    r"|FullySharded|fully_shard|fsdp|deepspeed|accelerate|[Ff]abric|fleet|horovod|hvd\b|sync_param"
    r"|constant_|zeros_|ones_|fill_|set_rng_state|fork_rng|average_param|share_memory"
)
"""What gives all processes the same weights, or may do so."""
_STARTS = re.compile(r"(multiprocessing|distributed)\.(spawn|Process|start_processes)$|\.Process$")
_SEEDS = re.compile(r"(manual_seed(_all)?|seed_everything|set_seed|seed)$")
_RANK = re.compile(r"rank|gpu|device|process|worker", re.I)
_HOPS = 6
_DRAWS = re.compile(
    r"^(normal|uniform|xavier|kaiming|trunc_normal|orthogonal|sparse|bernoulli|exponential|random"
    r"|cauchy|geometric|log_normal)(_\w+)?_$|^requires_grad_$"
)
"""Methods and functions that draw numbers from the generator of a process, or write none."""
_WRITES = re.compile(r"[a-z0-9]_$|^(set_value|assign|__setitem__)$")
_READS = re.compile(
    r"^(torch|paddle)\.(?!distributed\.)|^(builtins|numpy|math|itertools|logging|collections)\."
)
"""Functions that leave their arguments, unless their names end in `_`."""
_BUILTIN = frozenset(
    {
        *("print", "len", "sum", "list", "tuple", "dict", "zip", "enumerate", "sorted", "filter"),
        *("map", "isinstance", "id", "str", "repr", "any", "all", "max", "min", "iter", "next"),
        *("set", "type", "reversed", "float", "int", "hasattr", "getattr"),
    }
)
_STORES = frozenset({"append", "extend", "add_param_group", "info", "debug", "save", "format"})
"""Methods that keep or show what they get."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find hand-made reductions of gradients between models that nothing makes equal."""
    for step in eager_steps(subject):
        if any(_ALIKE.search(module.code) for module in connected(step.module)):
            continue
        reduced = next(filter(_is_of_gradient, step.of("all_reduce")), None)
        if reduced is None or not backward_of(step) or _reduces_weights(subject):
            continue
        if _written_before(step):
            continue
        makers = [call for event in trained_passes(step) for call in _model_makers(event)]
        if makers and all(_is_drawn_apart(call, subject) for call in makers):
            yield Finding(
                span=makers[0].module.span(makers[0].node),
                message="every process draws its own initial weights, and only the gradients are "
                "reduced, so the processes train different models",
                hint=_hint(step),
                related=(reduced.span,),
            )


def _hint(step: TrainingStep) -> str:
    """Return the way out in the program's framework."""
    paddle = any(name.split(".")[0] == "paddle" for name in step.module.imported)
    seed = "paddle.seed" if paddle else "torch.manual_seed"
    return f"broadcast the weights of one process, or call {seed} with one number in all before it"


def _is_of_gradient(reduced: Event) -> bool:
    match reduced.node:
        case ast.Call(args=[argument, *_]) as node:
            module = reduced.module
            sums = has_role(module.call(node).name, "sums_over_processes")
            return sums and ".grad" in module.text(argument)
    return False


def _reduces_weights(subject: Subject) -> bool:
    """Whether something else than gradients and numbers to show may be reduced as well."""
    for call in calls_of(subject):
        if has_role(call.name, "sums_over_processes") and call.node.args:
            argument = call.node.args[0]
            text = call.module.text(argument)
            root = argument.value if isinstance(argument, ast.Attribute) else argument
            looped = any(b.kind == "loop" for b in definitions(root, call.module))
            if ".grad" not in text and (looped or re.search(r"param|weight|state", text)):
                return True
    return False


def _model_makers(forward: Event) -> Iterator[Call]:
    """Yield the calls that create the model of a forward pass; nothing if one is not visible."""
    match forward.node:
        case ast.Call(func=function):
            yield from _makers(function, forward.module, _HOPS)


def _makers(node: ast.expr, module: Module, hops: int) -> list[Call]:
    """Return the calls that may create an object; none if one of the ways is not visible."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="to" | "cuda" | "train" | "float")):
            return _makers(inner, module, hops)
        case ast.Call():
            call = module.call(node)
            own = ":" in call.name and call.module.program.class_named(call.name) is not None
            layer = call.name.startswith(("torch.nn.", "paddle.nn.", "torchvision.models."))
            return [call] if own or (layer and ".functional." not in call.name) else []
    makers: list[Call] = []
    for binding in definitions(node, module) if hops else ():
        parts = _values_of(binding)
        ways = [_makers(value, where, hops - 1) for value, where in parts]
        if not ways or not all(ways):
            return []
        makers += [call for way in ways for call in way]
    return makers


def _values_of(binding: Binding) -> Sequence[tuple[ast.expr, Module]]:
    if binding.kind == "parameter" and isinstance(binding.node, ast.arg):
        return binding.module.program.arguments_for(binding)
    return [(binding.assigned, binding.module)] if binding.assigned is not None else []


def _is_drawn_apart(maker: Call, subject: Subject) -> bool:
    """Whether a model is created in each process, from a generator that nothing makes equal."""
    module = maker.module
    home = module.function_of(maker.node)
    calls = calls_of(subject)
    starts = [call for call in calls if _STARTS.search(call.name)]
    if starts and (home is None or any(c.module.function_of(c.node) is home for c in starts)):
        return False  # the processes may get the same copy
    return not any(_makes_equal(call, maker) for call in calls)


def _makes_equal(call: Call, maker: Call) -> bool:
    """Whether a call seeds the generators of all processes alike, before a model is created."""
    if not _SEEDS.search(call.name or identifier(call.node.func)):
        return False
    home = maker.module.function_of(maker.node)
    later = call.module is maker.module and call.node.lineno > maker.node.lineno
    if later and call.module.function_of(call.node) is home:
        return False
    arguments = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
    return not any(_differs(each, call.module, _HOPS) for each in arguments)


def _differs(node: ast.expr, module: Module, hops: int) -> bool:
    """Whether a number is another one in each process: `seed + rank`."""
    if _RANK.search(module.text(node)):
        return True
    ways = [_values_of(b) for b in definitions(node, module)] if hops else []
    return any(_differs(value, where, hops - 1) for way in ways for value, where in way)


def _written_before(step: TrainingStep) -> bool:
    """Whether weights may be written before a training loop, by code that it does not run."""
    modules = connected(step.module)
    run = set(map(id, _run_by(step, modules)))
    return any(id(node) not in run for module in modules for node in _writers(module))


def _run_by(step: TrainingStep, modules: Iterable[Module]) -> Iterator[ast.AST]:
    """Yield the nodes of a loop and of the functions that it may call, by their names."""
    functions: dict[str, list[ast.AST]] = {}
    for module in modules:
        for function in module.every(ast.FunctionDef):
            functions.setdefault(function.name, []).append(function)
    names = [part.rpartition(".")[2].rpartition(":")[2] for part in step.parts]
    home = step.function.rpartition(".")[2].rpartition(":")[2]
    waiting = [body for name in names if name != home for body in functions.pop(name, ())]
    waiting += [step.loop.node] if step.loop is not None else functions.pop(home, [])
    while waiting:
        for node in walk(waiting.pop()):
            yield node
            if isinstance(node, ast.Call):
                waiting += functions.pop(identifier(node.func), ())


def _writers(module: Module) -> Iterator[ast.AST]:
    statements: tuple[ast.Assign | ast.AugAssign, ...] = (
        *module.every(ast.Assign),
        *module.every(ast.AugAssign),
    )
    for node in statements:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(_is_content(target, module) for target in targets):
            yield node
    for call in module.calls:
        if _may_write(call):
            yield call.node


def _is_content(target: ast.expr, module: Module) -> bool:
    """Whether a target is what a weight holds: `p.data`, `p[...]`, `model.fc.weight`."""
    match target:
        case ast.Attribute(value=inner, attr="data"):
            return is_weight(inner, module)
        case ast.Attribute(attr="weight" | "bias"):
            return True
        case ast.Subscript(value=inner):
            return is_weight(inner, module) and not is_collection(inner, module)
    return False


def _may_write(call: Call) -> bool:
    """Whether a call writes a weight, or hands one on to what is not visible."""
    module, node = call.module, call.node
    name = call.method or identifier(node.func)
    if _DRAWS.search(name):
        return False
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    if _WRITES.search(name) and receiver is not None and is_weight(receiver, module):
        return True
    known = ":" in call.name or name in _BUILTIN or name in _STORES
    if known or (_READS.search(call.name) and not _WRITES.search(name)):
        return False
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(is_weight(each, module) for each in arguments)


RULE = Rule("CL610", check, hints=("all_reduce",))

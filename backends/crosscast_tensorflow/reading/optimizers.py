"""Reads optimizers and schedules of TensorFlow and Keras, in all generations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.libraries.packages import is_foreign, package_of_name
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.values.value import Instance, Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.compiled_models import compiled
from crosscast_reading.readers.python.default_conditions import is_sure
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    canonical,
    last,
    text_value,
    uses_framework,
    value_of,
)
from crosscast_reading.readers.python.optimizers import (
    OptimizerCall,
    course_facts,
    facts_of,
    family_of,
    only_under,
    optimizer_call,
    rate_of,
    schedule_facts,
    with_subjects,
)
from crosscast_reading.readers.python.schedules import Course, course_of
from crosscast_tensorflow.reading.callbacks_kept import not_given
from crosscast_tensorflow.reading.contrib_updates import contrib_optimizers
from crosscast_tensorflow.reading.handed_on import given_schedules, handed_courses
from crosscast_tensorflow.reading.horovod import horovod_rates
from crosscast_tensorflow.reading.keras_optimizers import named_optimizer, optimizer_calls
from crosscast_tensorflow.reading.own_classes import (
    assigned_rates,
    course_set_in,
    own_classes,
)
from crosscast_tensorflow.reading.rate_functions import rate_functions
from crosscast_tensorflow.reading.rate_variables import (
    fed_course,
    fed_value,
    is_constant,
    rate_variables,
)
from crosscast_tensorflow.reading.rates_of_epochs import course_of_callback

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "tf-optimizers"
_TRAIN = re.compile(
    r"tensorflow\.(train|contrib\.opt)\.(?!Sync|experimental)(\w+\.)*[A-Z]\w*Optimizer"
)
_STRANGE = re.compile(
    r"(?:Mpi|MPI)?(LAMB|Lamb|AdamW|Adam|LazyAdam|AdamWeightDecay|NovoGrad|LARS|SGDW|Adafactor|RMS[Pp]rop"
    r"|Momentum"
    r"|Bert\w*Adam)(Optimizer)?(V2)?"
)
"""Optimizers that are not TensorFlow's: of the program or of a file that is not given."""
_MAKERS = re.compile(r"(create|get|build|make|configure)_optimizers?|get_optimizer_\w+")
_RATES_BY_CALLBACK = re.compile(r"LearningRateScheduler|LRScheduler|LearningRateSchedule\w*")


class OptimizerReader:
    """Reads the calls that create optimizers, and their schedules."""

    name = NAME
    hints = ("tensorflow", "keras", "tf.")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        if not uses_framework(program, "tensorflow"):
            return
        unused = thrown_away(program)
        trained = (
            optimizer for optimizer in optimizers(program) if optimizer.call.node not in unused
        )
        named_optimizers = with_subjects(list(trained))
        chosen = len({optimizer.family for optimizer in named_optimizers}) > 1
        calls = [optimizer.call for optimizer in named_optimizers]
        for optimizer in named_optimizers:
            sure = not chosen or is_sure(optimizer.call, calls)
            yield from facts_of(optimizer, NAME, "certain" if sure else "likely")
            yield from schedule_facts(
                optimizer,
                NAME,
                stepped="step",
                on_skip="library",
                under=only_under(optimizer, named_optimizers),
            )
            yield from _by_arguments(optimizer)
            yield from _regularized(optimizer)
        yield from _by_name(program, bool(named_optimizers))
        if not named_optimizers:
            elsewhere = list(_elsewhere(program))
            yield from elsewhere
            if not any(fact.field == "schedule.name" for fact in elsewhere):
                yield from handed_courses(program, NAME)
            yield from own_classes(program, NAME)
            yield from contrib_optimizers(program, NAME)
        yield from _by_callback(program)
        yield from horovod_rates(program, NAME)
        if not any(_has_schedule(optimizer) for optimizer in named_optimizers):
            kept = [
                *rate_variables(named_optimizers, NAME),
                *rate_functions(named_optimizers, NAME),
            ]
            yield from kept or given_schedules(program, NAME) or assigned_rates(program, NAME)


def _has_schedule(optimizer: OptimizerCall) -> bool:
    """Whether a schedule is behind the rate that an optimizer is created with."""
    node = rate_of(optimizer.call)
    return node is not None and course_of(node, optimizer.call.module.owner_of(node)) is not None


def optimizers(program: Program) -> Iterator[OptimizerCall]:
    """Yield the optimizers that a program creates from known classes."""
    by_node: dict[ast.AST, OptimizerCall] = {}
    strange: dict[ast.AST, OptimizerCall] = {}
    for name, call in optimizer_calls(program):
        if last(name) != "LossScaleOptimizer":
            by_node.setdefault(call.node, optimizer_call(call, name, family_of(last(name))))
    for name, call in calls_of(program):
        optimizer = optimizer_call(call, name, family_of(last(name)))
        if _TRAIN.fullmatch(name) and optimizer.family:
            by_node.setdefault(call.node, optimizer)
        elif _STRANGE.fullmatch(last(name)) and not _is_other(name) and not _within_optimizer(call):
            strange.setdefault(call.node, optimizer)
    for node, optimizer in strange.items():
        by_node.setdefault(node, optimizer)
    yield from by_node.values()


def thrown_away(program: Program) -> set[ast.AST]:
    """Return the calls whose optimizers only serve a graph rewrite whose result is discarded.

    The rewrite needs an optimizer to wrap; another optimizer trains the model.
    """
    optimizer_nodes: set[ast.AST] = set()
    for name, call in calls_of(program):
        module = call.module
        function = module.function_of(call.node)
        discarded = isinstance(module.parent(call.node), ast.Expr) and function is not None
        if last(name) != "enable_mixed_precision_graph_rewrite" or not discarded:
            continue
        assert function is not None
        for argument in call.node.args:
            text = module.text(argument)
            same = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == text]
            values = [
                statement.value
                for statement in ast.walk(function)
                if isinstance(statement, ast.Assign)
                and any(target in same for target in statement.targets)
            ]
            if len(same) == 2:  # created once, used once
                optimizer_nodes.update(values)
    return optimizer_nodes


def _is_other(name: str) -> bool:
    return is_foreign(name, "tensorflow") or package_of_name(name) == "transformers"


def _within_optimizer(call: Call) -> bool:
    """Whether an optimizer class creates it to build on it (`super`, a wrapped optimizer)."""
    owner = call.module.class_of(call.node)
    return owner is not None and bool(family_of(owner.name))


def _by_arguments(optimizer: OptimizerCall) -> Iterator[Fact]:
    """Yield the schedule of the old argument `decay` of Keras, or of a rate that is fed."""
    call = optimizer.call
    decay = call.bound().get("decay")
    match value_of(decay, call.module):
        case None | Known(value=0 | None):
            pass
        case _ if optimizer.name.startswith("keras."):
            course = Course("exponential")  # 1 / (1 + decay * updates)
            yield from course_facts(course, NAME, call.module.span(call.node), stepped="step")
            return
    node = rate_of(call)
    rate = value_of(node, call.module)
    if node is not None and isinstance(rate, Instance) and "placeholder" in last(rate.made_by):
        module = call.module.owner_of(node)
        span = module.span(node)
        fed = fed_value(node, module)
        if fed is not None and is_constant(fed, module):
            field, value = "optimizer.learning_rate", value_of(fed, module)
            where = module.span(fed)
            yield fact_of(field, value, where, subject=optimizer.subject, reader=NAME)
            return
        moved = fed_course(fed, module, optimizer.subject, NAME) if fed is not None else []
        if moved:
            yield from moved
            return
        yield fact_of("schedule.name", Known("caller"), span, reader=NAME, confidence="likely")


def _regularized(optimizer: OptimizerCall) -> Iterator[Fact]:
    for name in ("exclude_from_weight_decay", "exclude_from_layer_adaptation"):
        if name in optimizer.call.bound():
            span = optimizer.call.module.span(optimizer.call.node)
            yield fact_of(
                "optimizer.no_decay", Known("yes"), span, subject=optimizer.subject, reader=NAME
            )
            return
    call = _exclusion(optimizer.call.module.program)
    if call is not None:
        span, yes = call.module.span(call.node), Known("yes")
        yield fact_of("optimizer.no_decay", yes, span, subject=optimizer.subject, reader=NAME)


@once
def _exclusion(program: Program) -> Call | None:
    """Return the first call that keeps some weights from the decay of an optimizer."""
    return next(
        (
            call
            for call in program.calls()
            if call.method == "exclude_from_weight_decay" and call.receiver is not None
        ),
        None,
    )


def _by_name(program: Program, others: bool) -> Iterator[Fact]:
    """Yield the optimizers that `compile` gets as strings."""
    for call in compiled(program):
        named = named_optimizer(call)
        if named is None or not family_of(named[0]) or others:
            continue
        span = call.module.span(call.node)
        yield fact_of("optimizer.name", Known(family_of(named[0])), span, reader=NAME)
        yield fact_of("optimizer.source_name", Known(named[0]), span, reader=NAME)


def _elsewhere(program: Program) -> Iterator[Fact]:
    """Yield an optimizer that a function of another file creates, with the facts of the call."""
    for name, call in calls_of(program):
        if _is_by_name(call):
            yield from facts_of(optimizer_call(call, name, "selectable"), NAME)
            return
        getter = name == "keras.optimizers.get"
        if not getter and not (_MAKERS.fullmatch(call.method) and program.function(call) is None):
            continue
        words = ("optimizer", "optimizer_type", "optimizer_name", "name")
        families = [family_of(text_value(call.argument(word))) for word in words]
        family = next(filter(None, families), "elsewhere")
        optimizer = with_subjects([optimizer_call(call, name, family)])[0]
        yield from facts_of(optimizer, NAME)
        if getter:
            return  # its argument is an optimizer
        yield from schedule_facts(optimizer, NAME, stepped="step", on_skip="library")
        yield from _promised(call)
        return


def _is_by_name(call: Call) -> bool:
    """Whether it looks up the class of an optimizer: `getattr(tf.optimizers, name)()`."""
    match call.node.func:
        case ast.Call(func=ast.Name(id="getattr"), args=[of, _, *_]):
            return canonical(f"{call.module.resolve(of)}.") == "keras.optimizers."
    return False


def _promised(call: Call) -> Iterator[Fact]:
    """Yield that there is a warm-up, if a function of another file gets its length."""
    bound = call.bound()
    for name in ("num_warmup_steps", "warmup_steps"):
        if name in bound:
            node = bound[name]
            text = call.module.owner_of(node).text(node)
            span = call.module.span(node)
            yield fact_of("schedule.on_skip", Known("library"), span, reader=NAME)
            yield fact_of("schedule.has_warmup", Known("yes"), span, reader=NAME)
            yield fact_of("schedule.warmup", Known(text), span, reader=NAME)
            yield fact_of("schedule.stepped_per", Known("step"), span, reader=NAME)
            yield fact_of("schedule.name", Known("elsewhere"), span, reader=NAME)
            return


def _by_callback(program: Program) -> Iterator[Fact]:
    """Yield schedules that callbacks or objects of the program put into an optimizer."""
    unused = {call.node for call, _ in not_given(program)}
    for name, call in calls_of(program):
        shown = last(name)
        if call.node in unused:
            continue
        if name == "keras.callbacks.ReduceLROnPlateau":
            yield from _said(call, Course(decay="plateau"), "epoch")
        elif name == "keras.callbacks.LearningRateScheduler":
            yield from _said(call, course_of_callback(call), "epoch")
        elif _RATES_BY_CALLBACK.fullmatch(shown):
            yield from _promised(call)
    for module, hook, per in rate_setters(program):
        course = course_set_in(hook, module) or Course("custom", places=(module.span(hook),))
        yield from course_facts(course, NAME, stepped=per)
        yield fact_of("schedule.on_skip", Known("library"), module.span(hook), reader=NAME)


def rate_setters(program: Program) -> Iterator[tuple[Module, Function, str]]:
    """Yield the methods of callbacks of the program that set the learning rate themselves."""
    alone = not any(call.method in _TRAINS for _, call in calls_of(program))
    for module in program.modules:
        for name, node in module.functions.items():
            owner, _, method = name.rpartition(".")
            used = method in _HOOKS and (alone or _made(program, owner))
            if used and _SETS.search(module.text(node)):
                yield module, node, "step" if "batch" in method else "epoch"


_SETS = re.compile(r"set_value\([\w.]*(\.lr|learning_rate)\b|(\.lr|learning_rate)(\.assign\(| = )")
_TRAINS = frozenset({"fit", "fit_generator", "compile", "train_on_batch", "apply_gradients"})
"""Without them it is a library module, whose callbacks other files create."""
_HOOKS = (
    "on_batch_begin",
    "on_train_batch_begin",
    "on_epoch_begin",
    "on_batch_end",
    "on_epoch_end",
)


def _made(program: Program, owner: str) -> bool:
    """Whether an object of a class is made; functions outside of classes are passed on."""
    return owner.rpartition(".")[2] in {"", *(last(name) for name, _ in calls_of(program))}


def _said(call: Call, course: Course, per: str) -> Iterator[Fact]:
    yield from course_facts(course, NAME, call.module.span(call.node), stepped=per)


READER = OptimizerReader()

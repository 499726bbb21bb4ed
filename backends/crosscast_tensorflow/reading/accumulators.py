"""Gradient sums of TensorFlow programs in variables, in graphs and in helper classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.libraries.public_names import INSTALLED
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known, Symbol, Unknown, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import calls_of, last, value_of
from crosscast_reading.readers.python.optimizers import family_of
from crosscast_reading.readers.python.origins import located
from crosscast_reading.readers.python.perturbed_weights import perturbs_weights
from crosscast_tensorflow.reading.cleared_sums import (
    cleared_behind_runs,
    cleared_in_place,
    zeroing,
)
from crosscast_tensorflow.reading.gradient_sums import GradientSum, gradient_sums
from crosscast_tensorflow.reading.session_runs import runs_of
from crosscast_tensorflow.reading.sum_division import is_divided
from crosscast_tensorflow.reading.sum_tails import carried_over
from crosscast_tensorflow.reading.sum_windows import length_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_SUM = re.compile(r"accum|acc_?grad|grad_?acc|g_acc|sum_?grad|grad_?sum|grads?_?buffer", re.I)
_GRADIENT = re.compile(r"grad|(^|\W)gv?\b", re.I)
_DIVIDED = re.compile(rf"loss|cost|{_GRADIENT.pattern}|{_SUM.pattern}", re.I)
_STEPS = re.compile(
    r"accum|chunk|(^|_)ga_steps|batch_split|iter_size|update_freq|aggregate|num_micro|micro_?batch"
    r"|virtual|grad_?acc|backward_passes",
    re.I,
)


_WORDS = re.compile(
    r"ga_steps|(gradient_|grad_)?accum(ulation|ulate)?_?(steps|batches|iter\w*|num)|n_accum\w*|"
    r"gradient_accumulation_steps|accumulate_grad_batches|num_accum\w*|accum_step|steps_per_update",
    re.I,
)
_DERIVES = re.compile(
    r"\w{0,60}Grad\w{0,60}(Accum|Aggreg)\w{0,60}Optimizer|\w{0,60}grad\w{0,60}_accum\w{0,60}_optimizer"
)
"""Classes and functions of a program's own files, which may divide the sum or not."""
_WRAPPER = re.compile(
    r"Accum\w{0,60}Optimizer|\w{0,60}Optimizer\w{0,60}Accum\w*|Accumulative\w*|\w{1,60}Accumulate"
    rf"|{_DERIVES.pattern}"
)
"""Classes of other files that wrap an optimizer: `AccumOptimizer(Adam(), 10)`; functions that do,
or that derive a class from that of an optimizer."""
_HELPER = re.compile(
    r"(\w{0,60}Gradient\w{0,60}Accumulat\w*|GAModelWrapper|GAOptimizerWrapper|GradAccum\w*)"
)
_SUM_NAME = re.compile(r"accum|(^|\.)ga$|grad_acc", re.I)


@dataclass(frozen=True, slots=True)
class Division:
    """Where a loss or a sum of gradients is divided by the number of micro-batches."""

    node: ast.expr
    module: Module


def accumulators(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the facts about accumulation from gradient sums in variables."""
    applied = [t for t in gradient_sums(program) if not perturbs_weights(t.node, t.module)]
    found_sums: dict[ast.AST, Module] = {call.node: call.module for call in _sums(program)}
    found_sums |= {total.node: total.module for total in applied}
    sums = {node: where for node, where in found_sums.items() if not perturbs_weights(node, where)}
    if not sums:
        yield from _helpers(program, reader)
        return
    modules = dict.fromkeys(sums.values())
    division = next((d for m in modules for d in _divisions(m)), None)
    spans = [module.span(node) for node, module in list(sums.items())[:4]]
    yield fact_of("accumulation.present", Known("yes"), *spans, reader=reader)
    place = division.module.span(division.node) if division is not None else spans[0]
    steps = _steps(division, modules)
    length = length_of(applied[0]) if applied else None
    if steps is None and length is not None:
        steps, place = _said(*length), length[1].span(length[0])
    if steps is not None:
        yield fact_of("accumulation.steps", steps, place, reader=reader)
    averaged = is_divided(applied[0]) if applied else None
    divided = {True: "yes", False: "no" if length is not None else None, None: None}[averaged]
    if division is not None and divided != "no":
        place, divided = division.module.span(division.node), "yes"
    if divided is not None:
        yield fact_of("accumulation.loss_divided", Known(divided), place, reader=reader)
    tail = carried_over(applied)
    if tail is not None:
        yield fact_of("accumulation.tail", Known(tail[0]), tail[1], reader=reader)
    sync = _sync(program)
    if sync:
        yield fact_of("accumulation.no_sync", Known(sync), *spans[:1], reader=reader)
    shown = cleared_in_place(applied) or cleared_behind_runs(applied)
    where = _cleared_by_runs(applied) or shown or _cleared(modules, program) or _reset(applied)
    if where is not None:
        yield fact_of("zero_grad.where", Known(where[0]), where[1], reader=reader)  # type: ignore[arg-type]


def _sync(program: Program) -> str:
    """Return whether Horovod's all-reduce waits for the end of the window; empty: no Horovod."""
    names = {name for name, _ in calls_of(program) if name.startswith("horovod.")}
    if any(n.endswith(("DistributedOptimizer", "DistributedGradientTape")) for n in names):
        return "no"
    return "yes" if any(n.endswith((".allreduce", ".grouped_allreduce")) for n in names) else ""


def _helpers(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the arguments of a helper of another file that accumulates gradients."""
    for name, call in calls_of(program):
        shown = _class_name(name, call)
        wraps = bool(_WRAPPER.fullmatch(shown))
        lengths = _lengths(call, wraps=wraps)
        if not wraps and "GradientAccumulator" not in shown:
            takes = call.method in ("compile", "fit", "Trainer") or _is_optimizer(name)
            if not lengths or not (takes or _HELPER.fullmatch(shown)):
                continue
        span = call.module.span(call.node)
        values = [(given, value_of(given, call.module)) for given in lengths[:1]]
        if any(value == Known(1) for _, value in values):
            return
        yield fact_of("accumulation.present", Known("yes"), span, reader=reader)
        for given, value in values:
            if isinstance(value, Unknown):
                value = replace(value, text=call.module.text(given))
            yield fact_of("accumulation.steps", value, span, reader=reader)
        if not _DERIVES.fullmatch(shown) and _is_installed(name):
            word = Known("library")  # unless the program divides what it gets from the helper
            yield fact_of(
                "accumulation.loss_divided", word, span, reader=reader, confidence="likely"
            )
            yield fact_of("accumulation.tail", Known("library"), span, reader=reader)
        if any(
            other.method == "reset" and _SUM_NAME.search(other.receiver_text)
            for other in call.module.calls
        ):
            yield fact_of("zero_grad.where", Known("after_step"), span, reader=reader)
        sync = _sync(program)
        if sync:
            yield fact_of("accumulation.no_sync", Known(sync), span, reader=reader)
        return


def _is_installed(name: str) -> bool:
    """Whether a helper is one of a known library, and not of another file of the program."""
    return name.partition(".")[0] in INSTALLED


def accumulating_wrappers(program: Program) -> Iterator[tuple[Call, ast.expr]]:
    """Yield the calls that wrap an optimizer so that it adds gradients up, with the steps."""
    for name, call in calls_of(program):
        if not _WRAPPER.fullmatch(_class_name(name, call)):
            continue
        for given in _lengths(call, wraps=True)[:1]:
            if value_of(given, call.module) != Known(1):
                yield call, given


def _lengths(call: Call, *, wraps: bool) -> list[ast.expr]:
    """Return the arguments with names for a window; for a wrapper also the one in second place."""
    named = [k.value for k in call.node.keywords if _WORDS.fullmatch(k.arg or "")]
    return [*named, *call.node.args[1:2]] if wraps else named


def _class_name(name: str, call: Call) -> str:
    """Return the name of the called class without its module, which may not be known."""
    return name.rpartition(".")[2].rpartition(":")[2] or call.method


def _is_optimizer(name: str) -> bool:
    """Whether an optimizer of another file is created; Keras' own are read elsewhere."""
    return bool(family_of(last(name))) and not name.startswith(("keras.", "tensorflow."))


def _sums(program: Program) -> Iterator[Call]:
    """Yield the calls that add gradients to variables."""
    for _name, call in calls_of(program):
        module = call.module
        match call.node.func:
            case ast.Attribute(value=variable, attr="assign_add" | "assign"):
                target = module.text(variable) + _source_of(variable, module)
            case _:
                continue
        given = " ".join(module.text(argument) for argument in call.node.args)
        given += " ".join(_source_of(argument, module) for argument in call.node.args)
        adds = call.method == "assign_add" or "+" in given
        if adds and _SUM.search(target) and _GRADIENT.search(given):
            yield call


def _source_of(node: ast.expr, module: Module) -> str:
    """Return the text of the iterable of a loop variable in an expression."""
    names = {n.id for n in walk(node) if isinstance(n, ast.Name)}
    texts: list[str] = []
    here: ast.AST | None = module.parent(node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.ClassDef):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(here, ast.For):
            pairs.append((here.target, here.iter))
        elif isinstance(here, ast.ListComp | ast.GeneratorExp):
            pairs += [(generator.target, generator.iter) for generator in here.generators]
        for target, source in pairs:
            inner = {n.id for n in walk(target) if isinstance(n, ast.Name)}
            if inner & names:
                texts.append(module.text(source))
                texts += _assigned(source, module)
        here = module.parent(here)
    texts += _assigned(node, module)
    return " " + " ".join(texts)


def _assigned(node: ast.expr, module: Module) -> list[str]:
    texts = []
    for name in walk(node):
        if isinstance(name, ast.Name):
            for binding in definitions(name, module):
                match binding:
                    case Binding(kind="assign", value=ast.expr() as value):
                        texts.append(binding.module.text(value)[:400])
    return texts


def _divisions(module: Module) -> Iterator[Division]:
    """Yield the divisors of losses and gradients with names about accumulation."""
    for node in module.nodes:
        match node:
            case (
                ast.BinOp(left=left, op=ast.Div(), right=right)
                | ast.AugAssign(target=left, op=ast.Div(), value=right)
            ):
                named = _STEPS.search(module.text(right)) and _DIVIDED.search(module.text(left))
                if named and not module.is_dead(node):
                    yield Division(_counted(right), module)


def _counted(node: ast.expr) -> ast.expr:
    """Return N of `tf.cast(N, dtype)`, `float(N)`."""
    match node:
        case ast.Call(args=[number, *_]):
            return _counted(number)
    return node


def _steps(division: Division | None, modules: dict[Module, None]) -> Value | None:
    if division is not None:
        value = _said(division.node, division.module)
        if isinstance(value, Unknown):
            names = value.names or (division.module.text(division.node),)
            return replace(value, text=names[0], names=names)
        return value
    for module in modules:
        for node in module.nodes:
            number = _counted_to(node, module)
            if number is not None:
                return _said(number, module)
    return None


def _said(node: ast.expr, module: Module) -> Value | None:
    """Return a length and where it comes from: names of other files are settings."""
    value = value_of(node, module)
    if isinstance(value, Symbol):
        return Unknown(module.text(node), "another file sets it", "config")
    return located(value, node, module)


def _counted_to(node: ast.AST, module: Module) -> ast.expr | None:
    """Return N of `step % N` and `range(N - 1)` if its name is about accumulation."""
    match node:
        case (
            ast.Call(func=ast.Name(id="range"), args=[ast.BinOp(left=number) | number, *_])
            | ast.BinOp(op=ast.Mod(), right=number)
        ):
            over_variables = isinstance(number, ast.Call)  # range(len(sums))
            return number if not over_variables and _STEPS.search(module.text(number)) else None
    return None


def _cleared(modules: dict[Module, None], program: Program) -> tuple[str, object] | None:
    """Return where a sum is reset: by an assignment, or to zero."""
    for module in modules:
        for call in module.calls:
            match call.node:
                case ast.Call(func=ast.Attribute(value=of, attr="assign"), args=[value, *_]):
                    given = module.text(value)
                case _:
                    continue
            if not _SUM.search(module.text(of) + _source_of(of, module)):
                continue
            if "zeros" in given:
                function = module.function_of(call.node)
                inside = function is not None and function.name in ("reset", "zero", "clear")
                word = "caller" if inside and not _calls_reset(program) else "after_step"
                return word, module.span(call.node)
            if _GRADIENT.search(given) and "+" not in given:
                return "window_start", module.span(call.node)
    return None


def _cleared_by_runs(sums: Sequence[GradientSum]) -> tuple[str, object] | None:
    """Return whether sessions set the sum of a graph to zero before they add to it, or after."""
    for total in sums[:1]:
        program = total.module.program
        assert program is not None
        adds = [call for call, _ in runs_of(total.node, program)]
        for call in zeroing(total) if adds else ():
            for run, _ in runs_of(call.node, program):
                for add in (add for add in adds if _home(add) == _home(run)):
                    before = run.node.lineno < add.node.lineno
                    word = "window_start" if before else "after_step"
                    return word, run.module.span(run.node)
    return None


def _home(call: Call) -> tuple[Module, Function | None]:
    """Return where a call stands: its module and function."""
    return call.module, call.module.function_of(call.node)


def _reset(sums: Sequence[GradientSum]) -> tuple[str, object] | None:
    """Return where a helper of another file is reset behind the update: `accumulator.reset()`."""
    for total in sums:
        holder = total.root.removesuffix(".gradients")
        for applied in total.every[:1]:
            for call in applied.module.calls:
                if call.method == "reset" and call.receiver_text == holder:
                    behind = call.node.lineno > applied.node.lineno
                    if behind and _home(call) == _home(applied):
                        return "after_step", call.module.span(call.node)
    return None


def _calls_reset(program: Program) -> bool:
    return any(
        call.method in ("reset", "zero", "clear")
        for module in program.modules
        for call in module.calls
    )

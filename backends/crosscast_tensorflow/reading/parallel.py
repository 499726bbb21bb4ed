"""Parallel training in TensorFlow: strategies, towers, TPUs, Horovod."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Confidence, Fact
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import calls_of, last, uses

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_STRATEGIES = {
    "MirroredStrategy": "mirrored",
    "MultiWorkerMirroredStrategy": "multiworker",
    "CollectiveAllReduceStrategy": "multiworker",
    "TPUStrategy": "tpu",
    "TPUStrategyV2": "tpu",
}
_TPU = ("CrossShardOptimizer", "TPUEstimator", "TPUEstimatorSpec")
_CHOSEN = re.compile(r"(get|create|setup|build|make|init)_(distribution_|distributed_)?strategy")
_TRAINS = frozenset(
    {
        *("apply_gradients", "minimize", "fit", "compile", "compute_gradients", "gradient", "run"),
        *("train_on_batch", "train_and_evaluate", "apply", "train"),
    }
)
_CONTEXT = "distribute.get_replica_context"
_TOWER = re.compile(r"(average|combine|merge|aggregate)_(tower_)?(grads|gradients)\w*")


def parallel(program: Program, reader: str) -> Iterator[Fact]:
    """Yield how training is distributed over devices."""
    trains = any(
        call.method in _TRAINS or "optimizers." in name for name, call in calls_of(program)
    )
    if not trains:
        return
    strategies: dict[str, list[Call]] = {}
    others: list[tuple[str, Call]] = []
    for name, call in calls_of(program):
        shown = last(name) or call.method
        if shown in _STRATEGIES and "distribute" in name:
            strategies.setdefault(_STRATEGIES[shown], []).append(call)
        elif shown in _TPU and name.startswith("tensorflow."):
            others.append(("tpu", call))
        elif name.startswith("horovod.") and shown in _HOROVOD and "torch" not in name:
            others.append(("horovod", call))
        elif _TOWER.fullmatch(call.method) and not _adds_two(call):
            others.append(("towers", call))
        elif name == "tensorflow.distribute.get_strategy":
            others.append(("caller", call))  # the one that is in force here
        elif _is_chosen(name, call, program):
            others.append(("strategy_by_flag", call))
        elif shown == "multi_gpu_model":
            others.append(("dp", call))
        elif _is_of_mpi(name, call, program):
            others.append(("library", call))
        elif call.method in _UNDER and _is_handed_in(call):
            others.append(("caller", call))
    kinds = set(strategies) - {"mirrored"}
    if len(strategies) > 1 and kinds:
        calls = [c for many in strategies.values() for c in many]
        yield from _said("strategy_by_flag", calls, reader)
    else:
        for word, calls in strategies.items():
            yield from _said(word, calls, reader)
    if strategies:
        others = [other for other in others if other[0] not in ("strategy_by_flag", "caller")]
    if any(word != "caller" for word, _ in others):
        others = [other for other in others if other[0] != "caller"]
    for word in dict.fromkeys(word for word, _ in others):
        yield from _said(word, [c for w, c in others if w == word], reader)
    if not strategies and not others:  # without a strategy, the context is that of one replica
        contexts = [c for name, c in calls_of(program) if name.endswith(_CONTEXT)]
        yield from _said("caller", contexts, reader, "guess")


_HOROVOD = frozenset({"init", "DistributedOptimizer", "DistributedGradientTape", "allreduce"})


def _adds_two(call: Call) -> bool:
    """Whether a function gets two lists of gradients, not one of every tower."""
    given = [call.module.text(argument) for argument in call.node.args]
    return sum(bool(_GRADIENTS.search(text)) for text in given) > 1


def _is_of_mpi(name: str, call: Call, program: Program) -> bool:
    """Whether processes of MPI add up gradients: an optimizer that does, or a call that gets them.

    Where the communicator is made may be another file.
    """
    shown = last(name.rpartition(":")[2]) or call.method
    if _MPI_OPTIMIZER.fullmatch(shown):
        return True
    if not _REDUCES.fullmatch(shown) or not uses(program, "mpi4py"):
        return False
    return any(_GRADIENTS.search(call.module.text(given)) for given in call.node.args)


_MPI_OPTIMIZER = re.compile(r"(Mpi|MPI)\w*(Adam|SGD|Optimizer)\w*")
_REDUCES = re.compile(r"(group_)?all_?reduce\w*", re.I)
_GRADIENTS = re.compile(r"grad", re.I)
_UNDER = frozenset(
    {
        *("scope", "run", "experimental_run_v2", "experimental_distribute_dataset"),
        *("distribute_datasets_from_function",),
    }
)
"""Methods of a strategy that train on its devices, or share the rows among them."""
_STRATEGY = re.compile(r"(^|[._])(\w{0,60}strategy|strat)$", re.I)


def _is_handed_in(call: Call) -> bool:
    """Whether it is a method of a strategy that the given files do not create."""
    receiver = call.receiver
    if receiver is None or not _STRATEGY.search(call.receiver_text):
        return False
    if call.receiver_text.endswith(".distribute_strategy"):
        return False  # that of every Keras model, with one device or many
    return not any(name.startswith("tensorflow.") for name in call.module.resolve_all(receiver))


def _is_chosen(name: str, call: Call, program: Program) -> bool:
    """Whether a flag decides about a strategy."""
    if _CHOSEN.fullmatch(call.method):
        if program.function(call) is not None:
            return False
        return bool(call.node.args or call.node.keywords)
    return False


def _said(
    word: str, calls: list[Call], reader: str, confidence: Confidence = "certain"
) -> Iterator[Fact]:
    spans = [call.module.span(call.node) for call in calls[:6]]
    if spans:
        yield fact_of("parallel.kind", Known((word,)), *spans, reader=reader, confidence=confidence)

"""CL523: no forward pass asks for the reduction of gradients, so the processes train apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import backward_of, eager_steps, trained_passes
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.distributed._data_parallel import wraps
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.sources.connected import connected
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.answers.reductions import held_back, is_certain
from crosscast_reading.trainstep.events import Context, TrainingStep

_BY_HAND = re.compile(
    r"all_?reduce|reduce_scatter|no_backward_sync|all_?gather|all_to_all|_broadcast"
    r"|^_?i?(broad|b)cast(?!_(to|tensors|shapes|arrays)$)"
    r"|(averag|^_?sync(hroni[sz]e)?_)\w{0,60}(grad|param|model|weight)"
    r"|(grad|param|model|weight(?!ed))\w{0,60}averag",
    re.I,
)
"""Names of what makes gradients or weights of processes alike."""
_TALKS = re.compile(r"(^|\.)(reduce|scatter|gather|i?send|i?recv|P2POp|exchange)(_|$)", re.I)
"""What does so as a function of a package for processes; other packages name other things so."""
_OF_PROCESSES = re.compile(r"^torch\.(distributed|cuda\.nccl)\b|^(dist|comm|hvd|mpi4py)\b|\.comm\.")


def check(subject: Subject) -> Iterator[Finding]:
    """Find training steps all of whose forward passes run within no_sync."""
    wrapped = wraps(subject)
    for step in eager_steps(subject) if wrapped else ():
        group = connected(step.module)
        own = [call for call in wrapped if call.module in group]
        if not own or any(map(_reduces_by_hand, group)):
            continue
        context = _always_held(step)
        if context is not None and step.of("step"):
            yield Finding(
                span=step.module.owner_of(context.node).span(context.node),
                message=f"every forward pass of {context.subject} runs within no_sync, so its "
                "gradients are never all-reduced and the processes train apart",
                hint="run the forward pass of the last micro-batch of a window outside of it",
                related=(own[0].module.span(own[0].node),),
            )


@once
def _reduces_by_hand(module: Module) -> bool:
    """Whether a module has a collective operation, or names one to hand it on, as a hook."""
    names = (*module.every(ast.Name), *module.every(ast.Attribute))
    return any(_BY_HAND.search(identifier(node)) for node in names) or any(
        _OF_PROCESSES.search(call.name) and _TALKS.search(call.name) for call in module.calls
    )


def _always_held(step: TrainingStep) -> Context | None:
    """Return the block around all forward passes of its model, if nothing ever leaves it out."""
    backward = backward_of(step)
    held = [context for event in backward if (context := held_back(event, step)) is not None]
    if not backward or len(held) < len(backward) or not all(is_certain(e, step) for e in backward):
        return None
    passes = [e for e in trained_passes(step) if e.subject == held[0].subject]
    blocks = [event.context("no_sync") for event in passes]
    whole = [c for c in blocks if c is not None and not c.guards and c.name.endswith("no_sync")]
    return held[0] if blocks and len(whole) == len(blocks) else None


RULE = Rule("CL523", check, hints=("no_sync",))

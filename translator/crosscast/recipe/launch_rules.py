"""Rules of the section `launch`: what nobody could start as it stands there."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Diagnostic
from crosscast.recipe.document import Launch, Recipe

_OF_A_JOB = (
    *("time_limit_minutes", "max_requeues", "gpus_per_node", "cpus_per_process"),
    *("memory_mib_per_node", "partition", "account"),
)
"""Fields that only a scheduler obeys."""


def launching(recipe: Recipe) -> Iterator[Diagnostic]:
    """Yield what contradicts itself in `launch`, or the number of processes."""
    launch = recipe.launch
    if launch.scheduler == "none":
        for name in _OF_A_JOB:
            if getattr(launch, name) != getattr(Launch(), name):
                yield _wrong(
                    name, f"{name} is for a scheduler, and there is none", "set scheduler: slurm"
                )
    yield from _job(recipe)
    yield from _rendezvous(recipe)


def _job(recipe: Recipe) -> Iterator[Diagnostic]:
    launch, each = recipe.launch, recipe.distributed.processes_per_node
    if launch.gpus_per_node is not None and launch.gpus_per_node < each:
        yield _wrong(
            "gpus_per_node",
            f"{launch.gpus_per_node} GPUs for {each} processes on every node",
            "every process takes one: ask for as many, or leave gpus_per_node out",
        )
    if launch.max_requeues and launch.time_limit_minutes is not None:
        limit = 60 * launch.time_limit_minutes
        if launch.signal_seconds >= limit:
            yield _wrong(
                "signal_seconds",
                f"the job is told to save {launch.signal_seconds} s before its end, "
                f"and has {limit} s in all",
                "make the time limit longer, or signal_seconds shorter",
            )
    elif not launch.max_requeues and launch.signal_seconds != Launch().signal_seconds:
        yield _wrong(
            "signal_seconds",
            "signal_seconds is for jobs that go back into the queue, and this one does not",
            "set max_requeues to 1 or more",
        )


def _rendezvous(recipe: Recipe) -> Iterator[Diagnostic]:
    launch = recipe.launch
    if launch.rendezvous == "elastic" and recipe.processes == 1:
        yield _wrong("rendezvous", "one process has nobody to meet", "leave rendezvous out")
    if launch.rendezvous == "static" and launch.max_restarts:
        yield _wrong(
            "max_restarts",
            "only an elastic launch starts failed processes anew",
            "set rendezvous: elastic",
        )


def _wrong(name: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic(code="CC220", path=f"launch.{name}", message=message, hint=hint)

"""Rules for the section `launch`: settings that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Diagnostic
from crosscast.recipe.document import Launch, Recipe

_OF_A_JOB = (
    *("time_limit_minutes", "max_requeues", "gpus_per_node", "cpus_per_process"),
    *("memory_mib_per_node", "partition", "account"),
)
"""Fields that only a scheduler uses."""


def launching(recipe: Recipe) -> Iterator[Diagnostic]:
    """Yield contradictions in `launch`, or with the number of processes."""
    launch = recipe.launch
    if launch.scheduler == "none":
        for name in _OF_A_JOB:
            if getattr(launch, name) != getattr(Launch(), name):
                yield _wrong(
                    name, f"{name} has no effect without a scheduler", "set scheduler: slurm"
                )
    yield from _job(recipe)
    yield from _rendezvous(recipe)


def _job(recipe: Recipe) -> Iterator[Diagnostic]:
    launch, each = recipe.launch, recipe.distributed.processes_per_node
    if launch.gpus_per_node is not None and launch.gpus_per_node < each:
        yield _wrong(
            "gpus_per_node",
            f"gpus_per_node is {launch.gpus_per_node}, but every node runs {each} processes",
            "request one GPU per process, or remove gpus_per_node",
        )
    if launch.max_requeues and launch.time_limit_minutes is not None:
        limit = 60 * launch.time_limit_minutes
        if launch.signal_seconds >= limit:
            yield _wrong(
                "signal_seconds",
                f"the job saves {launch.signal_seconds} s before its end, but its time limit "
                f"is {limit} s",
                "increase time_limit_minutes or decrease signal_seconds",
            )
    elif not launch.max_requeues and launch.signal_seconds != Launch().signal_seconds:
        yield _wrong(
            "signal_seconds",
            "signal_seconds has no effect without max_requeues",
            "set max_requeues to 1 or more",
        )


def _rendezvous(recipe: Recipe) -> Iterator[Diagnostic]:
    launch = recipe.launch
    if launch.rendezvous == "elastic" and recipe.processes == 1:
        yield _wrong(
            "rendezvous", "an elastic rendezvous needs more than one process", "remove rendezvous"
        )
    if launch.rendezvous == "static" and launch.max_restarts:
        yield _wrong(
            "max_restarts",
            "max_restarts has no effect without an elastic rendezvous",
            "set rendezvous: elastic",
        )


def _wrong(name: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic(code="CC220", path=f"launch.{name}", message=message, hint=hint)

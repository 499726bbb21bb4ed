"""Data parallel training: wrapped models, samplers, loaders."""

from __future__ import annotations

from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.sources.subject import Subject

_WRAPPERS = frozenset(
    {
        *("torch.nn.parallel.DistributedDataParallel",),
        *("torch.nn.parallel.distributed.DistributedDataParallel",),
    }
)


def calls_of(subject: Subject) -> list[Call]:
    """Return all calls of a program."""
    return [call for m in subject.program.modules for call in m.calls]


def wraps(subject: Subject) -> list[Call]:
    """Return the calls that wrap a model in DistributedDataParallel of PyTorch."""
    return [call for call in calls_of(subject) if call.names and set(call.names) <= _WRAPPERS]


def samplers(subject: Subject) -> list[Call]:
    """Return the calls that create a DistributedSampler of PyTorch."""
    return [
        call
        for call in calls_of(subject)
        if call.name.startswith("torch.utils.data") and call.name.endswith("DistributedSampler")
    ]


def loaders(subject: Subject) -> list[Call]:
    """Return the calls that create a DataLoader of PyTorch."""
    return [
        call
        for call in calls_of(subject)
        if call.name.startswith("torch.utils.data") and call.name.endswith(".DataLoader")
    ]

"""Processes that train apart: a launch of several of a script that never joins their gradients."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast_reading.facts.fact import Fact, Layer
from crosscast_reading.facts.profile import Profile, profile_of
from crosscast_reading.pysource.libraries.public_names import STANDARD
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.sources.subject import Subject
from crosscast_reading.sources.subject_builder import starts

_PLAIN = frozenset(
    {
        *("torch", "torchvision", "torchaudio", "numpy", "scipy", "pandas", "sklearn", "PIL"),
        *("cv2", "tqdm", "yaml", "matplotlib", "h5py", "nltk", "einops", "safetensors", "requests"),
        *("tensorboard", "tensorboardX", "wandb", "tokenizers", "sentencepiece", "datasets"),
        "transformers",
    }
)
"""Libraries that wrap no model by themselves; of transformers only its trainers do."""
_HARMLESS = re.compile(
    r"\b(?:torch\.)?distributed\.(?:init_process_group|destroy_process_group|is_\w+|get_\w+|barrier)"
    r"|\bimport torch\.distributed\b|\bfrom torch import distributed\b|\btorch\.distributed\.run\b"
    r"|\bfrom torch\.utils\.data\.distributed import\b|\bdata\.distributed\."
    r"|\bDistributedSampler\b"
)
"""What speaks of processes and joins no gradients."""
_JOINS = re.compile(
    r"parallel|distributed|fsdp|shard|accelerat|deepspeed|horovod|\bhvd\b|mpi4py|\bapex\b|xla|\bray\b"
    r"|all_?reduce|all_?gather|gather\(|broadcast|\.reduce\(|scatter|coalesced|\.\w*average_grad"
    r"|import_module|__import__|(?<![.\w])(?:exec|eval)\(",
    re.IGNORECASE,
)
"""Anything that may join them, or bring code that was not read."""


def trained_apart(subject: Subject) -> tuple[Profile, tuple[Diagnostic, ...]]:
    """Return the facts, and a warning if the processes of the launch train apart.

    That a launcher starts several processes makes the training data parallel only if the script,
    or a library in it, joins the gradients. Said only where all of the program was read.
    """
    program = subject.program
    kinds = subject.profile.all("parallel.kind")
    if not program.modules or not kinds or not subject.steps or not all(map(_of_launch, kinds)):
        return subject.profile, ()
    launches = [
        command
        for command in subject.commands
        if command.launcher
        and starts(command, program.modules[0].source)
        and command.processes is not None
    ]
    if not launches or not _joins_nothing(subject, program):
        return subject.profile, ()
    processes = launches[0].processes
    count = (
        f"{processes.value} processes"
        if processes is not None and processes.known
        else "several processes"
    )
    shared = any("DistributedSampler" in module.source.text for module in program.modules)
    data = "its own part of" if shared else "all of"
    warning = Diagnostic(
        code="CC934",
        severity=Severity.WARNING,
        path="distributed.strategy",
        span=next((place for kind in kinds for place in kind.places), None),
        message=(
            f"{count} are started, but nothing in {program.modules[0].source.name} joins their"
            f" gradients: each trains a model of its own on {data} the data"
        ),
        hint="wrap the model in torch.nn.parallel.DistributedDataParallel, or start one process",
    )
    return profile_of(_without_parallel(subject.profile)), (warning,)


def _of_launch(fact: Fact) -> bool:
    """Whether only the kind of the launcher says it."""
    return fact.layer is Layer.LAUNCHER and fact.origin == "presence" and fact.reader == "shell"


def _without_parallel(profile: Profile) -> Iterator[Fact]:
    for fact in profile:
        yield replace(fact, value="none") if fact.field == "parallel.kind" else fact


def _joins_nothing(subject: Subject, program: Program) -> bool:
    if any(diagnostic.severity == "error" for diagnostic in subject.unread):
        return False
    return all(
        _is_fully_read(module, program) and not _may_join(module) for module in program.modules
    )


def _may_join(module: Module) -> bool:
    text = module.source.text
    if "Trainer" in text and any(name.startswith("transformers") for name in module.imported):
        return True
    return _JOINS.search(_HARMLESS.sub("", text)) is not None


def _is_fully_read(module: Module, program: Program) -> bool:
    """Whether every import of a module was read or is of a library that joins nothing."""
    for name in module.imported:
        imported = program.find_module(name, module)
        if imported is not None:
            if imported.source.name.endswith("__init__.py"):
                return False  # what it hands on may lie in a file that was not given
            continue
        root = name.partition(".")[0]
        if root not in _PLAIN and root not in STANDARD:
            return False
    return True

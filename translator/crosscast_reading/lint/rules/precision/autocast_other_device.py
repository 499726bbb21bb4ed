"""CL402: autocast for an unused device."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.autocast import always_on, device_of
from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.readers.python.library_calls import fixed
from crosscast_reading.sources.subject import Subject

_ELSEWHERE = re.compile(r"\.cuda\(|cuda:|is_available|current_device|set_device|['\"]gpu['\"]")


def check(subject: Subject) -> Iterator[Finding]:
    """Find autocast of CUDA in programs whose only device is the CPU."""
    if not _only_cpu(subject):
        return
    for step in eager_steps(subject):
        for event in step.of("forward"):
            context = event.context("autocast")
            if context is not None and always_on(context) and device_of(context) == "cuda":
                yield Finding(
                    span=event.module.owner_of(context.node).span(context.node),
                    message="autocast is for CUDA, but the tensors are on the CPU",
                    hint='write `torch.autocast("cpu", dtype=torch.bfloat16)`',
                )
                break


def _only_cpu(subject: Subject) -> bool:
    """Whether every device that the program names is the CPU, as literals."""
    program = subject.program
    if any(_ELSEWHERE.search(module.code) for module in program.modules):
        return False
    calls = [call for module in program.modules for call in module.calls]
    devices = [call for call in calls if call.name == "torch.device"]
    return bool(devices) and all(_is_cpu(device) for device in devices)


def _is_cpu(call: Call) -> bool:
    match call.node.args:
        case [device]:
            return fixed(evaluate(device, call.module)) == "cpu"
    return False


RULE = Rule("CL402", check, hints=("autocast",))

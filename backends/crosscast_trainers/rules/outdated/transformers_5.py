"""CL907: arguments that TrainingArguments of transformers 5 no longer takes."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.outdated_apis import older
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.sources.subject import Subject

_DROPPED = {
    "warmup_ratio": "warmup_steps: a number below 1 is a share of all steps",
    "fp16_opt_level": "it only applied to apex.amp, which was removed",
    "half_precision_backend": "autocast is all there is",
    "fp16_backend": "autocast is all there is",
    "no_cuda": "use_cpu",
    "evaluation_strategy": "eval_strategy",
    "per_gpu_train_batch_size": "per_device_train_batch_size",
    "per_gpu_eval_batch_size": "per_device_eval_batch_size",
    "tpu_num_cores": "the launcher sets it",
    "jit_mode_eval": "compile the model instead",
    "use_mps_device": "the device is detected automatically",
}
"""Removed argument to its replacement; none of them is a field in 5.23.0."""
_TAKERS = ("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments")


def check(subject: Subject) -> Iterator[Finding]:
    """Find removed arguments in calls of the class."""
    program = subject.program
    if older(program, "transformers", "5"):
        return
    for module in program.modules:
        for call in module.calls:
            if call.names and all(name in _TAKERS for name in call.names):
                yield from _in_call(call)


def _in_call(call: Call) -> Iterator[Finding]:
    for keyword in call.node.keywords:
        if keyword.arg in _DROPPED:
            span = call.module.span(keyword.value)
            yield Finding(
                span=call.module.span(keyword) if hasattr(keyword, "lineno") else span,
                message=f"{keyword.arg} was removed in transformers 5: the call raises TypeError",
                hint=f"instead: {_DROPPED[keyword.arg]}",
            )


RULE = Rule("CL907", check, hints=("TrainingArguments",), needs_training=False)

"""CL913: a setting of the training step that other settings override."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._unread import reader_findings
from crosscast.messages.diagnostics import Severity
from crosscast.sources.subject import Subject

_SEVERITIES = {
    "CC926": Severity.WARNING,  # a warm-up that the schedule ignores
    "CC927": Severity.NOTE,  # a loss scale without half precision is harmless
    "CC933": Severity.WARNING,  # an entry that the program that reads the file does not look at
}


def check(subject: Subject) -> Iterator[Finding]:
    """Report settings that readers of scripts and configurations found to have no effect."""
    hint = "remove it, or enable the feature it belongs to"
    yield from reader_findings(subject, _SEVERITIES, _SEVERITIES, hint)


_LAUNCH = """\
python train.py --learning_rate 2e-5 --per_device_train_batch_size 8 --num_train_epochs 3 \\
    --lr_scheduler_type {schedule} --warmup_ratio 0.1 --output_dir out --do_train
"""

RULE = Rule(
    code="CL913",
    name="setting-without-effect",
    topic="launch",
    severity=Severity.WARNING,
    title="Setting overridden by another one",
    why="The command or the file suggests a warm-up, a fixed loss scale or half precision that "
    "the run does not have. The rule checks only settings whose library or trainer is known. "
    "A loss scale without half precision is reported as a note.",
    language="bash",
    wrong=_LAUNCH.format(schedule="constant"),
    right=_LAUNCH.format(schedule="constant_with_warmup"),
    check=check,
    sources=("transformers: `constant` has no warm-up, `constant_with_warmup` has",),
)

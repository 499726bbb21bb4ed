"""CL922: settings of one run that cannot work together."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.launch._unread import reader_findings
from crosscast_reading.sources.subject import Subject

_CODES = ("CC925", "CC928", "CC929", "CC930")
"""Two precisions at once; indivisible sizes; conflict with another file; exclusive settings."""


def check(subject: Subject) -> Iterator[Finding]:
    """Report settings that readers of scripts and configurations found contradictory."""
    yield from reader_findings(subject, _CODES, hint="keep only the intended one")


_LAUNCH = """\
torchrun --nproc_per_node 8 pretrain.py \\
    --tensor-model-parallel-size 4 --pipeline-model-parallel-size {stages} \\
    --num-layers 24 --num-attention-heads 16 --seq-length 1024 \\
    --micro-batch-size 2 --global-batch-size 64 --fp16 --lr 1.5e-4
"""

RULE = Rule(
    code="CL922",
    name="settings-contradict",
    topic="launch",
    severity=Severity.WARNING,
    title="Settings that cannot work together",
    why="A model split over 16 processes does not start on 8. If the global batch size is not a "
    "multiple of micro-batch size x processes, some libraries stop and others round the "
    "number of micro-batches per window. If both fp16 and bf16 are enabled, or the length of "
    "the warm-up is given twice, a library picks one or rejects both. The rule reports this "
    "only if all numbers can be determined.",
    language="bash",
    wrong=_LAUNCH.format(stages=4),
    right=_LAUNCH.format(stages=2),
    check=check,
    sources=("Megatron-LM: the world size is divisible by tensor x pipeline x context parallel",),
)

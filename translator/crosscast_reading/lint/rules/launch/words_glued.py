"""CL923: a line continuation that joins two words of a command."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.launch._unread import reader_findings
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Report words that the reader of shell scripts found joined."""
    yield from reader_findings(subject, ("CC931",))


_RIGHT = """\
python train.py --learning_rate 2e-5 --fp16 \\
--gradient_accumulation_steps 4 \\
--max_grad_norm 1.0
"""

RULE = Rule(
    code="CL923",
    name="words-glued",
    topic="launch",
    severity=Severity.ERROR,
    title="No space before a line continuation",
    why="bash inserts nothing between continued lines: `4\\` and `--max_grad_norm` become one "
    "word, `4--max_grad_norm`. The flag is lost, and the preceding value is wrong.",
    language="bash",
    wrong=_RIGHT.replace("steps 4 \\", "steps 4\\"),
    right=_RIGHT,
    check=check,
    hints=("\\",),
)

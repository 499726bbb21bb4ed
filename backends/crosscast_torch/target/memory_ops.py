"""What PyTorch keeps for backward and allocates, operation by operation.

Sources: `derivatives.yaml` of PyTorch, and the allocations of PyTorch 2.13 on a CPU, which
`benchmarks/memory.py` and `tests/frameworks/test_memory_torch.py` measure; on a GPU, peaks of whole
steps of BERT (`tests/gpu/test_memory.py`, docs/explanation/memory.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.memory.tape import OpRow
from crosscast.targets.evidence import Evidence

CPU: dict[str, OpRow] = {
    "linear": OpRow(keeps=("first",), note="addmm keeps its input and the weight it is given"),
    "bmm": OpRow(keeps=("input",)),
    "copy": OpRow(grad="same", note="reshape of what cannot be a view: contiguous()"),
    "unflatten": OpRow(note="a view; its gradient comes in another order and is copied"),
    "cast": OpRow(),
    "scale": OpRow(),
    "add": OpRow(grad="same"),
    "softmax": OpRow(keeps=("output",)),
    "fused_attention": OpRow(
        keeps=("input", "output", "extra"),
        extra_dtype="float32",
        note="keeps the logarithm of the sum of every line of scores, not the scores",
    ),
    "gelu": OpRow(keeps=("first",)),
    "tanh": OpRow(keeps=("output",)),
    "layer_norm": OpRow(keeps=("first", "extra"), extra_dtype="float32"),
    "dropout": OpRow(keeps=("extra",), note="mask in the type of the input"),
    "embedding": OpRow(note="keeps the ids, which the batch holds; its gradient is dense"),
    "select": OpRow(note="a view; its gradient is zeros but for the row"),
    "log_softmax": OpRow(keeps=("output",)),
    "nll_loss": OpRow(keeps=("first", "second")),
}

CUDA: dict[str, OpRow] = (
    CPU
    | {
        name: OpRow(
            keeps=CPU[name].keeps,
            grad=CPU[name].grad,
            extra_dtype=CPU[name].extra_dtype,
            evidence=Evidence.MEASURED_GPU,
        )
        for name in CPU
    }
    | {
        "dropout": OpRow(
            keeps=("extra",),
            extra_dtype="bool",
            evidence=Evidence.MEASURED_GPU,
            note="native_dropout keeps a mask of one byte a number",
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """What the step of an optimizer needs for a while, as copies of float32 weights."""

    largest: int = 0
    """Copies of the largest parameter."""
    every: int = 0
    """Copies of all parameters, of an update that takes them together."""
    evidence: Evidence = Evidence.MEASURED_CPU
    note: str = ""


STEPS: dict[str, StepRow] = {
    "fused": StepRow(note="one kernel that updates in place"),
    "loop adam": StepRow(largest=2, note="root of the second moment, divided"),
    "loop adam decay": StepRow(largest=3, note="and the gradient with its decay"),
    "loop sgd": StepRow(),
    "loop sgd decay": StepRow(largest=1, note="the gradient with its decay"),
    "lamb": StepRow(largest=4),
    "lamb uncorrected": StepRow(largest=2),
    "lion": StepRow(largest=3),
    "momentum": StepRow(largest=2),
    "momentum nesterov": StepRow(largest=3),
    "momentum decay": StepRow(largest=2),
    "torch.optim.Adafactor": StepRow(largest=1),
    "adafactor": StepRow(largest=3, evidence=Evidence.DOCUMENTED),
    "foreach adam": StepRow(every=1, evidence=Evidence.DOCUMENTED),
    "foreach adam decay": StepRow(every=2, evidence=Evidence.DOCUMENTED),
    "foreach sgd": StepRow(evidence=Evidence.DOCUMENTED),
    "foreach sgd decay": StepRow(every=1, evidence=Evidence.DOCUMENTED),
}
"""By the form of the update: `fused`, a Python `loop` over parameters as on a CPU, `foreach` as
on a GPU, or a class that the script brings along."""

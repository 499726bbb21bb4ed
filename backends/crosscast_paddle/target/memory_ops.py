"""What Paddle keeps for backward and allocates, operation by operation.

Measured one by one with Paddle 3.3 on a CPU, by `paddle.base.core.host_memory_stat_peak_value`.
Rows without `evidence` hold there; on a GPU they are taken over, not measured.
"""

from __future__ import annotations

from crosscast.memory.tape import OpRow
from crosscast.targets.evidence import Evidence

OPS: dict[str, OpRow] = {
    "linear": OpRow(
        keeps=("first",), scratch=("float32",), note="a product, then the bias in memory of its own"
    ),
    "scores": OpRow(keeps=("input",), contiguous=(0, 1), note="heads are transposed views"),
    "context": OpRow(
        keeps=("input",),
        contiguous=(1,),
        backward_scratch=("float32",),
        note="its gradient comes as a transposed view",
    ),
    "copy": OpRow(grad="same", note="flatten of what is transposed"),
    "unflatten": OpRow(note="a view; its gradient is transposed, and copied"),
    "cast": OpRow(note="astype to its own type is a view, but its gradient is a copy"),
    "scale": OpRow(),
    "add": OpRow(grad="first"),
    "softmax": OpRow(keeps=("output",)),
    "fused_attention": OpRow(
        keeps=("input", "output", "extra"),
        extra_dtype="float32",
        evidence=Evidence.DOCUMENTED,
        note="on GPUs; keeps the logarithm of the sum of every line of scores, not the scores",
    ),
    "gelu": OpRow(keeps=("first",)),
    "tanh": OpRow(keeps=("output",)),
    "layer_norm": OpRow(
        keeps=("first", "extra"), extra_dtype="float32", backward_scratch=("float32", "float32")
    ),
    "dropout": OpRow(keeps=("extra",), extra_dtype="uint8"),
    "embedding": OpRow(note="its gradient is dense"),
    "select": OpRow(note="a view; its gradient is zeros but for the row"),
}

"""What the graphs of an emitted TensorFlow script keep for backward and allocate.

Measured with TensorFlow 2.21 on a CPU: the profiler's list of what its allocator gives out, with
operations (`crosscast_tensorflow.inside.allocations`). Graphs are rewritten before they run
(Grappler), so a row is a group of operations: elementwise ones work in the memory of their input
where nothing else reads it, and have no row.
"""

from __future__ import annotations

from crosscast.memory.tape import OpRow

OPS: dict[str, OpRow] = {
    "dense": OpRow(keeps=("first",), note="product and bias, in one piece of memory"),
    "cast": OpRow(),
    "transpose": OpRow(note="heads before tokens and back: a copy"),
    "scores": OpRow(
        keeps=("input", "output", "extra"),
        backward_scratch=("float32",),
        note="scale, mask and softmax in place; extra: softmax, divided for its gradient",
    ),
    "rounded scores": OpRow(
        keeps=("input", "output"),
        scratch=("float32",),
        backward_scratch=("float32", "float32", "float32"),
        note="scale, mask and softmax in place, in float32; only the rounded result is kept",
    ),
    "masked": OpRow(keeps=("extra",), extra_dtype="bool", note="where(mask, 0, x / keep)"),
    "context": OpRow(keeps=("input",)),
    "add": OpRow(grad="same"),
    "layer_norm": OpRow(
        keeps=("first", "extra"),
        extra_dtype="float32",
        backward_scratch=("float32", "float32", "float32"),
        note="Keras makes it of products; extra: scale times gamma, as large as the input",
    ),
    "gelu": OpRow(
        keeps=("first", "extra"),
        grad="same",
        note="made of products; extra: x / 2, and the square that erf's gradient reads",
    ),
    "rounded layer_norm": OpRow(
        keeps=("input",),
        scratch=("float32", "float32"),
        backward_scratch=("float32", "float32", "float32"),
        note="computes in float32 inside; two numbers of each row are kept beside the input",
    ),
    "rounded gelu": OpRow(
        keeps=("input",),
        scratch=("float32", "float32"),
        backward_scratch=("float32", "float32"),
        note="computes in float32 inside; its gradient works in two float32 tensors in turn",
    ),
    "tanh": OpRow(keeps=("output",)),
    "select": OpRow(note="its gradient is zeros but for the row"),
}

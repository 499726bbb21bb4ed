"""How Flax NNX lays out the variables of its layers.

Source: the attributes that the documentation of each class of `flax.nnx` lists; dense kernels are
[in, out], those of convolutions [sizes..., in, out].
"""

from __future__ import annotations

from crosscast_parity.inside.tensor_rows import Table, as_it_is, kernel_last, moved

_NORM = {"scale": as_it_is("scale"), "bias": as_it_is("bias")}
TABLE: Table = {
    **dict.fromkeys(("LayerNorm", "RMSNorm", "GroupNorm", "InstanceNorm"), _NORM),
    "BatchNorm": {**_NORM, "mean": as_it_is("mean"), "var": as_it_is("variance")},
    "Linear": {"kernel": moved("kernel", (1, 0)), "bias": as_it_is("bias")},
    "Conv": {"kernel": kernel_last, "bias": as_it_is("bias")},
    "Embed": {"embedding": as_it_is("embedding")},
}
PACKAGES = ("flax.",)
"""Where the classes of the table are defined; those of the user may have the same names."""

"""apex.multi_tensor_apply: the kernels are not available."""

from __future__ import annotations


class multi_tensor_applier:
    """Says that there are no kernels."""

    available = False

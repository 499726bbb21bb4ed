"""Whether two processes trained as one did."""

from __future__ import annotations

import numpy as np
import pytest

from frameworks.script_runs import Run

SHORT = 12
"""Rows of a short window: 4 + 4 + 4 in one process, 4 + 2 on each of two."""


def same_training(
    single: Run, double: Run, *, rel: float = 1e-5, atol: float = 1e-6, free: str = "-"
) -> None:
    """Check trace, weights and evaluation: what is counted is equal, what is computed is close.

    Args:
        single: the run of one process, with micro-batches of 4 rows.
        double: that of two.
        rel: of losses, norms and the evaluation.
        atol: of weights.
        free: end of the names of weights whose gradient is nothing but rounding.
    """
    for row, other in zip(single.trace, double.trace, strict=True):
        expected = row | {"n_micro": row["n_micro"] + (row["rows"] == SHORT)}
        for key, value in expected.items():
            close = key in ("loss", "grad_norm")
            assert other[key] == (pytest.approx(value, rel=rel) if close else value), key
    assert single.weights.keys() == double.weights.keys()
    compared = {k: a for k, a in single.weights.items() if not k.endswith(free)}
    assert compared
    for name, array in compared.items():
        np.testing.assert_allclose(double.weights[name], array, rtol=0, atol=atol, err_msg=name)
    assert double.status["eval"] == pytest.approx(single.status["eval"], rel=rel)

"""A stand-in: rows of length one."""

import numpy as np
import scipy.sparse as sparse


def normalize(rows, *_, **__):
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(1)).ravel())
    return sparse.diags(1.0 / np.maximum(norms, 1e-12)) @ rows

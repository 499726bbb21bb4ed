"""Columns with mean 0 and deviation 1."""

import numpy as np


class StandardScaler:
    def fit_transform(self, rows):
        return (rows - rows.mean(0)) / np.where(rows.std(0) > 0, rows.std(0), 1)

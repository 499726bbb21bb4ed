"""Made-up sailing data instead of a boat's recorder."""

import numpy as np
import pandas as pd

_GONE = ("Datetime", "Bs", "YawRate", "Heel", "Lwy", "Tws", "SinkMin_AP")
_FLAGS = ("isPort", "isStbd", "armDown")


def retriveDataSet(reload):
    size = 33000
    rng = np.random.default_rng(0)
    columns = {name: np.zeros(size) for name in (*_GONE, *_FLAGS)}
    columns |= {"Pitch": rng.normal(size=size), "Ram": rng.normal(size=size)}
    columns["Day"] = np.where(np.arange(size) < 1000, 1, 6)
    return pd.DataFrame(columns)

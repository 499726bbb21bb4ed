"""Conditions about half precision that another file or the machine decides."""

from __future__ import annotations

import pytest

from crosscast_tensorflow.reading.keras import READER as KERAS
from reading_helpers.torch_programs import read_by

POLICY = """\
import os

import tensorflow as tf

{imports}

if {test}:
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
"""


@pytest.mark.parametrize(
    ("imports", "test", "who"),
    [
        ("", '"cluster" in os.getcwd()', "config"),
        ("import platform", 'platform.node() == "cluster"', "config"),
        ("import settings", "settings.half_precision", "config"),
        ("from settings import HALF", "HALF", "config"),
        ("from settings import *", "fast_cards == True", "config"),
        ("", "len(rows) > 8", "always"),
        ("from settings import is_first", "is_first(rows)", "always"),
        ("from settings import *", "verbose", "always"),
        ("HALF = True", "HALF", "always"),
        ("import numpy as np", "np.__debug__", "always"),
        ("from apex import HAS_FUSED", "HAS_FUSED", "always"),
        ("from distutils import debug", "debug.DEBUG", "always"),
        ("from imp import SEARCH_ERROR", "SEARCH_ERROR", "always"),
    ],
)
def test_who_decides(imports: str, test: str, who: str) -> None:
    found = read_by(KERAS, POLICY.format(imports=imports, test=test))
    assert found["precision.enabled"] == who
    if who == "config":
        assert "precision.compute_dtype" not in found

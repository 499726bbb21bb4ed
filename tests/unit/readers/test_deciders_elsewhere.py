"""Conditions about half precision that another file or the machine decides."""

from __future__ import annotations

import pytest

from crosscast.readers.tensorflow.keras import READER as KERAS
from crosscast.readers.tensorflow.rewrite import READER as REWRITE
from torch_programs import read_by

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


def test_a_rewrite_under_a_setting_of_another_file() -> None:
    text = (
        "import tensorflow as tf\nfrom settings import *\n\n"
        "optimizer = tf.keras.optimizers.Adam()\n"
        "if fast_cards == True:\n"
        "    optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)\n"
    )
    assert read_by(REWRITE, text)["precision.enabled"] == "config"
    local = text.replace("from settings import *", "fast_cards = True")
    assert read_by(REWRITE, local)["precision.enabled"] == "always"

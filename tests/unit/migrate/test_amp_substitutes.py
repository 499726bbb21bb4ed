"""CM107: substitutes for torch.cuda.amp that other files of a program import."""

from __future__ import annotations

import pytest

from unit.migrate.migrating import changed, migrate, refused

NET = """\
import torch

try:
    autocast = torch.cuda.amp.autocast
except AttributeError:
    class autocast:
        def __init__(self, enabled):
            pass


class Net(torch.nn.Module):
    def forward(self, x):
        with autocast(enabled=self.half):
            return x
"""
TRAIN = """\
from net import Net, autocast

with autocast(True):
    Net()(x)
"""


def test_uses_of_another_file_move_with_the_substitute() -> None:
    text = changed("CM107", TRAIN, net=NET)
    assert (
        text
        == """\
import torch
from net import Net

with torch.amp.autocast("cuda", dtype=torch.float16, enabled=True):
    Net()(x)
"""
    )
    net = migrate("CM107", TRAIN, net=NET).texts["net.py"]
    assert "try:" not in net
    assert 'with torch.amp.autocast("cuda", dtype=torch.float16, enabled=self.half):' in net


def test_a_name_of_its_own_moves_and_the_import_goes() -> None:
    text = changed("CM107", "from net import autocast as half\nwith half(True):\n    pass", net=NET)
    assert "net" not in text
    assert 'with torch.amp.autocast("cuda", dtype=torch.float16, enabled=True):' in text


@pytest.mark.parametrize(
    ("train", "why"),
    [
        ("from net import autocast\nuse(autocast)", "autocast is used as a value"),
        ("from net import autocast\nwith autocast(*given):\n    pass", "not all arguments"),
        ("from net import autocast; import os", "the `try` or the import does more"),
        ("from net import *\nwith autocast(True):\n    pass", "from an importer"),
    ],
)
def test_uses_of_another_file_that_are_not_certain(train: str, why: str) -> None:
    assert why in refused("CM107", train, net=NET)


def test_an_importer_of_an_importer() -> None:
    text = "from evaluate import autocast\nwith autocast(True):\n    pass"
    assert "from an importer" in refused("CM107", text, evaluate=TRAIN, net=NET)


def test_a_star_that_brings_the_name_where_nothing_uses_it() -> None:
    assert (
        "evaluate.py" in migrate("CM107", "from evaluate import *", evaluate=TRAIN, net=NET).texts
    )

"""CM303: arguments by place of paddle.amp.decorate."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_migrate.registry import codemods_to

HEAD = "import paddle\noptimizer = None\n"


def migrated(text: str) -> InPlaceMigration:
    found = migrate_in_place([Source("train.py", HEAD + text)], codemods_to("paddle3"))
    assert not found.problems
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "paddle.amp.decorate(m, o, 'O2', True)",
            "paddle.amp.decorate(m, o, 'O2', master_weight=True)",
        ),
        (
            "paddle.amp.amp_decorate(m, o, 'O2', False, save_dtype='float32')",
            "paddle.amp.amp_decorate(m, o, 'O2', master_weight=False, save_dtype='float32')",
        ),
        (
            "paddle.amp.decorate(m, o, level, None, kind)",
            "paddle.amp.decorate(m, o, level, master_weight=None, save_dtype=kind)",
        ),
    ],
)
def test_what_is_certainly_the_older_signature(before: str, after: str) -> None:
    assert migrated(f"{before}\n").texts["train.py"] == f"{HEAD}{after}\n"


@pytest.mark.parametrize(
    "text",
    [
        "paddle.amp.decorate(m, o, 'O2')\n",
        "paddle.amp.decorate(m, o, level='O2', master_weight=True)\n",
        "paddle.amp.decorate(m, o, 'O2', 'float16', None)\n",
        "# paddle.amp.decorate(m, o, 'O2', None)\n",
        "if False:\n    paddle.amp.decorate(m, o, 'O2', None)\n",
        "import mine.amp as amp\namp.decorate(m, o, 'O2', None)\n",
        "def decorate(m, o, level, wanted):\n    pass\ndecorate(m, o, 'O2', None)\n",
    ],
)
def test_what_stays(text: str) -> None:
    found = migrated(text)
    assert not found.texts
    assert not found.refusals


@pytest.mark.parametrize(
    "given", ["wanted", "args.master_weight", "*rest", "None, None, False", "1 == 2"]
)
def test_what_may_be_either_is_refused(given: str) -> None:
    found = migrated(f"paddle.amp.decorate(m, o, 'O2', {given})\n")
    assert not found.texts
    assert "up to Paddle 2.4" in found.refusals[0].message

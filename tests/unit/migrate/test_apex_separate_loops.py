"""CM102: several loops in one program; each moves or stays for itself."""

from __future__ import annotations

import ast
import textwrap

from crosscast.messages.source import Source
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_migrate.registry import codemods_to
from unit.migrate.apex_loops import LOOP, START
from unit.migrate.migrating import refused

HEAD = "import torch\nfrom apex import amp\n\ncriterion = torch.nn.CrossEntropyLoss()\n"


def function(name: str, loop: str = LOOP) -> str:
    body = textwrap.indent(START + loop, "    ")
    return f"\n\ndef {name}(model, optimizer, loader):\n{body}"


def migrated(text: str) -> InPlaceMigration:
    found = migrate_in_place([Source("train.py", text)], codemods_to("torch.amp"))
    for after in found.texts.values():
        ast.parse(after)
    return found


def test_two_loops_move() -> None:
    found = migrated(HEAD + function("teacher") + function("student"))
    assert not found.refusals
    text = found.texts["train.py"]
    assert "apex" not in text
    assert text.count("torch.amp.GradScaler") == text.count("scaler.update()") == 2


def test_a_loop_that_stays_does_not_hold_another() -> None:
    early = "scaled_loss.backward()\n"
    stays = LOOP.replace(early, f"{early}        optimizer.step()\n")
    found = migrated(HEAD + function("teacher") + function("student", stays))
    text = found.texts["train.py"]
    assert "from apex import amp" in text
    assert "scaler.step(optimizer)" in text.partition("def student")[0]
    student = function("student", stays).partition("def student")[2]
    assert text.endswith(student)
    assert found.refusals


def test_loops_that_share_something_stay_together() -> None:
    shared = HEAD + "\n\ndef save():\n    return amp.state_dict()\n"
    text = shared + function("teacher") + function("student")
    assert "in several places" in refused("CM102", text)

"""CM101, CM102: calls of amp that no import explains are reported."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from unit.migrate.migrating import refused, stays

PASSED = """\
import torch  # apex


def train(amp, model, optimizer, loader):
    for inputs in loader:
        loss = model(inputs).mean()
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()
"""
OWN = """\
import torch  # no apex


class Scaling:
    def scale_loss(self, loss, optimizer):
        return loss


amp = Scaling()
amp.scale_loss(model(inputs), optimizer).backward()
"""


def test_an_argument() -> None:
    assert "where amp.scale_loss comes from" in refused("CM102", PASSED)


def test_an_object_of_the_program() -> None:
    stays("CM102", OWN)


def test_a_star_of_a_file_that_is_too_far_away() -> None:
    """More files lie between than are read together."""
    loop = PASSED.replace("train(amp, ", "train(")
    texts = {
        "main.py": "import one\noptimizer.step()  # apex\n",
        "one.py": "from two import *\nloss.backward()\n",
        "two.py": "from three import *\nloss.backward()\n",
        "three.py": f"from four import *\n{loop}    loss.backward()  # apex\n",
        "four.py": "from torch.cuda.amp import autocast\nfrom apex import amp\n",
    }
    texts["three.py"] += "    with autocast():\n        pass\n"
    sources = [Source(name, text) for name, text in texts.items()]
    found = migrate_in_place(sources, codemods_to("torch.amp"))
    assert not found.texts
    said = {refusal.message.split(" comes")[0] for refusal in found.refusals}
    assert said >= {"where amp.scale_loss", "where autocast"}


def test_the_parts_of_a_loop_in_programs_of_their_own() -> None:
    """No message asks for a file that was passed."""
    head = "import torch\nfrom apex import amp\n\n"
    start = f"{head}model, optimizer = amp.initialize(model, optimizer)\n"
    loop = f"{head}with amp.scale_loss(loss, optimizer) as scaled:\n    scaled.backward()\n"
    sources = [Source("a.py", start), Source("b.py", loop)]
    found = migrate_in_place(sources, codemods_to("torch.amp"))
    assert not found.texts
    said = sorted(refusal.message for refusal in found.refusals)
    assert said[0].startswith(
        "a.py runs this amp.initialize, but never amp.scale_loss, which is in"
    )
    assert said[1].startswith("amp.initialize is in a.py, which is not found from here")
    assert not any("pass the file" in refusal.hint for refusal in found.refusals)

"""What lint says about parts of a program that it could not follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.options import Options
from crosscast_reading.lint.registry import find_rule
from reading_helpers.lint_results import swap
from reading_helpers.lint_runs import run

PLAIN = find_rule("clip-after-step").right
ACCUMULATION = find_rule("loss-not-divided").right
EPOCHS = find_rule("tail-divided-by-all").wrong
UNKNOWN = swap(ACCUMULATION, ("criterion(model(inputs), targets) / steps", "compute(inputs)"))
CALLER = """\
import torch

def train_step(model, optimizer, batch, update_now):
    loss = torch.nn.functional.mse_loss(model(batch), batch) / 4
    loss.backward()
    if update_now:
        optimizer.step()
        optimizer.zero_grad()
"""


def notes(*texts: str, verbose: bool = True) -> list[str]:
    sources = [Source(f"part{number}.py", text) for number, text in enumerate(texts)]
    found = lint_sources(sources, Options(verbose=verbose))
    return [f"{r.file}: {r.message}" for r in found if r.code == "CC957"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (UNKNOWN, "whether loss is a mean (line 10)"),
        (CALLER, "the caller of this function decides with update_now (line 6)"),
        (
            swap(ACCUMULATION, ("(step + 1) % steps == 0", "counts[inputs] % steps == 0")),
            "when counts[inputs] % steps == 0 is true (line 11)",
        ),
    ],
)
def test_what_is_not_known_is_named(text: str, expected: str) -> None:
    assert notes(text) == [f"part0.py: not followed: {expected}"]
    assert notes(text, verbose=False) == []


@pytest.mark.parametrize("text", [PLAIN, ACCUMULATION, EPOCHS])
def test_nothing_is_said_where_all_is_followed(text: str) -> None:
    assert notes(text) == []


@pytest.mark.parametrize(
    ("head", "call", "found"),
    [
        ("from tools.steps import finish", "finish(optimizer)", True),
        ("from .steps import finish", "finish(optimizer)", True),
        ("import tools", "tools.finish(optimizer=optimizer)", True),
        ("from tools.steps import finish", "finish(inputs)", False),
        ("from apex import amp", "amp.master_params(optimizer)", False),
        ("import copy", "copy.deepcopy(optimizer)", False),
        ("import tools", "print(optimizer)", False),
        ("import tools", "tracker.watch(optimizer)", False),
        ("def finish(it):\n    it.step()", "finish(optimizer)", False),
    ],
)
def test_functions_of_other_files_that_get_the_optimizer(head: str, call: str, found: bool) -> None:
    text = swap(
        PLAIN,
        ("import torch\n", f"import torch\n{head}\n"),
        ("optimizer.step()", f"{call}\n    optimizer.step()"),
    )
    name = call.partition("(")[0]
    assert bool(notes(text)) is found
    assert all(f"what {name} does" in note for note in notes(text))


def test_one_note_for_each_file_and_no_more_than_five_places() -> None:
    calls = "".join(f"    use{number}(optimizer)\n" for number in range(8))
    text = swap(PLAIN, ("    optimizer.step()\n", f"{calls}    optimizer.step()\n"))
    (note,) = notes(text)
    assert note.count("what use") == 5
    assert note.endswith("; 3 more")
    both = notes("import part1\n" + UNKNOWN, CALLER)
    assert [note.partition(":")[0] for note in both] == ["part0.py", "part1.py"]


def test_the_option(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(UNKNOWN)
    plain, verbose = run(str(path)), run(str(path), "--verbose")
    assert "CC957" not in plain.output
    assert "note CC957" in verbose.stderr
    assert (plain.exit_code, verbose.exit_code) == (0, 0)

"""What is read of the data-parallel example, which has its own all-reduce."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.batch import groups_of, read_sources
from crosscast_reading.lift.drafting import lift
from crosscast_reading.lint.engine import lint_sources

EXAMPLE = Path(__file__).parents[3] / "examples" / "data-parallel-from-scratch"
WRAPPED = "nn.parallel.DistributedDataParallel(model) if options.average"


@pytest.mark.parametrize("with_ddp", [True, False], ids=["as it is", "without DDP"])
def test_its_recipe(tmp_path: Path, with_ddp: bool) -> None:
    text = (EXAMPLE / "train.py").read_text()
    assert WRAPPED in text
    text = text if with_ddp else text.replace(WRAPPED, "model if options.average")
    (tmp_path / "train.py").write_text(text)
    for name in ("lenet.py", "recipe.yaml"):  # which is spoken of, and must not be taken for it
        (tmp_path / name).write_text((EXAMPLE / name).read_text())
    path = str(tmp_path / "train.py")
    sources, problems = read_sources([path])
    (group,) = groups_of(sources, [path])
    found = lift(analyse(group))
    assert (problems, found.diagnostics, found.recipe is None) == ([], (), False)
    values = {name: (field.value, field.how) for name, field in found.fields.items()}
    assert values["optimizer.name"][0] == "sgd"
    assert values["optimizer.learning_rate"][0] == 0.1
    assert values["seed"][0] == 7
    assert values["distributed.strategy"][0] == "data_parallel"
    assert values["distributed.processes_per_node"][0] == 2
    assert values["precision.mode"][0] == "none"
    unsaid = {"optimizer.name", "optimizer.learning_rate", "seed", "distributed.strategy"}
    assert not unsaid & set(found.unsaid)
    assert lint_sources(group) == []

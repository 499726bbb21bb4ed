from __future__ import annotations

from pathlib import Path

import pytest

from crosscast_reading.lift.batch import groups_of, read_sources
from crosscast_reading.lift.related_files import MAX_FILES

FILES = {
    "launch/run.sh": "torchrun ../train.py --config conf/a.yaml\n",
    "train.py": "import torch\nfrom steps import one\nfrom lib import (\n    two,\n)\n",
    "steps.py": "from lib.two import three\nloss.backward()\n",
    "lib/__init__.py": "",
    "lib/two.py": "LR = 1\n",
    "conf/a.yaml": "fp16: true\n",
    "unrelated.py": "loss.backward()\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def names(folder: Path, *paths: str) -> set[str]:
    sources, _ = read_sources([str(folder / path) for path in paths])
    return {Path(source.name).resolve().relative_to(folder).as_posix() for source in sources}


def test_a_launch_brings_its_program_and_what_that_imports(folder: Path) -> None:
    wanted = {name for name in FILES if name != "unrelated.py"}
    assert names(folder, "launch/run.sh") == wanted


def test_a_program_brings_its_modules_only(folder: Path) -> None:
    found = names(folder, "train.py")
    assert found == {"train.py", "steps.py", "lib/__init__.py", "lib/two.py"}


@pytest.mark.parametrize("slashes", ["//", "/./", "///"])
def test_paths_with_doubled_slashes_bring_the_same(folder: Path, slashes: str) -> None:
    path = str(folder / "launch" / "run.sh").replace("/launch/", f"{slashes}launch{slashes}")
    sources, _ = read_sources([path])
    found = {Path(source.name).resolve().relative_to(folder).as_posix() for source in sources}
    assert found == {name for name in FILES if name != "unrelated.py"}
    assert groups_of(sources, [path]) == groups_of(sources, [str(Path(path))])


def test_a_folder_is_taken_as_it_is(folder: Path) -> None:
    assert names(folder, "launch") == {"launch/run.sh"}


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("# python old.py\npython src/train.py\n")
    _, problems = read_sources([str(path)])
    (found,) = problems
    assert (found.code, "src/train.py" in found.message) == ("CC918", True)


def test_a_file_that_was_named_is_never_left_out(tmp_path: Path) -> None:
    path = tmp_path / "hello.py"
    path.write_text("print(1)\n")
    sources, _ = read_sources([str(path)])
    assert [[member.name for member in members] for members in groups_of(sources, [str(path)])] == [
        [str(path)]
    ]
    assert groups_of(sources, []) == []


RECIPE = """
version: 1
name: a
model: {kind: custom, factory: {torch: "m:f"}}
data: {source: npz, train: a.npz, eval: b.npz}
batch: {micro_batch_size: 4}
optimizer: {name: sgd, learning_rate: 0.1}
schedule: {total_steps: 4}
"""


def test_a_recipe_that_a_program_speaks_of_does_not_stand_for_it(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "other.yaml").write_text("version: 1\nfp16: true\n")
    (tmp_path / "train.py").write_text("# see recipe.yaml and other.yaml\nimport torch\n")
    (tmp_path / "run.sh").write_text("crosscast compile recipe.yaml --to torch -o out\n")
    assert names(tmp_path, "train.py") == {"train.py", "other.yaml"}
    assert names(tmp_path, "train.py", "recipe.yaml") == {"train.py", "recipe.yaml", "other.yaml"}
    assert names(tmp_path, "run.sh") == {"run.sh", "recipe.yaml"}


def test_the_modules_that_speak_of_training_come_first(tmp_path: Path) -> None:
    """Those that are left out are counted; the files of packages cost nothing."""
    count = MAX_FILES + 10
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "__init__.py").write_text("from . import last\n")
    imports = [f"from many import m{n:02}" for n in range(count)]
    (tmp_path / "train.py").write_text("\n".join(["import many", *imports, "import torch\n"]))
    for n in range(count):
        (tmp_path / "many" / f"m{n:02}.py").write_text("lr = 1\n" if n % 2 else "x = 1\n")
    (tmp_path / "many" / "last.py").write_text("optimizer.step()\nloss.backward()\n")
    sources, problems = read_sources([str(tmp_path / "train.py")])
    found = [Path(source.name).name for source in sources]
    assert len(found) == 2 + MAX_FILES
    assert {"last.py", *(f"m{n:02}.py" for n in range(1, count, 2))} <= set(found)
    assert problems == []  # what is left says nothing of training
    for n in range(0, count, 2):
        (tmp_path / "many" / f"m{n:02}.py").write_text("lr = 2\n")
    _, (problem,) = read_sources([str(tmp_path / "train.py")])
    assert problem.code == "CC916"
    assert problem.message.startswith("11 more files that it imports")


SETTINGS = {
    "main.py": """\
import train
from ml_collections import config_flags

config_flags.DEFINE_config_file("config", "configs/small.py")
train.run(FLAGS.config)
""",
    "train.py": "import optax\ntx = optax.adamw(1e-3)\ngrads = jax.grad(loss)(params)\n",
    "configs/small.py": "from configs import base\ndef get_config():\n    return base.made()\n",
    "configs/base.py": "def made():\n    return ml_collections.ConfigDict()\n",
    "configs/large.py": "def get_config():\n    return ml_collections.ConfigDict()\n",
}


@pytest.mark.parametrize(
    ("command", "others"),
    [("", ["small", "base"]), (" --config=$(pwd)/configs/large.py:x", ["large", "small", "base"])],
)
def test_files_of_settings_that_a_flag_names_belong_to_its_program(
    tmp_path: Path, command: str, others: list[str]
) -> None:
    (tmp_path / "configs").mkdir()
    for name, text in SETTINGS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "run.sh").write_text(f"python main.py{command}\n")
    wanted = {"main.py", "train.py", "run.sh", *(f"configs/{name}.py" for name in others)}
    assert names(tmp_path, "run.sh") == wanted
    for given in ("run.sh", "."):  # the program, its settings and its command are one group
        sources, _ = read_sources([str(tmp_path / given)])
        first, *rest = groups_of(sources, [])
        assert {Path(source.name).relative_to(tmp_path).as_posix() for source in first} >= wanted
        assert not any(source.name.endswith(("main.py", "train.py")) for g in rest for source in g)

"""What the Paddle backend emits: clean files for every kind of recipe, and honest rows."""

from __future__ import annotations

import difflib
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.output import write_files
from crosscast.plan.order import verify
from crosscast.recipe.document import OpTypes, Recipe
from crosscast.targets.backend import Form, rows_of
from crosscast.targets.capability import Verdict, judge
from crosscast.targets.neutral_rows import neutral_rows
from crosscast_paddle.target import BACKEND
from crosscast_paddle.target.codes import CODES
from crosscast_paddle.target.dialects import DYGRAPH
from crosscast_paddle.target.rows import ROWS
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, emit, tiny_recipe
from frameworks.paddle_cases import CASES
from tiers import exhaustive

TESTS = Path(__file__).parents[1]

DIALECTS = ("paddle", "paddle", "paddle@dygraph2")  # an odd number: both forms of each
NONE: dict[str, Any] = {"mode": "none"}
DYNAMIC = {"mode": "dynamic", "hysteresis": 2, "max_scale": 2.0**20}
PRECISIONS: list[dict[str, Any]] = [
    {},
    {"precision": BFLOAT16},
    {"precision": FLOAT16, "loss_scaling": NONE},
    {"precision": FLOAT16},
    {"precision": FLOAT16 | {"tf32": True}, "loss_scaling": DYNAMIC},
    {"precision": FLOAT16, "loss_scaling": {"mode": "static", "scale": 1e30}},
]
CLIPPINGS: list[dict[str, Any]] = [
    {"kind": "none"},
    {"kind": "value", "max_value": 0.5},
    {"kind": "global_norm", "max_norm": 1.0},
    {"kind": "global_norm", "max_norm": 1.0, "eps": 0.0},
    {"kind": "global_norm", "max_norm": 1.0, "eps": 1e-3},
]
SGD = {"name": "sgd", "learning_rate": 0.1}
L2 = {"weight_decay": 0.1, "no_decay": ["bias", "layer_norm", "embedding"]}
ADAM = {"name": "adam", "learning_rate": 1e-3}
OPTIMIZERS: list[dict[str, Any]] = [
    SGD,
    SGD | L2,
    SGD | {"momentum": 0.9, "weight_decay": 0.1},
    SGD | L2 | {"momentum": 0.9, "nesterov": True},
    ADAM | {"weight_decay": 0.1},
    ADAM | L2,
    {"name": "adamw", "learning_rate": 1e-3},
    {"name": "adamw", "learning_rate": 1e-3, "weight_decay": 0.0},
]
SCHEDULES = [
    {"name": "constant", "total_steps": 9},
    {"name": "linear", "total_steps": 9, "warmup_steps": 9},
    {"name": "cosine", "total_steps": 9, "warmup_steps": 2, "end_lr": 1e-4, "tick": "attempt"},
]
ACCUMULATIONS = [
    {"tail": tail, "normalize_by": unit}
    for tail in ("flush_renormalized", "flush", "drop", "carry")
    for unit in ("sample", "microbatch")
]
LONG = {"kind": "custom", "factory": {"paddle": f"my_{'long_' * 14}models.bert:build"}}
MODELS = [TINY["model"], TINY["model"] | {"dropout": 0.1}, LONG]
PROCESSES = [
    {},
    {
        "distributed": {"strategy": "data_parallel", "processes_per_node": 4},
        "batch": {"micro_batch_size": 2, "global_batch_size": 16},
    },
]


LONG_NAMES = [f"bert.encoder.layer.{n}.attention.output.dense.*" for n in range(3)]
TYPES = {"pointwise": "compute", "embeddings": "compute", "losses": "compute"}
NARROW: dict[str, Any] = FLOAT16 | {"ops": {"reductions": "compute", "matmul": "float32"}}
# What shows in whole scripts only.
SCRIPTS: list[dict[str, Any]] = [
    {"activation_checkpointing": True, "ema": {"decay": 0.99}},
    {"activation_checkpointing": True, "model": MODELS[1], **PROCESSES[1]},
    {"precision": BFLOAT16 | {"ops": TYPES}, "accumulation": {"normalize_by": "token"}},
    {"precision": NARROW, "model": MODELS[1]},
    {"precision": NARROW | {"mode": "full"}, "activation_checkpointing": True},
    {
        "optimizer": OPTIMIZERS[0]
        | {"groups": [{"parameters": LONG_NAMES[:1]}, {"parameters": LONG_NAMES}]}
    },
    {"optimizer": {"name": "lion", "learning_rate": 1e-4, "groups": [{"parameters": ["*.bias"]}]}},
]


FORMS: tuple[Form, ...] = ("script", "step")


def recipes() -> Iterator[Recipe]:
    """Every precision with every clipping, optimizer and number of processes; the rest in turn."""
    rest = itertools.cycle(itertools.product(SCHEDULES, ACCUMULATIONS, MODELS))
    for precision, clipping, optimizer, processes in itertools.product(
        PRECISIONS, CLIPPINGS, OPTIMIZERS, PROCESSES
    ):
        schedule, accumulation, model = next(rest)
        yield tiny_recipe(
            **precision,
            **processes,
            clipping=clipping,
            optimizer=optimizer,
            schedule=schedule,
            accumulation=accumulation,
            model=model,
        )
    for (case, sections), processes in itertools.product(CASES.items(), PROCESSES):
        _, _, model = next(rest)
        yield tiny_recipe(**{"name": case, "model": model, **processes, **sections})
    for sections in SCRIPTS:
        yield tiny_recipe(**sections)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them compiled, as a script and as a step."""
    root = tmp_path_factory.mktemp("paddle")
    targets = itertools.cycle(DIALECTS)
    for number, recipe in enumerate(recipes()):
        about_model = recipe.activation_checkpointing or recipe.precision.ops != OpTypes()
        for form in FORMS[:1] if about_model else FORMS:
            (compiled,) = compile_recipe(recipe, [next(targets)], form=form)
            assert verify(compiled.plan) == []
            write_files(root / f"{number}-{form}", compiled.files, force=True)
    return root


def run(*command: str | Path) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


@exhaustive("more recipes; `make test` has test_emitted_style")
def test_python_files_are_what_ruff_would_write(written: Path) -> None:
    assert len(list(written.glob("*/*.py"))) > 1000
    run(sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", written)
    run(sys.executable, "-m", "ruff", "format", "--isolated", "--no-cache", "--check", written)


@exhaustive("more recipes; `make test` has test_emitted_style")
def test_no_line_is_long_or_ends_in_a_blank(written: Path) -> None:
    for path in (*written.glob("*/train.py"), *written.glob("*/step.py")):
        for line in path.read_text().splitlines():
            assert line == line.rstrip(), path
            assert len(line) <= 88 or "my_long" in line, (path, line)


@exhaustive("more recipes; `make test` has test_emitted_style")
def test_launch_scripts_are_clean(written: Path) -> None:
    by_text = {path.read_text(): path for path in written.glob("*/launch.sh")}
    assert len(by_text) > 10
    for path in by_text.values():
        assert path.stat().st_mode & 0o111
        run("bash", "-n", path)
    run(Path(sys.executable).with_name("shellcheck"), *by_text.values())


def check_flags(path: Path) -> None:
    """Every flag of launch.sh is one of the script."""
    script = path.with_name("train.py").read_text()
    flags = re.findall(r"^  (--[a-z0-9_]+)=\S+ \\$", path.read_text(), re.MULTILINE)
    assert flags
    assert re.findall(r'add\("(--[a-z0-9]+_[a-z0-9_]+)"', script) == flags


@pytest.mark.parametrize("sections", PROCESSES, ids=["one", "four"])
def test_every_flag_of_launch_sh_is_one_of_the_script(
    tmp_path: Path, sections: dict[str, Any]
) -> None:
    check_flags(emit(tiny_recipe(**sections), "paddle", tmp_path) / "launch.sh")


@exhaustive("more recipes")
def test_flags_of_more_launch_scripts(written: Path) -> None:
    for path in written.glob("*/launch.sh"):
        check_flags(path)


@exhaustive("more recipes; `make test` has test_emitted_style")
def test_files_import_nothing_of_crosscast(written: Path) -> None:
    for path in written.glob("*/*.py"):
        imported = re.findall(r"^(?:from|import) (\w+)", path.read_text(), re.MULTILINE)
        assert not [name for name in imported if name.startswith("crosscast")], path


def test_a_name_that_means_something_to_a_shell(tmp_path: Path) -> None:
    sections: dict[str, Any] = PROCESSES[1] | {"name": "a.b-c_d"}
    folder = emit(tiny_recipe(**sections), "paddle", tmp_path)
    assert "  --log_dir runs/a.b-c_d-paddle/log \\\n" in (folder / "launch.sh").read_text()


def test_rows_that_are_not_exact_have_codes_and_probes() -> None:
    codes = {code.code for code in CODES}
    assert all(re.fullmatch("CC3[458][0-9]|CC369", code) for code in codes)
    own = [row for row in ROWS if row not in neutral_rows("paddle")]
    used = {row.code for row in own if row.verdict is not Verdict.EXACT}
    assert used == codes
    for row in own:
        if row.verdict is Verdict.EXACT or row.probe.startswith("none"):
            continue
        file, _, name = row.probe.partition("::")
        assert f"def {name}(" in (TESTS / "probes" / file).read_text()


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({}, set()),
        ({"precision": BFLOAT16}, {"CC345"}),
        ({"precision": FLOAT16, "loss_scaling": NONE}, {"CC345"}),
        ({"precision": FLOAT16}, {"CC340", "CC341", "CC345", "CC348"}),
        (PRECISIONS[5], {"CC342", "CC345"}),
        ({"clipping": CLIPPINGS[2]}, {"CC352"}),
        ({"clipping": CLIPPINGS[3]}, {"CC352"}),
        ({"clipping": CLIPPINGS[1]}, set()),
    ],
)
def test_what_is_adapted(sections: dict[str, Any], expected: set[str]) -> None:
    found = {
        judgement.row for judgement in judge(tiny_recipe(**sections), rows_of(BACKEND, DYGRAPH))
    }
    assert {row.code for row in found if row.code} == expected
    assert {row.verdict for row in found} <= {Verdict.EXACT, Verdict.ADAPTED}


def refused(**sections: Any) -> list[str]:
    with pytest.raises(DiagnosticError) as caught:
        compile_recipe(tiny_recipe(**sections), ["paddle"])
    return [
        diagnostic.code for diagnostic in caught.value.diagnostics if diagnostic.severity == "error"
    ]


def test_a_custom_model_needs_a_factory() -> None:
    assert refused(model={"kind": "custom", "factory": {"torch": "a:b"}}) == ["CC305"]


@pytest.mark.parametrize("overrides", [{"amp_level": "O2"}, {"amp": "O1"}, {"amp_level": 1}])
def test_unknown_overrides_are_refused(overrides: dict[str, Any]) -> None:
    assert refused(overrides={"paddle": overrides}) == ["CC208"]


def test_the_level_is_printed(tmp_path: Path) -> None:
    recipe = tiny_recipe(precision=BFLOAT16, overrides={"paddle": {"amp_level": "O1"}})
    text = (emit(recipe, "paddle", tmp_path) / "train.py").read_text()
    assert text.count('auto_cast(state.amp, dtype="bfloat16", level="O1")') == 2


@pytest.mark.parametrize("half", [FLOAT16, BFLOAT16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("reductions", ["float32", "compute"])
def test_padding_is_hidden_by_what_the_type_holds(
    tmp_path: Path, half: dict[str, Any], reductions: str
) -> None:
    precision = half | {"ops": {"reductions": reductions, "pointwise": "compute"}}
    text = (emit(tiny_recipe(precision=precision), "paddle", tmp_path) / "model.py").read_text()
    narrow = half is FLOAT16 and reductions == "compute"
    assert text.count("* -1e4\n") == narrow
    assert text.count("* -1e9\n") == (not narrow)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("target", ["paddle", "paddle@2.6"])
def test_recomputed_dropout_needs_a_gpu_in_paddle_2(
    tmp_path: Path, target: str, dropout: float
) -> None:
    model: dict[str, Any] = TINY["model"] | {"dropout": dropout}
    recipe = tiny_recipe(model=model, activation_checkpointing=True)
    (compiled,) = compile_recipe(recipe, [target])
    needed = target == "paddle@2.6" and dropout > 0
    assert ("CC358" in {diagnostic.code for diagnostic in compiled.diagnostics}) == needed
    folder = emit(recipe, target, tmp_path)
    told = "    recomputed_dropout=True,\n" in (folder / "train.py").read_text()
    looks = "(CC358)" in (folder / "runtime" / "device.py").read_text()
    assert (told and looks) == needed


def test_processes_share_half_weights(tmp_path: Path) -> None:
    full: dict[str, Any] = {"precision": FLOAT16 | {"mode": "full"}}
    cases: tuple[tuple[dict[str, Any], Form, bool], ...] = (
        (full | PROCESSES[1], "script", True),
        (full | PROCESSES[1], "step", True),
        (full, "script", False),
        ({"precision": FLOAT16} | PROCESSES[1], "script", False),  # DataParallel does it
    )
    for index, (sections, form, shared) in enumerate(cases):
        folder = emit(tiny_recipe(**sections), "paddle", tmp_path / str(index), form=form)
        file = folder / ("step.py" if form == "step" else "train.py")
        assert ("broadcast(" in file.read_text()) == shared


def test_dialects_differ_only_where_they_must(tmp_path: Path) -> None:
    recipe = tiny_recipe(precision=FLOAT16)
    new, old = (
        (emit(recipe, target, tmp_path / target) / "train.py").read_text().splitlines()
        for target in ("paddle", "paddle@2.6")
    )
    told = "    scale = state.scaler.get_init_loss_scaling()"
    lines = [line for line in difflib.ndiff(new, old) if "training for Paddle" not in line]
    assert {sign: [line[2:] for line in lines if line[0] == sign] for sign in "-+"} == {
        "-": [
            '    made_for="Paddle 3.0 or newer",',
            "    since=(3, 0),",
            f"{told}  # the current one",
        ],
        "+": [
            '    made_for="Paddle 2.6",',
            "    since=(2, 6),",
            "    until=(3, 0),",
            f"{told} if state.amp else 1.0",
        ],
    }
    requirements = (tmp_path / "paddle@2.6" / "requirements.txt").read_text()
    assert "\npaddlepaddle>=2.6,<3\n" in requirements
    assert "\nnumpy>=1.22,<2 " in requirements

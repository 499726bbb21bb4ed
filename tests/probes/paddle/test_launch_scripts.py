"""run.sh, driving a stand-in with the flags of the real scripts, ends with what the recipe means.

No framework runs here: the scripts are old and not shipped. What their code does with the values
was read in their sources, and is written down in the small machines below.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.loss_scale import adjust, initial
from crosscast.plan.operations import UpdateScale
from launch_scripts import HALF, SCRIPTS, fitting, start, values


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_script_trains_with_what_the_recipe_says(script: str, tmp_path: Path) -> None:
    found = values(tmp_path, fitting(seed="7"), script)
    wanted = {
        "use_cuda": True,
        "do_train": True,
        "epoch": 1,
        "batch_size": 32,
        "in_tokens": False,
        "max_seq_len": 128,
        "learning_rate": 5e-5,
        "lr_scheduler": "linear_warmup_decay",
        "weight_decay": 0.01,
        "warmup_proportion": 0.1,
        "use_fp16": False,
        "random_seed": 7,
        "CUDA_VISIBLE_DEVICES": "0",
        "NVIDIA_TF32_OVERRIDE": "0",
        "PADDLE_TRAINERS_NUM": None,
        "init_checkpoint": None,
        "init_pretraining_params": None,
    }
    assert {name: found[name] for name in wanted} == wanted
    config = "ernie_config" if script == "ernie" else "bert_config"
    assert found[f"{config}_path"] == str(tmp_path / f"{config}.json")
    assert found.get("num_labels", 3) == 3
    assert found.get("task_name", "xnli") == "xnli"


def test_lark_has_a_constant_scale(tmp_path: Path) -> None:
    half = {"precision": HALF["precision"]}
    found = values(tmp_path, fitting(**half, loss_scaling="{mode: none}"), "lark")
    assert (found["use_fp16"], found["loss_scaling"]) == (True, 1.0)
    clipping = "{kind: global_norm, max_norm: 128.0, eps: 0.0}"
    scaled = fitting(**half, loss_scaling="{mode: static, scale: 128}", clipping=clipping)
    found = values(tmp_path, scaled, "lark")
    assert (found["use_fp16"], found["loss_scaling"]) == (True, 128.0)


@pytest.mark.parametrize("script", ["ernie", "models-bert"])
def test_without_scaling_the_scale_is_one_and_stays(script: str, tmp_path: Path) -> None:
    recipe = fitting(precision=HALF["precision"], loss_scaling="{mode: none}")
    found = values(tmp_path, recipe, script)
    names = ("use_fp16", "use_dynamic_loss_scaling", "init_loss_scaling")
    assert [found[name] for name in names] == [True, False, 1.0]


def test_flags_of_the_models_repository_are_what_is_built_in(tmp_path: Path) -> None:
    found = values(tmp_path, fitting(**HALF), "models-bert")
    assert found["use_dynamic_loss_scaling"] is True
    assert found["init_loss_scaling"] == 65536.0
    dead = ("incr_every_n_steps", "decr_every_n_nan_or_inf", "incr_ratio", "decr_ratio")
    assert [found[name] for name in dead] == [1000, 2, 2.0, 0.8]


def ernie_scales(found: dict[str, Any], flags: tuple[bool, ...]) -> list[float]:
    """Scales of ERNIE r2.1's own scaler: it compares its numbers with the count plus one."""
    scale, good, bad, scales = found["init_loss_scaling"], 0, 0, []
    for overflow in flags:
        scales.append(scale)
        if overflow and found["decr_every_n_nan_or_inf"] < bad + 1:
            scale, good, bad = max(scale * found["decr_ratio"], 1.0), 0, 0
        elif overflow:
            good, bad = 0, bad + 1
        elif found["incr_every_n_steps"] < good + 1:
            scale, good, bad = scale * found["incr_ratio"], 0, 0
        else:
            good, bad = good + 1, 0
    return scales


@pytest.mark.parametrize(("interval", "hysteresis"), [(1, 1), (1, 2), (2, 1), (2, 3), (3, 2)])
def test_ernie_counts_one_more(interval: int, hysteresis: int, tmp_path: Path) -> None:
    """Every pattern of overflows up to length 8 gives the scales of the reference."""
    rule = f"init_scale: 8.0, growth_interval: {interval}, hysteresis: {hysteresis}"
    recipe = fitting(precision=HALF["precision"], loss_scaling=f"{{mode: dynamic, {rule}}}")
    op = canonical_plan(recipe).find(UpdateScale)
    assert op is not None
    found = values(tmp_path, recipe, "ernie")
    unlike = 0
    for flags in itertools.product((False, True), repeat=8):
        state, wanted = initial(op), []
        for overflow in flags:
            wanted.append(state.scale)
            state = adjust(op, state, finite=not overflow)
        assert ernie_scales(found, flags) == wanted
        late = found | {"incr_every_n_steps": interval, "decr_every_n_nan_or_inf": hysteresis}
        unlike += ernie_scales(late, flags) != wanted
    assert unlike > 100  # the recipe's own numbers would be wrong


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(
    ("ratio", "total"),
    [("0.1", 1000), ("0.06", 36813), ("0.3333", 3000), ("1.0", 7), ("0.29", 100)],
)
def test_the_warm_up_is_as_long_as_the_recipe_says(
    script: str, ratio: str, total: int, tmp_path: Path
) -> None:
    shape = "name: linear, decay_from: start, tick: attempt"
    schedule = f"{{{shape}, warmup_ratio: {ratio}, total_steps: {total}}}"
    recipe = fitting(schedule=schedule)
    found = values(tmp_path, recipe, script, TRAIN_ROWS=str(32 * total))
    # As the scripts compute it.
    steps = found["epoch"] * 32 * total // found["batch_size"] // 1
    assert steps == total
    assert int(steps * found["warmup_proportion"]) == recipe.schedule.warmup_steps
    assert len(repr(found["warmup_proportion"])) <= 8


@pytest.mark.parametrize(("rows", "epochs", "steps"), [("10000", 3, 937), ("64000", 1, 2000)])
def test_epochs_are_rounded_and_told(rows: str, epochs: int, steps: int, tmp_path: Path) -> None:
    done = start(tmp_path, fitting(), "lark", TRAIN_ROWS=rows)
    assert done.returncode == 0
    assert f'"epoch": {epochs},' in done.stdout
    told = f"run.sh: {epochs} epoch(s) are {steps} steps, the recipe says 1000\n"
    assert done.stderr == told


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"TRAIN_ROWS": ""}, "set TRAIN_ROWS"),
        ({"TRAIN_ROWS": "0"}, "set TRAIN_ROWS"),
        ({"TRAIN_ROWS": "a[$(touch x)]"}, "set TRAIN_ROWS"),
        ({"TASK_NAME": "cola"}, "cola has not"),
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, "made for 1 GPU(s)"),
    ],
)
def test_what_does_not_fit_stops_before_the_script(
    variables: dict[str, str], message: str, tmp_path: Path
) -> None:
    done = start(tmp_path, fitting(), "models-bert", **variables)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("run.sh: ")
    assert message in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bert_config.json", "run.sh"]


def test_a_warm_up_that_vanishes_stops(tmp_path: Path) -> None:
    """The scripts keep the rate constant without a step of warm-up."""
    shape = "name: linear, decay_from: start, tick: attempt"
    recipe = fitting(schedule=f"{{{shape}, warmup_steps: 1, total_steps: 1000}}")
    done = start(tmp_path, recipe, "ernie", TRAIN_ROWS="30000")
    assert done.returncode == 2
    assert "without a step of warm-up" in done.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_paths_of_the_user_are_words(script: str, tmp_path: Path) -> None:
    strange = "a b'c\"$(touch x)`touch x`*;é"
    names = {
        **({"TRAIN_SET": "train_set"} if script == "ernie" else {"DATA_DIR": "data_dir"}),
        "VOCAB_PATH": "vocab_path",
        "CHECKPOINTS": "checkpoints",
        "INIT_PARAMS": "init_pretraining_params",
        "INIT_CHECKPOINT": "init_checkpoint",
        "CONFIG": "ernie_config_path" if script == "ernie" else "bert_config_path",
    }
    found = values(tmp_path, fitting(), script, **dict.fromkeys(names, strange))
    assert {found[flag] for flag in names.values()} == {strange}


def test_several_gpus_are_one_process(tmp_path: Path) -> None:
    recipe = fitting(
        batch="{micro_batch_size: 32, global_batch_size: 128}",
        distributed="{strategy: data_parallel, processes_per_node: 4}",
    )
    found = values(tmp_path, recipe, "ernie", TRAIN_ROWS="128000", PADDLE_TRAINERS_NUM="4")
    assert (found["CUDA_VISIBLE_DEVICES"], found["batch_size"]) == ("0,1,2,3", 32)
    assert (found["epoch"], found["PADDLE_TRAINERS_NUM"]) == (1, None)
    chosen = values(tmp_path, recipe, "ernie", TRAIN_ROWS="128000", CUDA_VISIBLE_DEVICES="4,5,6,7")
    assert chosen["CUDA_VISIBLE_DEVICES"] == "4,5,6,7"


def test_flags_given_to_run_sh_come_last(tmp_path: Path) -> None:
    found = values(tmp_path, fitting(), "lark", "--epoch", "9", "--save_steps", "5")
    assert (found["epoch"], found["save_steps"]) == (9, 5)

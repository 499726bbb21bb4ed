"""CM302: static programs that become the form of Paddle 3, that stay, and that are refused."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_migrate.registry import codemods_to

IMPORTS = "import paddle\nfrom paddle.static import amp\n\npaddle.enable_static()\n"
DATA = 'images = paddle.static.data("images", [8, 4])\n'
LOSS = "loss = paddle.mean(network(images))\n"
ADAM = "optimizer = paddle.optimizer.Adam(0.1)\n"
DECORATE = "optimizer = amp.decorate(optimizer, use_bf16=False)\n"
REST = "optimizer.minimize(loss)\nexecutor.run(fetch_list=[loss])\n"


def migrated(text: str, *others: Source) -> InPlaceMigration:
    found = migrate_in_place([Source("train.py", text), *others], codemods_to("paddle3"))
    assert not found.problems
    return found


def changed(text: str) -> str:
    found = migrated(text)
    assert not found.refusals, [refusal.message for refusal in found.refusals]
    again = migrated(found.texts["train.py"])
    assert not again.texts
    assert not again.refusals
    return found.texts["train.py"]


def refused(text: str, *others: Source) -> str:
    found = migrated(text, *others)
    assert not found.texts
    return " ".join(refusal.message for refusal in found.refusals)


def test_the_note_tells_that_the_scale_has_no_minimum() -> None:
    (change,) = migrated(IMPORTS + DATA + LOSS + ADAM + DECORATE + REST).changes
    assert "no minimum (the program: 1)" in change.hint


def scaling_of(text: str) -> list[str]:
    """Return the arguments of the scaler that a program is given."""
    return [
        word.strip() for word in text.partition("GradScaler(\n")[2].partition("\n)")[0].split(",\n")
    ]


OLDER = ["2.0**15", "2.0", "0.8", "1000", "2"]
NEWER = ["2.0**16", "2.0", "0.5", "2000", "1"]


@pytest.mark.parametrize(
    ("call", "values"),
    [
        ("optimizer, use_bf16=False", OLDER),
        ("optimizer=optimizer, amp_lists=None, use_pure_fp16=False", OLDER),
        ("optimizer, None, 8.0", ["8.0", *OLDER[1:]]),
        ("optimizer, None, 8.0, 5, 1, 3.0, 0.25, True", ["8.0", "3.0", "0.25", "5", "1"]),
        ("optimizer, level='O1'", NEWER),
        ("optimizer, None, 'O1', 'float16'", NEWER),
        (
            "optimizer, dtype='float16', use_dynamic_loss_scaling=None, decr_ratio=r",
            [*NEWER[:2], "r", *NEWER[3:]],
        ),
    ],
)
def test_defaults_of_the_signature_that_holds(call: str, values: list[str]) -> None:
    new = changed(f"{IMPORTS}{DATA}{LOSS}{ADAM}optimizer = amp.decorate({call})\n{REST}")
    names = ["init_loss_scaling", "incr_ratio", "decr_ratio"]
    names += ["incr_every_n_steps", "decr_every_n_nan_or_inf"]
    assert [line.rstrip(",") for line in scaling_of(new)] == [
        f"{name}={value}" for name, value in zip(names, values, strict=True)
    ]


@pytest.mark.parametrize(
    ("version", "values"), [("2.3.2", OLDER), ("2.5", NEWER), ("3.0.0", NEWER)]
)
def test_the_version_decides_where_the_call_does_not(version: str, values: list[str]) -> None:
    text = f"{IMPORTS}{DATA}{LOSS}{ADAM}optimizer = amp.decorate(optimizer)\n{REST}"
    wanted = Source("requirements.txt", f"paddlepaddle=={version}\n")
    found = migrated(text, wanted)
    assert [
        line.rpartition("=")[2].rstrip(",") for line in scaling_of(found.texts["train.py"])
    ] == values
    assert "changed in Paddle 2.5" in refused(text)


def test_a_program_in_a_function() -> None:
    before = """\
import paddle as pp


def build(rate):
    '''Builds.'''
    with pp.static.program_guard(main, startup):
        images = pp.static.data("images", [8, 4])  # é

        # twice
        for _ in range(2):
            images = block(
                images,
            )
        loss = pp.mean(images)  # mean
        accuracy = measure(images)
        optimizer = pp.static.amp.decorate(pp.optimizer.SGD(rate), None, 8.0)  # half
        _, gradients = optimizer.minimize(loss)
        return loss, optimizer.get_loss_scaling(), optimizer.get_scaled_loss()
"""
    assert (
        changed(before)
        == """\
import paddle as pp


def build(rate):
    '''Builds.'''
    with pp.static.program_guard(main, startup):
        with pp.amp.auto_cast(level="O1", dtype="float16"):
            images = pp.static.data("images", [8, 4])  # é

            # twice
            for _ in range(2):
                images = block(
                    images,
                )
            loss = pp.mean(images)  # mean
        accuracy = measure(images)
        optimizer = pp.static.amp.decorate(pp.optimizer.SGD(rate), level="O1", dtype="float16", \
master_weight=False)  # half
        scaler = pp.amp.GradScaler(
            init_loss_scaling=8.0,
            incr_ratio=2.0,
            decr_ratio=0.8,
            incr_every_n_steps=1000,
            decr_every_n_nan_or_inf=2,
        )
        _, gradients = scaler.minimize(optimizer, scaler.scale(loss))
        return loss, optimizer.get_loss_scaling(), optimizer.get_scaled_loss()
"""
    )


@pytest.mark.parametrize(
    "place", ["paddle.static.amp", "amp", "paddle.fluid.contrib.mixed_precision"]
)
@pytest.mark.parametrize("apart", [False, True])
def test_lists_of_operations_go_with_the_network(place: str, apart: bool) -> None:
    kind = "AutoMixedPrecisionLists" if "fluid" in place else "CustomOpLists"
    made = f'{place}.{kind}(custom_white_list={{"gelu"}}, custom_black_list=["softmax"])'
    lists, given = (f"# lists\nlists = {made}\n", "lists") if apart else ("", made)
    text = f"{IMPORTS}{DATA}{LOSS}{ADAM}{lists}optimizer = amp.decorate(optimizer, {given}, 8.0)\n"
    new = changed(text + REST)
    assert 'auto_cast(custom_white_list={"gelu"}, custom_black_list=["softmax"], level="O1"' in new
    assert "Lists" not in new
    assert ("# lists\n" in new) == apart


def test_another_name_where_scaler_is_taken() -> None:
    new = changed(f"{IMPORTS}scaler = 1\n{DATA}{LOSS}{ADAM}{DECORATE}{REST}")
    assert "loss_scaler.minimize(optimizer, loss_scaler.scale(loss))" in new


@pytest.mark.parametrize(
    "text",
    [
        f"{IMPORTS}{DATA}{LOSS}{ADAM}{REST}",
        # The form of Paddle 3, and a representation that was chosen.
        f"{IMPORTS}{DATA}{LOSS}{ADAM}optimizer = amp.decorate(optimizer, level='O1')\n"
        "scaler = paddle.amp.GradScaler()\nscaler.minimize(optimizer, scaler.scale(loss))\n",
        'import os\nos.environ["FLAGS_enable_pir_api"] = "0"\n'
        f"{IMPORTS}{DATA}{LOSS}{ADAM}{DECORATE}{REST}",
        # Dynamic graphs.
        "import paddle\nmodel, optimizer = paddle.amp.decorate(model, optimizer, level='O2')\n",
        "import paddle.distributed.fleet as fleet\nstrategy = fleet.DistributedStrategy()\n"
        "strategy.amp = True\nmodel = fleet.distributed_model(model)\n",
        # Others of the same name.
        f"from mine import amp\n{DATA}{LOSS}{ADAM}{DECORATE}{REST}",
        "import tensorflow as tf\noptimizer = tf.contrib.mixed_precision.decorate(optimizer)\n",
        "from paddle_helpers.static.amp import decorate\noptimizer = decorate(optimizer)\n",
        "import torch\nfrom utils.fp16 import create_master_params_grads\n"
        "create_master_params_grads(optimizer)\n",
        "def decorate(optimizer):\n    return optimizer\noptimizer = decorate(optimizer)\n",
        # Texts, comments, dead code, both ways.
        f'"""{DECORATE}"""\nimport paddle\noptimizer.minimize(loss)\n',
        f"import paddle\n# {DECORATE}optimizer.minimize(loss)\n",
        "import paddle\nif 0:\n    optimizer = paddle.static.amp.decorate(optimizer, None, 8.0)\n",
        "try:\n    from paddle.static.amp import decorate\nexcept ImportError:\n"
        "    from paddle.fluid.contrib.mixed_precision import decorate\n"
        "optimizer = decorate(optimizer)\n",
    ],
)
def test_what_needs_no_change_stays(text: str) -> None:
    found = migrated(text)
    assert not found.texts
    assert not found.refusals


@pytest.mark.parametrize(
    ("decorate", "reason"),
    [
        (
            "optimizer, init_loss_scaling=8.0, use_dynamic_loss_scaling=False, use_bf16=False",
            "a constant scale",
        ),
        ("optimizer, use_dynamic_loss_scaling=flag, use_bf16=False", "a constant scale"),
        ("optimizer, use_dynamic_loss_scaling=None, use_bf16=False", "a constant scale"),
        ("optimizer, use_pure_fp16=True", "use_pure_fp16"),
        ("optimizer, use_pure_fp16=args.pure", "use_pure_fp16"),
        ("optimizer, use_bf16=True", "bfloat16"),
        ("optimizer, dtype='bfloat16'", "bfloat16"),
        ("optimizer, level='O2'", "levels"),
        ("optimizer, level='O1', master_weight=True", "about half weights"),
        ("optimizer, level='O1', use_amp_guard=True", "use_amp_guard has no counterpart"),
        ("optimizer, use_fp16_guard=True", "use_fp16_guard"),
        ("optimizer, **settings", "are not visible"),
        ("*settings", "are not visible"),
        ("optimizer, lists, 8.0", "lists is created elsewhere"),
        ("optimizer, amp.CustomOpLists(None, None, {'x'}), 8.0", "no custom_black_varnames"),
        ("optimizer, amp.CustomOpLists(black), 8.0", "list of operations is created elsewhere"),
        ("other, None, 8.0", "the decorated optimizer"),
        ("optimizer, None, 8.0  # much\n", "comments"),
    ],
)
def test_a_call_that_has_no_counterpart(decorate: str, reason: str) -> None:
    text = f"{IMPORTS}{DATA}{LOSS}{ADAM}optimizer = amp.decorate({decorate})\n{REST}"
    assert reason in refused(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            f"{DATA}{LOSS}{ADAM}{DECORATE}{REST}other = paddle.mean(images)\n"
            "second = amp.decorate(paddle.optimizer.SGD(0.1))\nsecond.minimize(other)\n",
            "several optimizers are decorated",
        ),
        (
            f"scaler = paddle.amp.GradScaler()\nscaler.step(other)\nif half:\n    {DECORATE}{REST}",
            "data, network and loss",
        ),
        (f"{DATA}{LOSS}{ADAM}if half:\n    {DECORATE}{REST}", "is not known before the network"),
        (f"{DATA}{LOSS}{ADAM}for _ in range(2):\n    {DECORATE}{REST}", "in a loop"),
        (f"{LOSS}{ADAM}{DECORATE}{REST}", "in the same block"),
        (f"{DATA}{ADAM}{DECORATE}{REST}", "in the same block"),
        (f"{DATA}{LOSS}{ADAM}{DECORATE}{LOSS}{REST}", "changed before minimize"),
        (f"{DATA}{LOSS}{ADAM}{DECORATE}loss = loss + 1\n{REST}", "changed before minimize"),
        (f"{DATA}{LOSS}loss += 1\n{ADAM}{DECORATE}{REST}", "not created by an assignment"),
        (
            f"{DATA}{LOSS}{ADAM}{DECORATE}optimizer.minimize(paddle.mean(loss))\n",
            "other arguments than a name",
        ),
        (
            f"{DATA}{LOSS}{ADAM}{DECORATE}optimizer.minimize(loss, startup)\n",
            "other arguments than a name",
        ),
        (f"{DATA}{LOSS}{ADAM}{DECORATE}if ready:\n    {REST}", "not called exactly once"),
        (f"{DATA}{LOSS}{ADAM}{DECORATE}{REST}{REST}", "not called exactly once"),
        (f"{DATA}{LOSS}{ADAM}{DECORATE}train(optimizer)\n{REST}", "passed on"),
        (f"{DATA}{LOSS}{ADAM}{DECORATE}optimizer.backward(loss)\n{REST}", "optimizer.backward"),
        (
            f"{DATA}{LOSS}{ADAM}{DECORATE}{REST}optimizer.amp_init(place, test_program=p)\n",
            "amp_init",
        ),
        (f"{DATA}{LOSS}test = main.clone(for_test=True)\n{ADAM}{DECORATE}{REST}", "cloned"),
        (f"{DATA}{LOSS}{ADAM}{DECORATE}{REST}def other():\n    {DATA}", "other programs"),
        (f'{DATA}text = """\nx"""\n{LOSS}{ADAM}{DECORATE}{REST}', "multi-line strings"),
        (f"{DATA}{LOSS[:-1]}; step = 0\n{ADAM}{DECORATE}{REST}", "multi-line strings"),
        (f"a = 1; {DATA}{LOSS}{ADAM}{DECORATE}{REST}", "multi-line strings"),
        (
            f"{DATA}{LOSS}{ADAM}self.optimizer = amp.decorate(optimizer, None, 8.0)\n",
            "not assigned to a separate name",
        ),
        (f"scaler = loss_scaler = 1\n{DATA}{LOSS}{ADAM}{DECORATE}{REST}", "already scalers"),
    ],
)
def test_a_program_that_is_not_all_in_one_place(text: str, reason: str) -> None:
    assert reason in refused(IMPORTS + text)


@pytest.mark.parametrize("name", ["amp", "use_amp"])
def test_strategies_of_static_programs(name: str) -> None:
    text = (
        f"import paddle.distributed.fleet as fleet\n{IMPORTS}{DATA}{LOSS}{ADAM}"
        f"strategy = fleet.DistributedStrategy()\nstrategy.{name} = True\n"
        f"optimizer = fleet.distributed_optimizer(optimizer, strategy=strategy)\n{REST}"
    )
    # CM323 selects the graphs that fleet changes; with them its strategies work as in Paddle 2.
    found = migrated(text)
    assert not found.refusals
    assert found.texts["train.py"].endswith(text)
    assert "FLAGS_enable_pir_api" in found.texts["train.py"]


CHOSEN = f"half = bool(asked)\n{DATA}{LOSS}{ADAM}if half:\n    {DECORATE}{REST}"


@pytest.mark.parametrize(
    ("bound", "test", "enable"),
    [
        ("half = bool(asked)", "half", "bool(half)"),
        ("args = parse()", "args.amp", "bool(args.amp)"),
        ("config = parse()", "config['amp']", "bool(config['amp'])"),
    ],
)
def test_a_condition_that_is_known_before_the_network(bound: str, test: str, enable: str) -> None:
    text = CHOSEN.replace("half = bool(asked)", bound).replace("if half", f"if {test}")
    new = changed(IMPORTS + text)
    assert f"with paddle.amp.auto_cast({enable}, level=" in new
    assert (
        f"if {test}:\n    scaler.minimize(optimizer, scaler.scale(loss))\n"
        "else:\n    optimizer.minimize(loss)\n"
    ) in new


def test_what_minimize_returns_is_kept_in_both_branches() -> None:
    new = changed(IMPORTS + CHOSEN.replace("optimizer.minimize", "_, pairs = optimizer.minimize"))
    assert "    _, pairs = scaler.minimize(optimizer, scaler.scale(loss))\n" in new
    assert "    _, pairs = optimizer.minimize(loss)\n" in new


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("half = bool(asked)\n", "", "not known before the network"),
        ("if half", "if half and ready()", "under a computed condition"),
        ("if half", "if not half", "under a computed condition"),
        (ADAM, f"{ADAM}half = True\n", "not known before the network"),
        (f"    {DECORATE}", f"    {DECORATE}    print(optimizer)\n", "under a condition"),
        (f"    {DECORATE}", f"    print(optimizer)\n    {DECORATE}", "under a condition"),
        (f"    {DECORATE}", f"    {DECORATE}else:\n    print(optimizer)\n", "under a condition"),
        ("optimizer = amp.decorate(", "better = amp.decorate(", "better.minimize is not called"),
        ("amp.decorate(optimizer", "amp.decorate(paddle.optimizer.SGD(0.1)", "has a separate name"),
        ("optimizer.minimize(loss)", "done = [optimizer.minimize(loss)]", "part of another"),
        ("optimizer.minimize(loss)", "optimizer.minimize(\n    loss\n)", "spans several lines"),
    ],
)
def test_conditions_that_are_not_certain(old: str, new: str, why: str) -> None:
    assert old in CHOSEN
    assert why in refused(IMPORTS + CHOSEN.replace(old, new, 1))


def test_a_flag_that_is_changed_on_the_way() -> None:
    text = CHOSEN.replace("half = bool(asked)", "args = parse()").replace("if half", "if args.amp")
    text = text.replace(ADAM, f"{ADAM}args.amp = False\n")
    assert "its condition args.amp is changed" in refused(IMPORTS + text)


def test_no_import_of_fluid_is_left_for_lists_with_a_name() -> None:
    imports = "import paddle\nfrom paddle.fluid.contrib import mixed_precision\n"
    made = "lists = mixed_precision.AutoMixedPrecisionLists(custom_black_list={'softmax'})\n"
    call = "optimizer = mixed_precision.decorate(optimizer, lists)\n"
    new = changed(f"{imports}{DATA}{LOSS}{ADAM}{made}{call}{REST}")
    assert "fluid" not in new
    assert "auto_cast(custom_black_list={'softmax'}, level=" in new

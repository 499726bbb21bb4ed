"""Names of dynamic graphs: schedules in other files, modes of programs, names of 2.0 beta."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_migrate.registry import codemods_to
from unit.migrate.migrating import changed

HELPERS = """\
import paddle.fluid as fluid


def optimizer_of(net, decayed):
    rate = 0.1
    if decayed:
        rate = fluid.dygraph.ExponentialDecay(0.1, 10, 0.5)
    return fluid.optimizer.SGD(rate, parameter_list=net.parameters())
"""
TRAIN = """\
import paddle.fluid as fluid
from helpers import optimizer_of

with fluid.dygraph.guard():
    net = fluid.dygraph.Linear(4, 1)
    optimizer = optimizer_of(net, True)
    for rows in loader:
        loss = fluid.layers.mean(net(rows))
        loss.backward()
        optimizer.minimize(loss)
        net.clear_gradients()
"""
EVALUATE = """\
import paddle.fluid as fluid
from helpers import optimizer_of

with fluid.dygraph.guard():
    net = fluid.dygraph.Linear(4, 1)
    optimizer = optimizer_of(net, True)
"""


def migrated(**texts: str) -> InPlaceMigration:
    sources = [Source(f"{name}.py", text) for name, text in texts.items()]
    found = migrate_in_place(sources, codemods_to("paddle3"))
    assert not found.problems
    return found


def test_a_schedule_of_another_file_is_stepped_where_its_optimizer_minimizes() -> None:
    found = migrated(evaluate=EVALUATE, helpers=HELPERS, train=TRAIN)
    assert not found.refusals
    assert "exponential_decay_by_step(0.1, 10, 0.5)" in found.texts["helpers.py"]
    assert (
        "        optimizer.minimize(loss)\n"
        "        if isinstance(optimizer._learning_rate, paddle.optimizer.lr.LRScheduler):\n"
        "            optimizer._learning_rate.step()\n"
    ) in found.texts["train.py"]


def test_a_schedule_without_a_loop_is_refused() -> None:
    found = migrated(evaluate=EVALUATE, helpers=HELPERS)
    assert "fluid.dygraph.ExponentialDecay" in found.texts["helpers.py"]
    assert any("no optimizer minimizes" in refusal.message for refusal in found.refusals)


def test_a_dynamic_program_of_paddle_two_does_not_become_static() -> None:
    text = (
        "import paddle\n\nnet = paddle.nn.Linear(4, 1)\nloss = net(paddle.to_tensor(rows)).mean()\n"
        "loss.backward()\noptimizer.step()\noptimizer.clear_grad()\n"
        "scope = paddle.fluid.global_scope()\n"
    )
    found = migrated(train=text)
    assert "enable_static" not in found.texts["train.py"]
    assert "paddle.static.global_scope()" in found.texts["train.py"]


def test_names_of_two_beta_move_with_their_imports() -> None:
    text = (
        "import paddle\nfrom paddle.nn import Linear, MaxPool2d\n\npool = MaxPool2d(2, stride=2)\n"
        "loss = paddle.elementwise_add(x=Linear(4, 1)(rows), y=rows).mean()\n"
        "loss.backward()\noptimizer.step()\noptimizer.clear_grad()\n"
    )
    found = migrated(train=text).texts["train.py"]
    assert "from paddle.nn import Linear\n" in found
    assert "pool = paddle.nn.MaxPool2D(2, stride=2)" in found
    assert "paddle.add(x=Linear(4, 1)(rows), y=rows)" in found


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (
            "import paddle.fluid as fluid\n\n\ndef to_variable(x):\n    return x  # dygraph.guard"
            '\n\n\nx = to_variable(fluid.layers.relu(fluid.layers.data("to_variable", [4])))\n',
            "paddle.enable_static()\n",
        ),
        (
            "import paddle\n\ntotal = paddle.reduce_sum(rows, dim=1)\n",
            "total = paddle.sum(rows, axis=1)\n",
        ),
        (
            "import paddle\n\nstart = paddle.nn.initializer.MSRA(uniform=False)\n",
            "start = paddle.nn.initializer.KaimingNormal()\n",
        ),
        (
            "import paddle\n\nvalue = paddle.imperative.to_variable(rows * 2)\n",
            "value = as_tensor(rows * 2)\n",
        ),
        (
            "import paddle\n\npaddle.enable_static()\nexe = paddle.Executor(paddle.CPUPlace())\n",
            "exe = paddle.static.Executor(paddle.CPUPlace())\n",
        ),
    ],
)
def test_the_structure_of_a_program_says_what_its_names_mean(text: str, new: str) -> None:
    found = migrated(train=text)
    assert not found.refusals
    assert new in found.texts["train.py"]


def test_names_that_only_fail_when_run_are_reported() -> None:
    text = (
        "import paddle\n\npaddle.enable_static()\nx = paddle.static.data('x', [4])\n"
        "y = paddle.reduce_sum(x)\nz = paddle.static.nn.sequence_pad(x, y)\n"
        "z = paddle.static.nn.sequence_pad(x, y)\n"
    )
    found = migrated(train=text)
    assert not found.changes
    assert [refusal.message for refusal in found.refusals] == [
        "Paddle 3 does not have paddle.reduce_sum",
        "Paddle 3 does not have paddle.static.nn.sequence_pad",
    ]


LOGGED = """\
import paddle.fluid as fluid

with fluid.dygraph.guard():
    net = fluid.dygraph.Linear(4, 1)
    optimizer = fluid.optimizer.Adam(0.1, parameter_list=net.parameters())
    for rows in loader:
        loss, share = compute(net, rows)
        optimizer.minimize(loss)
        print(share.numpy()[0], optimizer.current_step_lr())
    optimizer.set_dict(states)
    other.set_dict(states)
    peak = fluid.layers.reduce_max(fluid.layers.sigmoid_cross_entropy_with_logits(rows, share))
"""


def test_what_reads_scalars_and_rates_is_told() -> None:
    found = migrated(train=LOGGED)
    notes = " ".join(change.hint for change in found.changes)
    for told in (
        "x.numpy()[0]",
        "current_step_lr()",
        "epsilon",
        "smallest",
        "at a logit",
        "set_dict",
    ):
        assert told in notes
    assert (
        "    optimizer.set_state_dict(states)\n    other.set_dict(states)\n"
        in found.texts["train.py"]
    )


def test_positional_arguments_that_changed_their_places() -> None:
    text = (
        "import paddle.fluid as fluid\n\nwith fluid.dygraph.guard():\n"
        "    loss = fluid.dygraph.NLLLoss(weights, 'sum', 3)\n"
        "    top = fluid.layers.maxout(rows, 2, None, 1)\n"
    )
    found = migrated(train=text).texts["train.py"]
    assert "paddle.nn.NLLLoss(weights, reduction='sum', ignore_index=3)" in found
    assert "paddle.nn.functional.maxout(rows, 2, name=None, axis=1)" in found


@pytest.mark.parametrize("read", ["optimizer._learning_rate.step()", "rate.step()"])
def test_a_schedule_whose_rate_is_computed_is_refused(read: str) -> None:
    text = (
        "import paddle.fluid as fluid\n\nwith fluid.dygraph.guard():\n"
        "    rate = fluid.dygraph.PolynomialDecay(0.1, 10)\n"
        "    optimizer = fluid.optimizer.SGD(rate, parameter_list=weights)\n"
        "    for loss in losses:\n"
        f"        optimizer.minimize(loss)\n        print({read}, timer.step())\n"
    )
    found = migrated(train=text)
    assert "computed its rate" in found.refusals[0].message
    assert "fluid.dygraph.PolynomialDecay(0.1, 10)" in found.texts["train.py"]
    other = migrated(train=text.replace(f"{read}, ", ""))
    assert not other.refusals


def test_what_two_beta_did_otherwise_is_written_out() -> None:
    text = (
        "import paddle\n\npool = paddle.nn.AvgPool2d(3, 2, 1)\n"
        "last = paddle.nn.AvgPool1d(3, 2, 1, count_include_pad=False)\n\n\n"
        "@paddle.imperative.no_grad\ndef evaluate(net):\n    return pool(net(rows)).mean()\n\n\n"
        "loss.backward()\noptimizer.step()\noptimizer.clear_grad()\n"
    )
    found = migrated(train=text).texts["train.py"]
    assert "pool = paddle.nn.AvgPool2D(3, 2, 1, exclusive=False)" in found
    assert "last = paddle.nn.AvgPool1D(3, 2, 1, exclusive=True)" in found
    assert "@paddle.no_grad()\ndef evaluate" in found


_ALONE = (
    "from paddle.fluid import layers\n\n\ndef both(a, b):\n    return layers.logical_and(a, b)\n"
)
_MODEL = "from paddle.fluid import dygraph\n\n\nclass Net(dygraph.Layer):\n    pass\n"
_GRAPH = "import paddle.fluid as fluid\n\nexecutor = fluid.Executor(fluid.CPUPlace())\n"


@pytest.mark.parametrize(
    ("others", "static"),
    [((_MODEL,), False), ((_GRAPH,), True), ((_MODEL, _GRAPH), True), ((), True)],
)
def test_a_file_that_nothing_imports_is_like_those_beside_it(
    others: tuple[str, ...], static: bool
) -> None:
    sources = [Source("metric.py", _ALONE)]
    sources += [Source(f"other{i}.py", text) for i, text in enumerate(others)]
    found = migrate_in_place(sources, codemods_to("paddle3"))
    assert ("enable_static" in found.texts["metric.py"]) == static


def test_fleet_of_paddle_1_is_named_where_nothing_else_does() -> None:
    text = """\
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.collective import fleet

loss = fluid.layers.mean(fluid.data("x", [None, 4]))
fleet.distributed_optimizer(fluid.optimizer.SGD(0.1)).minimize(loss)
"""
    found = migrate_in_place([Source("train.py", text)], codemods_to("paddle3"))
    assert any("incubate.fleet" in refusal.message for refusal in found.refusals)


@pytest.mark.parametrize("given", ["*pair(x)", "x, **given"])
def test_arguments_that_are_not_visible_go_to_a_function_that_takes_them(given: str) -> None:
    text = f"""
import paddle.fluid as fluid

with fluid.dygraph.guard():
    y = fluid.layers.matmul({given})
    loss.backward()
    optimizer.minimize(loss)
"""
    after = changed("CM310", text)
    assert f"y = scaled_matmul({given})" in after
    assert "def scaled_matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0" in after

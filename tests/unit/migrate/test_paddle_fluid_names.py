"""CM310 and CM312: names of paddle.fluid, imports, arguments, and half precision by hand."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from crosscast_migrate.written_code import with_needed
from crosscast_paddle.migration.experimental.codemods.paddle_hand_made_masters import (
    CODEMOD as MASTERS,
)
from crosscast_paddle.migration.experimental.paddle_names.helpers import all_helpers
from crosscast_paddle.migration.experimental.paddle_names.names import plain
from crosscast_paddle.migration.experimental.paddle_names.table import all_rows, rows_for
from unit.migrate.migrating import changed, migrate, refused, stays

HEAD = """\
import os
os.environ.setdefault("FLAGS_enable_pir_api", "0")  # the graphs of paddle.fluid, with names
import paddle
paddle.enable_static()
"""
FLUID = "import paddle.fluid as fluid\n"
PLACE = "place = fluid.CPUPlace()\n"


def moved(call: str) -> str:
    """Return what becomes of a call, without the lines before it."""
    return changed("CM310", f"{FLUID}x = {call}\n").rpartition("x = ")[2].rstrip("\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("layers.fc", "layers.fc"),
        ("layers.nn.fc", "layers.fc"),
        ("layers.learning_rate_scheduler.noam_decay", "layers.noam_decay"),
        ("framework.Program", "Program"),
        ("optimizer.AdamOptimizer", "optimizer.Adam"),
        ("optimizer.Optimizer", "optimizer.Optimizer"),
        ("initializer.MSRAInitializer", "initializer.MSRA"),
        ("regularizer.L2DecayRegularizer", "regularizer.L2Decay"),
        ("dygraph.nn.Linear", "dygraph.Linear"),
        ("core.VarDesc.VarType", "core.VarDesc.VarType"),
    ],
)
def test_aliases_have_one_form(old: str, new: str) -> None:
    assert plain(f"paddle.fluid.{old}") == new


def test_rows_are_sound() -> None:
    assert rows_for("static")
    assert rows_for("dynamic") is not None
    for row in all_rows():
        kinds = (row.new or row.helper, row.refused, row.variant)
        assert sum(map(bool, kinds)) == 1, row.old
        assert not row.helper or row.helper in all_helpers(), row.old
        needs_order = row.new_order or row.dropped or row.written or row.values
        assert not needs_order or row.order or not row.new, row.old
        assert not row.refused or "; " in row.refused, row.old


def test_functions_are_python_and_say_nothing_of_fluid() -> None:
    for name, helper in all_helpers().items():
        text = "".join(each.text for each in with_needed([name], all_helpers()))
        compile(text, name, "exec")
        assert f" {name}" in helper.text
        assert "paddle.fluid" not in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fluid.layers.concat(input=[a, b], axis=1)", "paddle.concat(x=[a, b], axis=1)"),
        ("fluid.layers.leaky_relu(a)", "paddle.nn.functional.leaky_relu(a, negative_slope=0.02)"),
        ("fluid.layers.softmax(a, True, axis=1)", "paddle.nn.functional.softmax(a, axis=1)"),
        ("fluid.layers.split(a, 2)", "paddle.split(a, 2, axis=-1)"),
        ("fluid.layers.split(a, 2, 0)", "paddle.split(a, 2, 0)"),
        ("fluid.layers.reshape(a, [1], inplace=True)", "paddle.reshape(a, [1])"),
        (
            "fluid.layers.dropout(a, 0.1, dropout_implementation='upscale_in_train')",
            'paddle.nn.functional.dropout(a, 0.1, mode="upscale_in_train")',
        ),
        (
            "fluid.layers.dropout(a, dropout_prob=p)",
            'paddle.nn.functional.dropout(a, p=p, mode="downscale_in_infer")',
        ),
        ("fluid.initializer.Normal(0.0, 0.5, 3)", "paddle.nn.initializer.Normal(0.0, 0.5)"),
        ("fluid.initializer.ConstantInitializer(0.)", "paddle.nn.initializer.Constant(0.)"),
        (
            "fluid.CompiledProgram(main).with_data_parallel(loss_name=l.name)",
            "paddle.static.CompiledProgram(main)",
        ),
        ("fluid.core.VarDesc.VarType.FP16", "paddle.base.core.VarDesc.VarType.FP16"),
        ("fluid.optimizer.SGD(0.1)", "paddle.optimizer.SGD(0.1)"),
        (
            "fluid.layers.scatter(a, b, c, None, False)",
            "paddle.scatter(a, b, c, name=None, overwrite=False)",
        ),
        (
            "fluid.optimizer.SGD(0.1, regularization=decay)",
            "paddle.optimizer.SGD(0.1, weight_decay=decay)",
        ),
    ],
)
def test_calls_and_their_arguments(old: str, new: str) -> None:
    assert moved(old) == new


@pytest.mark.parametrize(
    ("old", "new", "helper"),
    [
        ("fluid.layers.reshape(a, [1], act=act)", "fluid_reshape(a, [1], act=act)", "reshape"),
        ("fluid.layers.dropout(a, 0.1, True)", "fluid_dropout(a, 0.1, True)", "dropout"),
        ("fluid.layers.dropout(*given)", "fluid_dropout(*given)", "dropout"),
        ("fluid.optimizer.Adam(rate)", "fluid_Adam(rate)", "Adam"),
        ("fluid.layers.mean", "fluid_mean", "mean"),
    ],
)
def test_what_the_new_name_cannot_take_becomes_a_function(old: str, new: str, helper: str) -> None:
    text = changed("CM310", f"{FLUID}x = {old}\n")
    assert text.rstrip().endswith(f"x = {new}")
    assert text.count(f"def fluid_{helper}(") == 1


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("fluid.layers.dynamic_gru(a, 3)", "LoD levels"),
        ("fluid.layers.no_such_layer(a)", "no known counterpart"),
        ("fluid.layers.hard_swish(a, scale=2.0)", "scale=2.0 has no counterpart"),
        ("fluid.layers.leaky_relu", "used as a value"),
        ("fluid.layers", "no known counterpart"),
        ("fluid.optimizer.Lamb(0.1)", "another trust ratio"),
        ("fluid.DistributeTranspiler()", "no transpiler"),
    ],
)
def test_names_without_a_counterpart_stay_and_are_told(call: str, reason: str) -> None:
    found = migrate("CM310", f"{FLUID}{PLACE}x = {call}\n")
    text = found.texts["train.py"]
    assert text == f"{HEAD}place = paddle.CPUPlace()\nx = paddle.{call}\n"
    assert reason in " ".join(refusal.message for refusal in found.refusals)


def test_a_file_in_which_nothing_moves_stays() -> None:
    assert "no known counterpart" in refused("CM310", f"{FLUID}x = fluid.layers.rare(a)\n")


@pytest.mark.parametrize(
    ("imports", "use", "new"),
    [
        ("from paddle import fluid\n", "fluid.CPUPlace()", HEAD),
        ("import paddle.fluid\n", "paddle.fluid.CPUPlace()", HEAD),
        ("from paddle.fluid import CPUPlace as P\n", "P()", HEAD),
        (f"{FLUID}import paddle.fluid.core as core\n", "core.CPUPlace()", HEAD),
        ("import paddle\nimport paddle.fluid as fluid\n", "fluid.CPUPlace()", HEAD),
        (f"import os\n{FLUID}", "fluid.CPUPlace()", HEAD),
        (
            "from __future__ import division\nimport math\nfrom paddle import fluid\n",
            "fluid.CPUPlace()",
            f"from __future__ import division\nimport math\n{HEAD}",
        ),
    ],
)
def test_imports(imports: str, use: str, new: str) -> None:
    assert changed("CM310", f"{imports}place = {use}\n") == f"{new}place = paddle.CPUPlace()\n"


def test_an_import_in_a_function_goes() -> None:
    text = (
        "import math\n\n\ndef place():\n    import paddle.fluid as fluid\n"
        "    return fluid.CPUPlace()\n"
    )
    new = changed("CM310", text)
    assert new.startswith(f"{HEAD}import math\n")
    assert new.endswith("def place():\n    return paddle.CPUPlace()\n")


def test_an_unused_import_goes() -> None:
    assert changed("CM310", f"{FLUID}print(1)\n") == f"{HEAD}print(1)\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"from paddle.fluid.layers import *\n{FLUID}{PLACE}", "star import"),
        (f"{FLUID}paddle = 1\n{PLACE}", "paddle is another object"),
        (f"{FLUID}def fluid_mean(x):\n    pass\n\n\nm = fluid.layers.mean(x)\n", "another object"),
    ],
)
def test_what_is_not_certain_is_refused(text: str, reason: str) -> None:
    assert reason in refused("CM310", text)


def test_methods_of_optimizers_have_other_arguments() -> None:
    text = f"{FLUID}o = fluid.optimizer.SGD(0.1)\no.minimize(loss, parameter_list=names)\n"
    assert "o.minimize(loss, parameters=names)" in changed("CM310", text)
    other = f"{FLUID}{PLACE}own.minimize(loss, parameter_list=names)\n"
    assert "own.minimize(loss, parameter_list=names)" in changed("CM310", other)


def test_a_second_import_in_a_try_is_told() -> None:
    text = "try:\n    from paddle.fluid.core import A\nexcept ImportError:\n    A = None\n"
    assert "in a try" in refused("CM310", f"{FLUID}{text}{PLACE}")


def test_look_alikes_stay() -> None:
    stays("CM310", "import fluid\nx = fluid.layers.fc(y, 3)\n")
    stays("CM310", "import paddle\nx = paddle.static.nn.fc(y, 3)\nname = 'paddle.fluid'\n")
    stays(
        "CM310", "try:\n    import paddle.fluid as fluid\nexcept ImportError:\n    fluid = None\n"
    )


def test_a_parameter_of_the_same_name_is_no_use() -> None:
    text = (
        "from paddle.fluid.layers import relu\n\n\ndef f(relu):\n    return relu(1)\n\n\n"
        "y = relu(x)\n"
    )
    new = changed("CM310", text)
    assert "return relu(1)" in new
    assert new.endswith("y = paddle.nn.functional.relu(x)\n")


def test_every_module_of_a_program_sets_the_flag() -> None:
    found = migrate(
        "CM310", f"{FLUID}import net\n{PLACE}net.f()\n", net=f"{FLUID}f = fluid.CUDAPlace\n"
    )
    assert all(text.startswith(HEAD) for text in found.texts.values())
    assert len(found.texts) == 2


def test_copies_by_hand_across_modules() -> None:
    before = MASTERS.examples[0].before
    head, network, rest = before.partition("def network")
    network, optimization, rest = f"{network}{rest}".partition("def optimization")
    main = (
        f"{head}import net\n\n\n{optimization}{rest}optimization(net.network(args), 1, 2, 3, 4)\n"
    )
    found = migrate("CM312", main, net=f"{HEAD}\n\n{network}")
    assert "amp.decorate" in found.texts["train.py"]
    assert "fp16" not in found.texts["net.py"]
    assert not found.refusals


def test_a_loss_that_is_scaled_by_an_assignment() -> None:
    before, after = MASTERS.examples[0].before, MASTERS.examples[0].after
    scaled = before.replace("loss *= args.loss_scaling", "loss = loss * args.loss_scaling")
    assert changed("CM312", scaled) == after
    other = before.replace("loss *= args.loss_scaling", "loss = other * args.loss_scaling")
    assert "the scaled loss was not found" in refused("CM312", other)


def test_a_file_of_python_two_is_no_failure() -> None:
    found = migrate_in_place([Source("old.py", f'{FLUID}print "old"\n')], codemods_to("paddle3"))
    assert not found.problems
    assert not found.changes


WHOLE = """\
import paddle.fluid as fluid

x = fluid.data("x", [None, 8], "float32")
rows = fluid.layers.shape(x)[0]
"""


@pytest.mark.parametrize(
    "quotient", ["rows / 2", "(rows + 1) / rows", "fluid.layers.argmax(x) / 3"]
)
def test_a_quotient_of_whole_numbers_has_a_note(quotient: str) -> None:
    found = migrate("CM310", f"{WHOLE}half = {quotient}\n")
    assert f"{quotient} (line 5) is a whole number in Paddle 1" in found.changes[0].hint


@pytest.mark.parametrize(
    "quotient", ["x / 2", "rows / 2.0", "rows // 2", "9 / 2", "rows / x", "y / 2"]
)
def test_other_quotients_have_none(quotient: str) -> None:
    found = migrate("CM310", f"{WHOLE}half = {quotient}\n")
    assert "whole" not in found.changes[0].hint


PENALTY = """\
import paddle.fluid as fluid

x = fluid.data("x", [None, 4])
y = fluid.layers.fc(x, 1)
(slope,) = fluid.gradients(y, x)
loss = fluid.layers.reduce_mean(slope)
fluid.optimizer.SGD(0.1).minimize(loss)
"""


def test_gradients_that_may_be_differentiated_again_are_named() -> None:
    (refusal,) = migrate("CM310", PENALTY).refusals
    assert refusal.message.startswith("if these gradients are differentiated again")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fluid.optimizer.SGD(0.1).minimize(loss)", "exe.run(fetch_list=[loss])"),
        ("fluid.layers.fc(x, 1)", "fluid.layers.conv2d(x, 1, 3)"),
    ],
)
def test_gradients_that_are_final_or_of_other_layers(old: str, new: str) -> None:
    assert not migrate("CM310", PENALTY.replace(old, new)).refusals

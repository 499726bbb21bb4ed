"""CM310: mixed precision of dynamic graphs becomes paddle.amp, stays, or is named."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.binding.places import bind_sources
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_migrate.registry import codemods_to

LOOP = """\
with {guard}:
    loss = model(inputs)
scaled = scaler.scale(loss)
scaled.backward()
scaler.minimize(optimizer, scaled)
"""
ADDED = "init_loss_scaling=2.0**15, incr_every_n_steps=1000"


def migrated(text: str, *others: Source) -> InPlaceMigration:
    found = migrate_in_place([Source("train.py", text), *others], codemods_to("paddle3"))
    assert not found.problems
    return found


def changed(text: str) -> str:
    found = migrated(text)
    assert not found.refusals, [refusal.message for refusal in found.refusals]
    return found.texts["train.py"]


def refused(text: str, *others: Source) -> str:
    found = migrated(text, *others)
    assert not found.texts
    return " ".join(refusal.message for refusal in found.refusals)


@pytest.mark.parametrize(
    ("imports", "new_imports", "old", "new"),
    [
        ("import paddle.fluid as fluid\n", "import paddle\n", "fluid.dygraph.", "paddle.amp."),
        ("from paddle import fluid\n", "import paddle\n", "fluid.dygraph.amp.", "paddle.amp."),
        ("import paddle\n", "import paddle\n", "paddle.fluid.dygraph.", "paddle.amp."),
        ("import paddle.fluid\n", "import paddle\n", "paddle.fluid.dygraph.", "paddle.amp."),
        (
            "import paddle as pp\nimport paddle.fluid as F\n",
            "import paddle\nimport paddle as pp\n",
            "F.dygraph.",
            "paddle.amp.",
        ),
        ("import paddle.fluid.dygraph as dg\n", "import paddle\n", "dg.", "paddle.amp."),
        ("from paddle.fluid import dygraph\n", "import paddle\n", "dygraph.amp.", "paddle.amp."),
        (
            "from paddle.fluid.dygraph import AmpScaler, amp_guard\n",
            "import paddle\n",
            "",
            "paddle.amp.",
        ),
        (
            "from paddle.fluid.dygraph.amp.loss_scaler import AmpScaler\n"
            "from paddle.fluid.dygraph.amp.auto_cast import amp_guard\n",
            "import paddle\n",
            "",
            "paddle.amp.",
        ),
    ],
)
def test_every_way_to_import(imports: str, new_imports: str, old: str, new: str) -> None:
    before = f"{imports}scaler = {old}AmpScaler()\n" + LOOP.format(guard=f"{old}amp_guard()")
    after = f"{new_imports}scaler = {new}GradScaler({ADDED})\n"
    assert changed(before) == after + LOOP.format(guard=f"{new}auto_cast()")


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("", ADDED),
        ("False", f"False, {ADDED}"),
        ("True, 8.0", "True, 8.0, incr_every_n_steps=1000"),
        ("True, 8.0, 4.0, 0.25, 7", "True, 8.0, 4.0, 0.25, 7"),
        ("init_loss_scaling=(8.0)", "init_loss_scaling=(8.0), incr_every_n_steps=1000"),
        ("enable=use, ", f"enable=use, {ADDED}, "),
        ("(True)", f"(True), {ADDED}"),
        ("True,", f"True,{ADDED}"),
        (
            "\n    enable=True,  # half\n    decr_ratio=0.25,\n",
            f"\n    enable=True,  # half\n    decr_ratio=0.25, {ADDED},\n",
        ),
    ],
)
def test_defaults_that_changed_are_written(given: str, written: str) -> None:
    text = (
        "import paddle\nscaler = paddle.fluid.dygraph.AmpScaler({})\n"
        "with paddle.amp.auto_cast(use):\n    pass\n"
    )
    new = text.replace("fluid.dygraph.AmpScaler", "amp.GradScaler")
    assert changed(text.format(given)) == new.format(written)


def test_other_names_of_imports_go() -> None:
    text = "from paddle.fluid.dygraph import amp_guard as half\nwith half():\n    pass\n"
    assert changed(text) == "import paddle\nwith paddle.amp.auto_cast():\n    pass\n"


def test_an_import_that_nothing_uses_goes() -> None:
    text = "import paddle\nfrom paddle.fluid.dygraph.amp import AmpScaler\n"
    assert changed(text) == "import paddle\n"


def test_classes_and_methods() -> None:
    text = (
        "import paddle\nimport paddle.fluid as fluid  # old\n\nclass Trainer:\n"
        "    def __init__(self):\n        self.scaler = fluid.dygraph.AmpScaler()\n\n"
        "    def step(self, x):\n        with fluid.dygraph.amp_guard(self.half):\n"
        "            loss = self.model(x)\n        return self.scaler.scale(loss)\n"
    )
    new = (
        text.replace("import paddle.fluid as fluid  # old", "import paddle  # old")
        .replace("fluid.dygraph.AmpScaler()", f"paddle.amp.GradScaler({ADDED})")
        .replace("fluid.dygraph.amp_guard", "paddle.amp.auto_cast")
    )
    assert changed(text) == new


def test_what_is_left_of_fluid_is_told() -> None:
    text = (
        "import paddle.fluid as fluid\nwith fluid.dygraph.amp_guard():\n"
        "    fluid.layers.lod_rank_table(x)\n"
    )
    found = migrated(text)
    assert found.texts["train.py"] == (
        "import paddle\nwith paddle.amp.auto_cast():\n    paddle.fluid.layers.lod_rank_table(x)\n"
    )
    assert [refusal.code for refusal in found.refusals] == ["CM310"]
    assert "paddle.fluid.layers.lod_rank_table" in found.refusals[0].message


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "import paddle.fluid as fluid\nwhite = fluid.dygraph.amp.auto_cast.WHITE_LIST\n",
            "WHITE_LIST",
        ),
        (
            "from paddle.fluid.layers import lod_rank_table\ntable = lod_rank_table(x)\n",
            "layers.lod_rank_table",
        ),
    ],
)
def test_what_else_needs_fluid_is_told(text: str, name: str) -> None:
    assert name in refused(f"{text}optimizer.minimize(loss)\n")


def test_line_ends_and_letters_stay() -> None:
    text = 'import paddle\r\nname = "é"; guard = paddle.fluid.dygraph.amp_guard(True)  # ü\r\n'
    assert changed(text) == text.replace("fluid.dygraph.amp_guard", "amp.auto_cast")


@pytest.mark.parametrize(
    "text",
    [
        # The present form, and names that only look alike.
        "import paddle\nscaler = paddle.amp.GradScaler()\n"
        + LOOP.format(guard="paddle.amp.auto_cast()"),
        "import paddle\nscaler = paddle.amp.AmpScaler()\nwith paddle.amp.amp_guard():\n    pass\n",
        "from utils.amp import AmpScaler, amp_guard  # fluid\nscaler = AmpScaler()\n",
        "import torch\n\nclass AmpScaler:\n    pass\n\nfluid = AmpScaler()\n",
        "import fluid\nscaler = fluid.dygraph.AmpScaler()\n",
        "from mine.paddle import fluid\nscaler = fluid.dygraph.AmpScaler()\n",
        # Texts, comments, code that never runs.
        'import paddle\n"""scaler = paddle.fluid.dygraph.AmpScaler()"""\n',
        "import paddle\n# with fluid.dygraph.amp_guard():\ntext = 'fluid.dygraph.amp_guard()'\n",
        # Prepared for both.
        "try:\n    from paddle.amp import GradScaler, auto_cast\nexcept ImportError:\n"
        "    from paddle.fluid.dygraph import AmpScaler as GradScaler\n"
        "    from paddle.fluid.dygraph import amp_guard as auto_cast\n"
        "scaler = GradScaler()\nwith auto_cast():\n    pass\n",
        "try:\n    from paddle.fluid.dygraph import amp_guard\nexcept ImportError:\n"
        "    from paddle.amp import auto_cast as amp_guard\nwith amp_guard():\n    pass\n",
        # Part of a library that has its own fluid.
        "def fluid():\n    pass\nfluid().dygraph.amp_guard()\n",
        "scaler = None\nif scaler:\n    scaler.minimize(fluid)\n",
    ],
)
def test_what_needs_no_change_stays(text: str) -> None:
    found = migrated(text)
    assert not found.texts
    assert not found.refusals


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "scaler = paddle.fluid.dygraph.AmpScaler()\nloss = scaler.scale(loss)\n",
            "auto_cast is never entered",
        ),
        ("with paddle.fluid.dygraph.amp_guard(level='O2'):\n    pass\n", "levels other than O1"),
        ("with paddle.fluid.dygraph.amp_guard(True, None, None, level):\n    pass\n", "levels"),
        ("with paddle.fluid.dygraph.amp_guard(*given):\n    pass\n", "are not visible"),
        ("with paddle.fluid.dygraph.amp_guard(**given):\n    pass\n", "are not visible"),
        (
            "model = paddle.fluid.dygraph.amp_decorate(model, level='O2')\n",
            "select half-precision weights differently",
        ),
        ("guard = paddle.fluid.dygraph.amp_guard\n", "used as a value"),
        ("class Mine(paddle.fluid.dygraph.AmpScaler):\n    pass\n", "used as a value"),
        (
            "from paddle.fluid.dygraph import AmpScaler\nclass Mine(AmpScaler):\n    pass\n",
            "used as a value",
        ),
        (
            "from paddle.fluid.dygraph import *\nwith amp_guard():\n    pass\n",
            "a star import hides which names are used",
        ),
        (
            "scaler = paddle.fluid.dygraph.AmpScaler(\n    True,\n)\n"
            "with paddle.amp.auto_cast():\n    pass\n",
            "closed on a line of its own",
        ),
    ],
)
def test_what_is_not_certain_is_refused_with_a_reason(text: str, reason: str) -> None:
    assert reason in refused(f"import paddle\n{text}")


def test_an_argument_that_no_release_has_is_left_to_the_binder() -> None:
    text = "import paddle\nwith paddle.fluid.dygraph.amp_guard(mode='L1'):\n    pass\n"
    after = changed(text)
    [place] = bind_sources([Source("train.py", after)], "paddle3").places
    assert "auto_cast of paddle 3.3.1: it has no argument mode" in place.message


def test_auto_cast_may_be_entered_in_another_file() -> None:
    model = Source("model.py", "import paddle\nwith paddle.amp.auto_cast():\n    pass\n")
    text = "import paddle\nimport model\nscaler = paddle.fluid.dygraph.AmpScaler()\n"
    assert migrated(text, model).texts.keys() == {"train.py"}


def test_a_constant_scale_does_not_need_auto_cast() -> None:
    text = (
        "import paddle\nscaler = paddle.fluid.dygraph.AmpScaler(use_dynamic_loss_scaling=False)\n"
    )
    assert "GradScaler(use_dynamic_loss_scaling=False, init" in changed(text)

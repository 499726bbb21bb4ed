"""CM102: apex.amp as a value, casts that do not matter, statements with scaled gradients."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import all_codemods, codemods_to
from unit.migrate.apex_loops import HEAD, LOOP, START, WINDOW, code
from unit.migrate.migrating import changed, migrate, refused, stays

# apex.amp as a value


@pytest.mark.parametrize(
    ("use", "way"),
    [
        ("amp._amp_state.loss_scalers[0].loss_scale()", "read get_scale() of the GradScaler"),
        ("restore(path, amp=amp)", "pass the GradScaler"),
        ('"lists" in amp.__dict__', "by hand"),
        ("vars(amp)", "pass the GradScaler"),
    ],
)
def test_values_are_named(use: str, way: str) -> None:
    [refusal] = migrate("CM102", code() + f"print({use})\n").refusals
    assert "used here as a value" in refusal.message
    assert way in refusal.hint


def test_a_value_in_a_file_without_the_loop_is_named_when_the_loop_has_moved() -> None:
    saving = "from apex import amp\n\n\ndef save(state):\n    return hasattr(amp, 'state_dict')\n"
    train = code().replace("import torch\n", "import torch\nimport saving\n")
    sources = [Source("train.py", train), Source("saving.py", saving)]
    found = migrate_in_place(sources, codemods_to("torch.amp"))
    assert "apex" not in found.texts["train.py"]
    [refusal] = found.refusals
    assert (refusal.file, refusal.span and refusal.span.line) == ("saving.py", 5)
    assert "apex.amp is used here as a value" in refusal.message


# casts to half


@pytest.mark.parametrize(
    "function",
    [
        "def save(model):\n    torch.save([v.half() for v in model.state_dict().values()], p)\n",
        "@torch.no_grad()\ndef evaluate(model):\n    model.half()\n    model(x.half())\n"
        "    model.float()\nevaluate(model)\n",
        "class Net(torch.nn.Module):\n    def infer(self, x):\n"
        "        if x.type() == 'torch.cuda.HalfTensor':\n            x = x.half()\n",
    ],
)
def test_casts_apart_from_the_training_do_not_matter(function: str) -> None:
    assert ".half()" in changed("CM102", code() + function)


@pytest.mark.parametrize(
    "function",
    [
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        return x.half()\n",
        "@torch.no_grad()\ndef evaluate(model):\n    model(x.half())\nevaluate(model)\n",
    ],
)
def test_casts_of_the_model_or_of_inputs_of_an_evaluation_do(function: str) -> None:
    assert "casts to half explicitly" in refused("CM102", code() + function)


# gradients of micro-batches


def test_clips_of_micro_batches_are_named() -> None:
    early = "torch.nn.utils.clip_grad_value_(amp.master_params(optimizer), 1.0)"
    [refusal] = migrate("CM102", HEAD + START + WINDOW.format(early=early, late="pass")).refusals
    assert "after every backward pass, not once before the step" in refusal.message
    assert "next to the step" in refusal.hint


DELAYED = """\
for step, (inputs, targets) in enumerate(loader):
    loss = criterion(model(inputs), targets)
    late = (step + 1) % 4 != 0
    with amp.scale_loss(loss, optimizer, delay_unscale=late) as scaled_loss:
        scaled_loss.backward()
        if not late:
            # every process has the same scale here
            grads = [p.grad for p in model.parameters()]
            all_reduce(grads)
    if not late:
        torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
        optimizer.step()
"""


def test_gradients_are_exchanged_while_they_are_scaled() -> None:
    text = changed("CM102", HEAD + START + DELAYED)
    assert (
        """\
    scaler.scale(loss).backward()
    if not late:
        # every process has the same scale here
        grads = [p.grad for p in model.parameters()]
        all_reduce(grads)
    if not late:
        scaler.unscale_(optimizer)
"""
        in text
    )


@pytest.mark.parametrize(
    "line", ["optimizer.step()", "print(scaled_loss)", "amp.state_dict()", "clip(model)"]
)
def test_other_statements_of_the_block_stay(line: str) -> None:
    text = (
        HEAD + START + DELAYED.replace("            all_reduce(grads)\n", f"            {line}\n")
    )
    refused("CM102", text)


def test_a_step_without_gradients_before_the_loop_stays_as_it_is() -> None:
    text = changed("CM102", HEAD + START + "optimizer.zero_grad()\noptimizer.step()\n" + LOOP)
    assert "optimizer.zero_grad()\noptimizer.step()\nfor" in text


# other files, and imports


def test_functions_that_another_program_registers_hold_the_loop() -> None:
    sources = [
        Source("train.py", code()),
        Source(
            "layers.py",
            "from apex import amp\nfrom ours import ops\n\nnms = amp.float_function(ops.nms)\n",
        ),
    ]
    found = migrate_in_place(sources, [all_codemods()["CM102"]])
    assert not found.texts
    assert any("layers.py calls amp.float_function" in r.message for r in found.refusals)


@pytest.mark.parametrize(
    "text",
    [
        "from apex.fp16_utils import *\nx = 1\n",
        "try:\n    from apex.fp16_utils import *\nexcept ImportError:\n    pass\nx = 1\n",
        "from apex.fp16_utils import to_python_float\nx = 1\n",
    ],
)
def test_names_of_fp16_utils_that_nothing_uses_go(text: str) -> None:
    assert "apex" not in changed("CM102", text)


@pytest.mark.parametrize(
    "text",
    [
        "from apex.fp16_utils import *\nx = network_to_half(y)\n",
        "from apex.fp16_utils import *\n\ndef to_python_float(x):\n    return x\n"
        "to_python_float(y)\n",
        "if half:\n    from apex.fp16_utils import *\n",
        "from apex.other import *\n",
    ],
)
def test_star_imports_that_may_be_used_stay(text: str) -> None:
    stays("CM102", text)


@pytest.mark.parametrize("names", ["*", "to_python_float"])
def test_numbers_of_tensors_are_their_items(names: str) -> None:
    text = f"from apex.fp16_utils import {names}\nx = to_python_float(a + b)\n"
    assert changed("CM102", text) == "x = (a + b).item()\n"

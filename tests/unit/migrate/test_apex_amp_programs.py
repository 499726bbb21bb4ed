"""CM102: branches, imports, several functions and files, and programs that must stay."""

from __future__ import annotations

import pytest

from unit.migrate.apex_loops import HEAD, LOOP, START, WINDOW, code, level
from unit.migrate.migrating import changed, migrate, refused, stays

# branches

BRANCHED = """\
if args.fp16:
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for inputs, targets in loader:
    loss = criterion(model(inputs), targets)
    if args.fp16:
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
    else:
        loss.backward()
    optimizer.step()
"""


def test_a_branch_decides_about_every_part() -> None:
    text = changed("CM102", HEAD + BRANCHED)
    assert "enabled=bool(args.fp16)):\n        loss = " in text
    assert (
        """\
    if args.fp16:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()
"""
        in text
    )


def test_the_other_way_round() -> None:
    loop = """\
if not args.full:
    model, optimizer = amp.initialize(model, optimizer)
for inputs, targets in loader:
    loss = criterion(model(inputs), targets)
    if args.full:
        loss.backward()
        optimizer.step()
    else:
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()
"""
    text = changed("CM102", HEAD + loop)
    assert "enabled=not args.full):" in text
    assert "        loss.backward()\n        optimizer.step()\n    else:" in text
    assert text.endswith("        scaler.step(optimizer)\n        scaler.update()\n")


def test_a_condition_that_is_denied_twice_is_said_plainly() -> None:
    loop = """\
if args.half:
    model, optimizer = amp.initialize(model, optimizer)
for inputs, targets in loader:
    loss = criterion(model(inputs), targets)
    if not args.half:
        loss.backward()
    else:
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
"""
    text = changed("CM102", HEAD + loop)
    assert "enabled=bool(args.half)):" in text
    assert "    if args.half:\n        scaler.unscale_(optimizer)\n" in text
    assert "    if args.half:\n        scaler.step(optimizer)\n" in text


def test_a_condition_that_changes_in_the_loop_stays() -> None:
    loop = BRANCHED.replace("args.fp16", "half").replace(
        "    loss = ", "    half = inputs.is_cuda\n    loss = "
    )
    assert "half changes within the loop" in refused("CM102", HEAD + loop)


def test_a_start_without_the_condition_of_the_loss_stays() -> None:
    loop = BRANCHED.replace("if args.fp16:\n    model,", "model,", 1)
    assert "always called" in refused("CM102", HEAD + loop)


# imports


@pytest.mark.parametrize(
    "lines",
    [
        "from apex import amp",
        "import apex.amp as amp",
        "try: from apex import amp\nexcept ImportError: pass",
        "try:\n    from apex import amp\nexcept ImportError:\n    amp = None",
        "try:\n    from apex import amp\nexcept ImportError:\n    raise ImportError('apex')",
        "amp = None\ntry:\n    from apex import amp\nexcept ImportError:\n    print('no apex')",
    ],
)
def test_imports_go(lines: str) -> None:
    text = changed("CM102", code().replace("from apex import amp", lines))
    assert "apex" not in text
    assert "try" not in text


def test_a_flag_of_an_import_stays_true() -> None:
    lines = (
        "try:\n    from apex import amp\n    HAS = True\nexcept ImportError:\n    HAS = False\n"
        "if not HAS:\n    print('slow')"
    )
    text = changed("CM102", code().replace("from apex import amp", lines))
    assert "import torch\nHAS = True\nif not HAS:\n" in text


def test_tests_whether_apex_is_there_go() -> None:
    lines = "try:\n    from apex import amp\nexcept ImportError:\n    amp = None"
    more = (
        START
        + 'assert amp is not None, "no apex"\nif fast and amp is None:\n    raise ValueError\n'
    )
    text = changed("CM102", code(more).replace("from apex import amp", lines))
    assert "assert" not in text
    assert "raise" not in text


def test_other_names_of_the_import_stay() -> None:
    used = code().replace("import amp", "import amp, optimizers") + "print(optimizers)\n"
    assert "from apex import optimizers\n" in changed("CM102", used)
    text = changed("CM102", code().replace("from apex import amp", "import apex").replace("amp.", "apex.amp.") + "print(apex.parallel)\n")  # fmt: skip  # noqa: E501
    assert "import apex\n" in text


@pytest.mark.parametrize("use", ["helper(amp)", "print(amp.__dict__)", "tool.amp = amp"])
def test_amp_as_a_value_stays(use: str) -> None:
    assert "is used here as a value" in refused("CM102", code(START + f"{use}\n"))


def test_torch_is_imported_where_it_is_not() -> None:
    text = changed(
        "CM102", '"""Train."""\nfrom apex import amp\nfrom ours import *\n' + START + LOOP
    )
    assert '"""Train."""\nimport torch\n' in text


def test_an_alias_of_torch_is_used() -> None:
    text = changed("CM102", code().replace("import torch", "import torch as th"))
    assert "th.amp.GradScaler" in text
    assert "dtype=th.float16" in text


# how the scaler gets to where it is used

FUNCTION = """\
import torch
from apex import amp


def epoch(model, loader, optimizer{more}):
    for inputs, targets in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        if {test}:
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
        else:
            loss.backward()
        optimizer.step()


def main(args):
    model, optimizer = build(args)
    if args.fp16:
        model, optimizer = amp.initialize(model, optimizer, opt_level="O2")
    for _ in range(3):
        epoch(model, loader, optimizer{given})
"""


def test_a_function_gets_the_scaler_as_an_argument() -> None:
    text = changed("CM102", FUNCTION.format(more=", half", test="half", given=", args.fp16"))
    assert "def epoch(model, loader, optimizer, half, scaler):" in text
    assert "    scaler = None\n    if args.fp16:\n        scaler = torch.amp.GradScaler" in text
    assert "epoch(model, loader, optimizer, args.fp16, scaler=scaler)" in text


def test_a_parameter_behind_defaults_gets_one() -> None:
    text = changed("CM102", FUNCTION.format(more=", half=False", test="half", given=", half=True"))
    assert "half=False, scaler=None):" in text


@pytest.mark.parametrize("more", [", half, *rest", ", half, *, other=1"])
def test_signatures_that_are_left_alone(more: str) -> None:
    text = FUNCTION.format(more=more, test="half", given=", True")
    assert "the loss scaler would have to be passed here" in refused("CM102", text)


def test_a_function_that_is_reexported_stays() -> None:
    text = FUNCTION.format(more=", half", test="half", given=", True") + "\nregister(epoch)\n"
    assert "the loss scaler would have to be passed here" in refused("CM102", text)


def test_a_name_that_is_taken_is_not_used() -> None:
    text = FUNCTION.format(more=", half", test="half", given=", args.fp16")
    text = text.replace("model, optimizer = build(args)", "model, optimizer, scaler = build(args)")
    assert "grad_scaler = torch.amp.GradScaler" in changed("CM102", text)


def test_over_two_files() -> None:
    text = FUNCTION.format(more=", half", test="half", given=", args.fp16")
    first, _, second = text.partition("\n\ndef main")
    head = "import torch\nfrom apex import amp\n"
    main = f"{head}from engine import epoch\n\n\ndef main{second}"
    found = migrate("CM102", main, engine=first)
    assert len(found.changes) == 1
    assert "scaler):" in found.texts["engine.py"]
    assert "apex" not in found.texts["engine.py"] + found.texts["train.py"]
    assert "amp.initialize is not in these files" in refused("CM102", first)
    assert "no amp.scale_loss in these files" in refused("CM102", main)


CLASS = """\
import torch
from apex import amp


class Trainer:
    def __init__(self, model, optimizer, fp16):
        self.model, self.optimizer, self.fp16 = model, optimizer, fp16
        if self.fp16:
            self.model, self.optimizer = amp.initialize(self.model, self.optimizer)

    def update(self, batch):
        loss = self.model(**batch).loss
        if self.fp16:
            with amp.scale_loss(loss, self.optimizer) as scaled_loss:
                scaled_loss.backward()
        else:
            loss.backward()
        self.optimizer.step()

    def save(self):
        state = {"model": self.model.state_dict()}
        if self.fp16:
            state["amp"] = amp.state_dict()
        return state
"""


def test_a_class_keeps_the_scaler() -> None:
    text = changed("CM102", CLASS)
    assert "            self.scaler = torch.amp.GradScaler" in text
    assert "self.scaler.step(self.optimizer)" in text
    assert 'state["amp"] = self.scaler.state_dict()' in text


def test_a_state_that_is_saved_without_the_condition_is_that_of_a_disabled_scaler() -> None:
    text = changed(
        "CM102", CLASS.replace("        if self.fp16:\n            state", "        state")
    )
    assert (
        """\
        self.scaler = torch.amp.GradScaler("cuda", enabled=False)
        if self.fp16:
            self.scaler = torch.amp.GradScaler("cuda")
"""
        in text
    )


# what is not apex, or not only


@pytest.mark.parametrize(
    "line",
    [
        *("import apex", "from apex import amp", "import apex.amp as amp", "import apex.parallel"),
        *("from apex import amp, optimizers", "from apex.multi_tensor_apply import applier"),
    ],
)
def test_imports_that_nothing_needs_go(line: str) -> None:
    assert changed("CM102", f"import torch\n{line}\n\nprint(torch)\n") == (
        "import torch\n\nprint(torch)\n"
    )


OTHERS = [
    "import apex\n\nprint(apex.parallel)\n",
    "try:\n    from apex import amp\nexcept ImportError:\n    amp = None\n",
    "from apex import amp\n\n__all__ = ['amp']\n",
    "if fast:\n    import apex\n",
    "from apex import amp, optimizers\n\nprint(optimizers)\n",
    "import apex.parallel\n\nprint(apex)\n",
    "try:\n    import apex\n\n    HAS_APEX = True\nexcept ImportError:\n    HAS_APEX = False\n",
    "from ours import amp\n" + START + LOOP,
    "import torch.cuda.amp as amp\n" + LOOP,
    HEAD.replace("from apex import amp", "# from apex import amp") + "print('amp.initialize()')\n",
    "import torch\n" + '"""from apex import amp"""\n',
    "amp = object()\n" + START + LOOP,
    "def train(amp):\n    model, optimizer = amp.initialize(model, optimizer)\n",
]


@pytest.mark.parametrize("text", OTHERS)
def test_other_libraries_and_texts_stay(text: str) -> None:
    stays("CM102", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + START + "amp.register_half_function(ours, 'einsum')\n" + LOOP, "adds a function"),
        (HEAD + "handle = amp.init()\n" + LOOP, "init"),
        (HEAD + START + "model.half()\n" + LOOP, "casts to half explicitly"),
        (
            code().replace(
                "from apex import amp",
                "try:\n    from apex import amp\nexcept ImportError:\n"
                "    from torch.cuda import amp",
            ),
            "unless apex is installed",
        ),
        (
            code().replace(
                "    loss = ", "    with torch.autocast('cuda'):\n        ok = 1\n    loss = "
            ),
            "uses both torch.amp and apex",
        ),
    ],
)
def test_what_a_person_must_decide(text: str, message: str) -> None:
    assert message in refused("CM102", text)


def test_casts_that_are_disabled_are_named() -> None:
    loop = LOOP.replace(
        "    with amp.scale",
        "    with amp.disable_casts():\n        extra(inputs)\n    with amp.scale",
    )
    [refusal] = migrate("CM102", code(loop=loop)).refusals
    assert refusal.message == "amp.disable_casts is a block without half precision"
    assert 'with torch.amp.autocast("cuda", enabled=False)' in refusal.hint


def test_tabs_are_kept() -> None:
    text = changed("CM102", code(loop=LOOP.replace("    ", "\t")))
    assert '\twith torch.amp.autocast("cuda", dtype=torch.float16):\n\t\tloss = ' in text


def test_line_ends_of_windows_are_kept() -> None:
    found = migrate("CM102", code().replace("\n", "\r\n"))
    text = found.texts["train.py"]
    assert text.count("\n") == text.count("\r\n")


def test_notes_say_what_is_different() -> None:
    window = WINDOW.format(early="pass", late="scheduler.step()")
    [change] = migrate("CM102", code(loop=window)).changes
    assert "evaluation runs in float32" in change.hint
    assert "not after 2000 micro-batches" in change.hint
    [change] = migrate("CM102", level('opt_level="O2", loss_scale=128')).changes
    assert "memory use is higher" in change.hint
    assert "halves the scale permanently" in change.hint

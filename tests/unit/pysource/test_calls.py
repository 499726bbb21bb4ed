"""Arguments by name: bound by signature and version, never by guess."""

from __future__ import annotations

import pytest

from crosscast_reading.pysource.libraries import signatures
from crosscast_reading.pysource.values.value import Known, Unknown

from .conftest import Build, only


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("torch.cuda.amp.autocast(False)", {"enabled": False}),
        (
            "torch.amp.autocast('cpu', None, False)",
            {"device_type": "cpu", "dtype": None, "enabled": False},
        ),
        ("torch.cuda.amp.GradScaler(4.0)", {"init_scale": 4.0}),
        ("torch.amp.GradScaler('cuda', 4.0)", {"device": "cuda", "init_scale": 4.0}),
        ("torch.nn.utils.clip_grad_norm_(p, 1.0, 2)", {"max_norm": 1.0, "norm_type": 2}),
        (
            "torch.optim.Adam(p, 0.1, (0.9, 0.99), 1e-6)",
            {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-6},
        ),
        ("torch.optim.Adam(p, **dict(lr=0.1))", {"lr": 0.1}),
        ("torch.optim.Adam(p, **{'lr': 0.1, 'eps': 2})", {"lr": 0.1, "eps": 2}),
        ("torch.optim.Adam(*[p, 0.1])", {"lr": 0.1}),
        ("unknown_function(1, 2, lr=0.1)", {"lr": 0.1}),
        (
            "apex.optimizers.FusedAdam(p, 0.1, True, (0.9, 0.99), 1e-6, True)",
            {"lr": 0.1, "eps": 1e-6},
        ),
    ],
)
def test_bound(build: Build, text: str, bound: dict[str, object]) -> None:
    call = build(f"import torch, apex\n{text}\n").modules[0].calls[0]
    for name, value in bound.items():
        assert call.argument(name) == Known(value), call.bound()
    assert "adam_w_mode" not in call.bound()
    assert not call.has_star


def test_what_may_be_in_starred_arguments_is_unknown(build: Build) -> None:
    call = only(build("import torch\ntorch.optim.Adam(p, **options)\n"), "Adam")
    assert call.has_star
    assert isinstance(call.argument("lr"), Unknown)
    assert "lr" not in call.bound()


def test_what_may_stand_in_a_place_that_changed_is_unknown(build: Build) -> None:
    text = "import keras\nkeras.optimizers.SGD(0.1, 0.9, True)\n"
    call = next(iter(build(text).calls("keras.optimizers.SGD")))
    found = call.argument("nesterov")
    assert isinstance(found, Unknown)
    assert "differs between versions" in found.reason
    assert call.argument("momentum") == Known(0.9)


def test_a_missing_argument_is_the_default_given(build: Build) -> None:
    call = only(build("import torch\ntorch.optim.Adam(p)\n"), "Adam")
    assert call.argument("lr") is None
    assert call.argument("lr", Known(0.001)) == Known(0.001)


def test_partial_arguments_are_bound(build: Build) -> None:
    text = """
        import torch
        from functools import partial
        make = partial(torch.optim.SGD, momentum=0.9)
        o = make(p, 0.1)
        """
    call = next(c for c in build(text).calls("torch.optim.SGD"))
    assert call.argument("momentum") == Known(0.9)
    assert call.argument("lr") == Known(0.1)


def test_a_partial_of_a_partial_goes_on_where_it_ends(build: Build) -> None:
    text = """
        import torch
        from functools import partial
        of_weights = partial(torch.optim.SGD, p)
        make = partial(of_weights, 0.1)
        o = make(0.9)
        """
    call = next(c for c in build(text).calls("torch.optim.SGD"))
    assert call.argument("lr") == Known(0.1)
    assert call.argument("momentum") == Known(0.9)


def test_versions_decide_the_order(build: Build) -> None:
    text = "import tensorflow as tf\ntf.keras.mixed_precision.LossScaleOptimizer(o, 8)\n"
    for version, name in (("2.10", "dynamic"), ("2.17", "initial_scale")):
        call = build(text, versions={"tensorflow": version}).modules[0].calls[0]
        assert call.argument(name) == Known(8)
        assert call.version == version
    unsaid = build(text).modules[0].calls[0]
    assert set(unsaid.bound()) == {"inner_optimizer"}


def test_the_two_overloads_of_paddle(build: Build) -> None:
    text = "import paddle\npaddle.static.amp.decorate(o, lists, 128.0, level='O1')\n"
    call = build(text).modules[0].calls[0]
    assert set(call.bound()) == {"optimizer", "amp_lists", "level"}
    old = build(text, versions={"paddlepaddle": "2.4"}).modules[0].calls[0]
    assert old.argument("init_loss_scaling") == Known(128.0)


def test_functions_and_classes_of_the_program(build: Build) -> None:
    program = build(
        """
        from dataclasses import dataclass
        @dataclass
        class Config:
            lr: float = 0.1
            steps: int = 3
        class Loop:
            def __init__(self, config, n=2): pass
            def run(self, times): pass
            @staticmethod
            def once(a, b): pass
        Loop(Config(0.5), 4).run(7)
        Loop.once(1, 2)
        """
    )
    assert only(program, "Config").argument("lr") == Known(0.5)
    assert only(program, "Loop").argument("n") == Known(4)
    assert only(program, "run").argument("times") == Known(7)
    assert only(program, "once").argument("b") == Known(2)


def test_dead_calls_are_not_listed(build: Build) -> None:
    program = build(
        '''
        """f()"""
        if False:
            f()
        if 0 and debug:
            f()
        if not True:
            f()
        else:
            g()
        def h():
            return 1
            f()
        for x in y:
            continue
            f()
        def i():
            if x:
                return 1
            else:
                raise f
            f()
        # f()
        "f()"
        if True:
            g()
        else:
            f()
        '''
    )
    assert [c.method for c in program.calls()] == ["g", "g"]
    module = program.modules[0]
    assert module.is_dead(next(iter(module.dead)))


def test_calls_are_in_the_order_of_the_text(build: Build) -> None:
    program = build("@deco(1)\ndef f(x=first()):\n  second()\nthird(fourth())\n")
    assert [c.method for c in program.calls()] == ["deco", "first", "second", "third", "fourth"]


def test_places_and_texts(build: Build) -> None:
    program = build('x = "é"; f(a,\n      b)\n')
    call = only(program, "f")
    span = program.modules[0].span(call.node)
    assert (span.file, span.line, span.column, span.end_column) == ("main.py", 1, 10, None)
    assert span.text == 'x = "é"; f(a,'
    assert program.modules[0].text(call.node) == "f(a, b)"
    assert program.modules[0].span(call.node.args[0]).end_column == 13


def test_every_signature_is_well_formed() -> None:
    for name, rows in signatures.table().items():
        windows = [("", "", rows)] if isinstance(rows, str) else rows
        for since, until, text in windows:
            words = [w for w in text.split() if w != "*"]
            assert len(words) == len(set(words)), name
            assert all(w.isidentifier() for w in words), name
            assert not since or not until or signatures.release(since) < signatures.release(until)


def test_releases() -> None:
    assert signatures.release("2.4.1+cu121") == (2, 4, 1)
    assert signatures.release("2.0.0rc1") == (2, 0, 0)
    assert signatures.release("main") == ()

"""Objects that are made only under a switch, and used without it (CL521)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from reading_helpers.lint_results import codes

MADE = "clip = paddle.nn.ClipGradByGlobalNorm(1.0)"
USE = "optimizer = paddle.optimizer.SGD(0.1, weights, grad_clip=clip)"


@pytest.mark.parametrize(
    ("before", "behind", "found"),
    [
        (f"if args.clip: {MADE}", USE, True),
        (f"if args.clip > 0: {MADE}", USE, True),
        (f"if args.clip is not None: {MADE}", USE, True),
        (f"if settings['clip']: {MADE}", USE, True),
        (f"if settings['clip']: {MADE}", f"for part in parts: {USE}", True),
        (f"if args.clip: {MADE}", f"print(args)\nif args.clip: {USE}", False),
        (f"if args.clip: {MADE}", f"if args.kind == 'sgd': {USE}", False),
        (f"if args.clip: {MADE}", f"if a:\n    {USE}\nelif b:\n    {USE}", True),
        (f"if args.clip: {MADE}", f"if a:\n    {USE}\nelif b:\n    print(a)", False),
        (f"if args.clip: {MADE}", f"print(args.clip and clip)\n{USE}", True),
        (f"if args.clip: {MADE}", "print(args.clip and clip)", False),
        (f"if args.clip: {MADE}", "print(clip if args.clip else 0)", False),
        (f"if args.clip: {MADE}", f"try:\n    {USE}\nexcept NameError: pass", False),
        (f"if args.clip: {MADE}", f"def make():\n    {USE}\n", False),
        (f"if args.clip: {MADE}\nelse: clip = None", USE, False),
        (f"clip = None\nif args.clip: {MADE}", USE, False),
        (f"if args.clip: {MADE}", f"clip = 3\n{USE}", False),
        (f"if args.clip: {MADE}", f"if not args.clip: raise SystemExit\n{USE}", False),
        (f"if args.clip: {MADE}", f"if not args.clip: sys.exit()\n{USE}", False),
        (f"if args.clip: {MADE}", f"assert args.clip\n{USE}", False),
        (f"if args.kind == 'norm': {MADE}", USE, False),
        (f"if paddle.is_compiled_with_cuda(): {MADE}", USE, False),
        (f"if args.clip: {MADE}", "globals()['clip'] = 3\n" + USE, False),
        (f"if a:\n    if args.clip: {MADE}", USE, False),
        (f"if a:\n    if args.clip: {MADE}\n    {USE}", "pass", True),
        (f"if args.clip: {MADE}\n{USE.replace('clip=clip', 'clip=limit')}", "pass", False),
        ("if args.clip: clip = make()", USE, False),
        (f"if args.clip: {MADE}", f"for epoch in range(args.epochs):\n    {USE}", True),
        (f"if args.clip: {MADE}", f"for epoch in range(args.clip):\n    {USE}", False),
        (f"if args.clip: {MADE}", f"while step < args.clip:\n    {USE}", False),
        (f"if args.clip: {MADE}", f"while True:\n    {USE}", True),
        (f"if args.clip: {MADE}", f"n = args.clip * 2\nfor _ in range(n):\n    {USE}", False),
        (f"if args.clip: {MADE}", f"n = 3\nfor _ in range(n):\n    {USE}", True),
        (f"p = []\nif args.clip: p.append(1)\nif args.clip: {MADE}", f"for _ in p: {USE}", False),
        (f"if args.clip: {MADE}", f"for _ in plan(args): {USE}", False),
        (f"if args.clip: {MADE}", f"match args:\n    case Plan(): {USE}", False),
        (f"if not args.clip: parser.error('no')\nif args.clip: {MADE}", USE, False),
        (f"args.clip or parser.error('no')\nif args.clip: {MADE}", USE, False),
        (f"if args.clip: {MADE}", f"if args.evaluate: sys.exit()\n{USE}", False),
        (f"if args.clip: {MADE}", f"if broken: sys.exit()\n{USE}", True),
        (f"if args.clip: {MADE}", f"for _ in parts:\n    if args.a: break\n{USE}", True),
        (f"def stop(): raise SystemExit\ndef a(): stop()\na()\nif args.clip: {MADE}", USE, False),
        (f"def show(): print(1)\nshow()\nif args.clip: {MADE}", USE, True),
        (f"def look(args): show(args)\nlook(args)\nif args.clip: {MADE}", USE, False),
        (f"check(args)\nif args.clip: {MADE}", USE, False),
        (f"print(args)\nif args.clip: {MADE}", USE, True),
    ],
)
def test_names_of_one_branch(before: str, behind: str, found: bool) -> None:
    text = f"import paddle\nimport sys\n{before}\n{behind}\n"
    assert ("CL521" in codes(text)) is found


def test_parameters_of_functions() -> None:
    text = f"import paddle\ndef build(weights, {{}}):\n    if clips: {MADE}\n    {USE}\n"
    assert "CL521" in codes(text.format("clips"))
    assert "CL521" not in codes(text.format("rate"))


@pytest.mark.parametrize(
    ("module", "found"),
    [
        ("def build(): pass\n", True),
        ("__all__ = ['build']\nfrom more import *\n", True),
        ("__all__ = ['build', 'clip']\n", False),
        ("clip = 3\n", False),
        ("from more import *\n", False),
        (None, False),
    ],
)
def test_names_that_a_star_may_bring(module: str | None, found: bool) -> None:
    text = f"import paddle\nfrom parts import *\nif args.clip: {MADE}\n{USE}\n"
    sources = [Source("train.py", text)]
    sources += [Source("parts.py", module)] if module is not None else []
    assert ("CL521" in {result.code for result in lint_sources(sources)}) is found


def test_what_callers_ask_before() -> None:
    text = f"import paddle\ndef main(args):\n    if args.clip: {MADE}\n    {USE}\n{{}}\n"
    assert "CL521" in codes(text.format("main(args)"))
    assert "CL521" not in codes(text.format("if args.clip: main(args)"))
    assert "CL521" not in codes(text.format("if not args.clip: raise ValueError\nmain(args)"))

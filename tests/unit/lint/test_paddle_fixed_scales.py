"""Optimizers of static Paddle programs whose loss scale stays at 1 (CL805)."""

from __future__ import annotations

import pytest

from reading_helpers.lint_results import codes

STATIC = """
import paddle.fluid as fluid

def wrap(config, optimizer):
    scale = config.get("scale", {scale})
    if config.get("use_fp16", False):
        optimizer = fluid.contrib.mixed_precision.decorate(
            optimizer, {arguments})
    return optimizer

wrap(read(), fluid.optimizer.SGD(0.1)).minimize(loss)
"""
USUAL = "init_loss_scaling=scale, use_dynamic_loss_scaling=config.get('dynamic', False)"


@pytest.mark.parametrize(
    ("scale", "arguments", "found"),
    [
        ("1.0", USUAL, True),
        ("1", USUAL, True),
        ("8.0", "init_loss_scaling=1.0, use_dynamic_loss_scaling=False", True),
        ("128.0", USUAL, False),
        ("1.0", USUAL.replace("False", "True"), False),
        ("1.0", "init_loss_scaling=scale", False),
        ("1.0", "use_dynamic_loss_scaling=False", False),
        ("1.0", f"{USUAL}, use_bf16=True", False),
        ("1.0", "init_loss_scaling=config['scale'], use_dynamic_loss_scaling=False", False),
    ],
)
def test_scales_that_stay_at_one(scale: str, arguments: str, found: bool) -> None:
    text = STATIC.format(scale=scale, arguments=arguments)
    assert ("CL805" in codes(text)) is found
    modern = text.replace("fluid.contrib.mixed_precision", "paddle.static.amp")
    modern = modern.replace("import paddle.fluid", "import paddle\nimport paddle.fluid")
    assert ("CL805" in codes(modern)) is found
    assert "CL805" not in codes(text.replace("fluid.contrib.mixed_precision", "ours"))

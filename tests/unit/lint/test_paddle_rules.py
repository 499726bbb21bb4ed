"""Rules about Paddle: what they find beside their examples, and what they leave."""

from __future__ import annotations

import textwrap

import pytest

from crosscast.messages.source import Source
from crosscast_paddle.answers.amp import AMP
from crosscast_paddle.rules.paddle.paddle_merge_alone import RULE as MERGE_ALONE
from crosscast_reading.lint.engine import lint_sources


def codes(text: str) -> list[str]:
    """Return the codes of Paddle that are found."""
    found = lint_sources([Source("train.py", textwrap.dedent(text))])
    return sorted({diagnostic.code for diagnostic in found if diagnostic.code.startswith("CL8")})


def test_the_usual_loop_is_right() -> None:
    assert codes(AMP) == []


TWO = AMP.replace("    scaler.step(optimizer)\n", "    scaler.step(optimizer)\n    {}\n")


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("scaler.step(other)", ["CL801"]),
        ("scaler.step(*others)", []),
        ("scaler.step([other])", []),
        ("other_scaler.step(other)", []),
        ("scaler.step(optimizer)", []),
        ("other.step()", []),
    ],
)
def test_shared_scalers(second: str, expected: list[str]) -> None:
    text = TWO.format(second).replace(
        "scaler = ", "other_scaler = paddle.amp.GradScaler(True, 64)\nscaler = "
    )
    assert codes(text) == expected


def test_two_branches_share_no_scaler() -> None:
    text = AMP.replace(
        "    scaler.step(optimizer)\n",
        "    if first:\n        scaler.step(optimizer)\n    else:\n        scaler.step(other)\n",
    )
    assert codes(text) == []


EVALUATION = "    with paddle.amp.auto_cast({}):\n        evaluate(model)\n"


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("dtype='bfloat16'", ["CL802"]),
        ("dtype='float16'", []),
        ("dtype=args.kind", []),
        ("enable=False", []),
    ],
)
def test_types_of_the_process(argument: str, expected: list[str]) -> None:
    assert codes(AMP + EVALUATION.format(argument)) == expected


@pytest.mark.parametrize(
    ("place", "expected"), [("'cpu'", ["CL802"]), ("'gpu'", []), ("args.device", [])]
)
def test_scalers_on_processors(place: str, expected: list[str]) -> None:
    text = AMP.replace("import paddle\n", f"import paddle\npaddle.set_device({place})\n", 1)
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "if paddle.is_compiled_with_cuda():\n    f()\nelse:\n    paddle.set_device('cpu')\n",
            "",
            [],
        ),
        ("def export():\n    paddle.set_device('cpu')\n", "export()\n", []),
        ("paddle.set_device('cpu')\nload()\npaddle.set_device('gpu')\n", "", []),
        ("device = 'cpu' if options.cpu else 'gpu'\npaddle.set_device(device)\n", "", []),
        ("paddle.device.set_device('cpu')\n", "", ["CL802"]),
        ("if __name__ == '__main__':\n    paddle.set_device('cpu')\n", "", ["CL802"]),
    ],
)
def test_processors_of_something_else(before: str, after: str, expected: list[str]) -> None:
    text = AMP.replace("import paddle\n", f"import paddle\n{before}", 1) + after
    assert codes(text) == expected


def test_the_processor_of_the_function_that_trains() -> None:
    body = AMP.replace("import paddle\n", "paddle.set_device('cpu')\n", 1).replace("\n", "\n    ")
    assert codes(f"import paddle\ndef train(loader):\n    {body}\n") == ["CL802"]


def test_scaled_before_it_is_cast() -> None:
    text = """
        import paddle
        scaler = paddle.amp.GradScaler()
        optimizer = paddle.optimizer.SGD(0.1)
        for x in loader:
            scaled = scaler.scale(model(x))
            with paddle.amp.auto_cast():
                other = model(x)
            scaled.backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad()
    """
    assert codes(text) == ["CL803"]


REGION = """\
    with paddle.amp.auto_cast():
        loss = paddle.nn.functional.mse_loss(model(inputs), targets)
"""
BARE = "    loss = paddle.nn.functional.mse_loss(model(inputs), targets)\n"


def test_one_without_the_other() -> None:
    assert codes(AMP.replace(REGION, BARE)) == ["CL804"]
    helper = "from ours import auto_cast_region\n"
    assert codes(helper + AMP.replace(REGION, BARE)) == []
    decorated = "model = paddle.amp.decorate(model, level='O2')\nfor "
    assert codes(AMP.replace(REGION, BARE).replace("for ", decorated, 1)) == []


PLAIN = """
import paddle
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for x in loader:
    with paddle.amp.auto_cast({cast}):
        loss = model(x)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("cast", "expected"),
    [("", ["CL804"]), ("dtype='bfloat16'", []), ("enable=args.amp", []), ("enable=False", [])],
)
def test_float16_without_a_scaler(cast: str, expected: list[str]) -> None:
    assert codes(PLAIN.format(cast=cast)) == expected


IN_HELPER = """
import paddle
class Experiment:
    def train(self, loader):
        optimizer = paddle.optimizer.Adam(parameters=self.model.parameters())
        for x, y in loader:
            loss = self.criterion(self.{train}(x), y)
            # scaler.scale(loss).backward()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    def run(self, x):
        {test}:
            with paddle.amp.auto_cast():
                return self.model(x)
        return self.model(x)
"""


@pytest.mark.parametrize(
    ("train", "test", "more", "expected"),
    [
        ("run", "if self.args.use_amp", "", ["CL804"]),
        ("run", "if self.args.fp16 and self.args.gpu", "", ["CL804"]),
        ("model", "if self.args.use_amp", "", []),
        ("run", "if not self.args.use_amp", "", []),
        ("run", "if self.args.debug", "", []),
        ("run", "if x.amplitude() > amp_limit(x)", "", []),
        ("run", "if self.args.use_amp", "scaler = make_scaler()", []),
        ("run", "if self.args.use_amp", "rows = StandardScaler().fit(rows)", ["CL804"]),
        ("run", "if self.args.use_amp and not self.training", "", []),
    ],
)
def test_float16_in_a_helper(train: str, test: str, more: str, expected: list[str]) -> None:
    assert codes(IN_HELPER.format(train=train, test=test) + more) == expected


CALL = """
import paddle.fluid as fluid
from ours import optimization
optimizer = optimization(loss, warmup_steps=10, learning_rate=0.1, {})
optimizer.minimize(loss)
"""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("use_fp16=True, loss_scaling=1.0", ["CL805"]),
        ("use_fp16=True, loss_scaling=128.0", []),
        ("use_fp16=True, loss_scaling=1.0, **others", []),
        ("use_fp16=False, loss_scaling=1.0", []),
        ("use_fp16=args.use_fp16, loss_scaling=1.0", []),
        ("use_fp16=True, init_loss_scaling=1.0, use_dynamic_loss_scaling=True", []),
        ("use_fp16=True, init_loss_scaling=1.0, use_dynamic_loss_scaling=False", ["CL805"]),
    ],
)
def test_half_precision_without_a_scale(arguments: str, expected: list[str]) -> None:
    assert codes(CALL.format(arguments)) == expected


FILTER = """
import paddle
KEYS = ["bias", "LayerNorm"]
GENERATED = ["b_0", "layer_norm"]
decayed = {{p.name for n, p in model.named_parameters() if "bias" not in n}}
optimizer = paddle.optimizer.AdamW(
    0.1, parameters=model.parameters(), weight_decay=0.01, apply_decay_param_fun={})
"""


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ('lambda n: "bias" not in n', ["CL806"]),
        ("lambda n: not any(k in n for k in KEYS)", ["CL806"]),
        ("lambda n: not any(k in n for k in GENERATED)", []),
        ("lambda n: n in decayed", []),
        ('lambda n: ".b_0" not in n', []),
        ('lambda n: not ("bias" in n or "norm" in n)', []),
    ],
)
def test_filters_of_the_decay(function: str, expected: list[str]) -> None:
    assert codes(FILTER.format(function)) == expected


def test_names_of_a_programs_own() -> None:
    text = FILTER.format('lambda n: "bias" not in n')
    assert codes(f"{text}attr = paddle.ParamAttr(name='fc_bias')\n") == []


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("paddle.nn.ClipGradByNorm(1.0)", ["CL807"]),
        ("paddle.fluid.clip.GradientClipByNorm(clip_norm=1.0)", ["CL807"]),
        ("paddle.nn.ClipGradByGlobalNorm(1.0)", []),
        ("ours.ClipGradByNorm(1.0)", []),
    ],
)
def test_clips_of_single_tensors(call: str, expected: list[str]) -> None:
    text = f"import paddle, ours\nopt = paddle.optimizer.SGD(0.1, grad_clip={call})\nopt.step()\n"
    assert codes(text) == expected


MERGE = "if fleet.worker_num() > 1:\n"
"""The condition of the wrong example."""


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("if fleet.worker_num() > 1:\n", ["CL808"]),
        ("if paddle.distributed.get_world_size() >= 2:\n", ["CL808"]),
        ("if fleet.worker_num() != 1:\n", ["CL808"]),
        ("workers = fleet.worker_num()\nif workers > 1:\n", ["CL808"]),
        ("if fleet.worker_num() == 1:\n    print()\nelse:\n", ["CL808"]),
        ("if args.merge_steps > 1 and fleet.worker_num() > 1:\n", ["CL808"]),
        ("if args.distributed:\n", ["CL808"]),
        ("if not args.distributed:\n    print()\nelse:\n", ["CL808"]),
        # one worker is not what is asked about, or gets it too
        ("if args.merge_steps > 1:\n", []),
        ("if fleet.worker_num() > 8:\n", []),
        ("if fleet.worker_num() >= 1:\n", []),
        ("if fleet.worker_num() == 1:\n", []),
        ("if args.num_workers > 1:\n", []),
        ("if args.merge_steps > 1 or fleet.worker_num() > 1:\n", []),
        ("if fleet.worker_num() == 1:\n    raise SystemExit('at least two')\nelse:\n", []),
    ],
)
def test_gradient_merge_for_several(condition: str, expected: list[str]) -> None:
    assert MERGE in MERGE_ALONE.wrong
    assert codes(MERGE_ALONE.wrong.replace(MERGE, condition)) == expected


def test_gradient_merge_behind_a_function() -> None:
    head, _, rest = MERGE_ALONE.wrong.partition(MERGE)
    branch, _, end = rest.partition("optimizer.minimize")
    text = (
        f"{head}\ndef spread(optimizer):\n{branch}    return optimizer\n\n"
        f"if fleet.worker_num() > 1:\n    optimizer = spread(optimizer)\noptimizer.minimize{end}"
    )
    assert codes(text) == ["CL808"]
    assert codes(text.replace("fleet.worker_num() > 1", "args.merge_steps > 1")) == []
    assert codes(text.replace("args.merge_steps > 1\n", "False\n")) == []


def test_gradient_merge_for_one_worker_by_another_way() -> None:
    other = "else:\n    optimizer = GradientMergeOptimizer(optimizer, args.merge_steps)\n"
    text = MERGE_ALONE.wrong.replace("optimizer.minimize", other + "optimizer.minimize")
    assert codes(text) == []
    # nothing is trained alone
    inner = MERGE_ALONE.wrong.replace("optimizer.minimize", "    optimizer.minimize")
    assert codes(inner) == []


HELPER = """
    import paddle

    class Scaled:
        def __init__(self):
            self.scaler = paddle.amp.GradScaler()

        def __call__(self, loss, optimizer):
            {first}
            self.scaler.scale({what}).backward()
            self.scaler.step(optimizer)
            self.scaler.update()
"""


@pytest.mark.parametrize(
    ("first", "what", "expected"),
    [("pass", "loss", []), ("other = criterion(model(x))", "other", ["CL804"])],
)
def test_a_loss_that_another_file_computes(first: str, what: str, expected: list[str]) -> None:
    assert codes(HELPER.format(first=first, what=what)) == expected


SPLIT = """
import paddle
from paddle.distributed import fleet

paddle.enable_static()
loss = build_program()
windows = {length}
strategy = fleet.DistributedStrategy()
if {test}:
    print("one card")
else:
    strategy.pipeline_configs = {{"accumulate_steps": windows, "micro_batch_size": 2}}
optimizer = paddle.optimizer.AdamW(learning_rate=1e-4)
optimizer = fleet.distributed_optimizer(optimizer, strategy)
optimizer.minimize(loss)
"""


@pytest.mark.parametrize(
    ("length", "test", "expected"),
    [
        ("args.global_batch // 2", "args.num_mp == 1 and args.num_pp == 1", ["CL808"]),
        ("args.global_batch // 2", "args.num_mp == 1 and args.stages == 4", []),
        ("args.accumulate", "args.num_mp == 1 and args.num_pp == 1", []),
        ("args.global_batch // 2", "args.no_pipeline", []),
    ],
)
def test_windows_of_a_split_model(length: str, test: str, expected: list[str]) -> None:
    assert codes(SPLIT.format(length=length, test=test)) == expected


BESIDE = """
import paddle
{decorator}
def {name}(model, loader):
    for x, y in loader:
        {first}
        with paddle.amp.auto_cast():
            out = model(x)
    return out
def train(model, loader, optimizer):
    for epoch in range(3):
        for x, y in loader:
            loss = paddle.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        shown = {name}(model, loader)
train(model, loader, optimizer)
{name}(model, loader)
"""


@pytest.mark.parametrize(
    ("decorator", "name", "first"),
    [
        ("", "evaluate", "pass"),
        ("@paddle.no_grad()", "show", "pass"),
        ("", "show", "model.eval()"),
        ("", "show", "pass"),
    ],
)
def test_float16_beside_the_training(decorator: str, name: str, first: str) -> None:
    assert codes(BESIDE.format(decorator=decorator, name=name, first=first)) == []

"""Rules about names that do not exist, and ranks that mean something else."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.registry import find_rule
from reading_helpers.lint_results import codes, swap

LOOP = find_rule("CL708").right


@pytest.mark.parametrize(
    ("made", "call", "found"),
    [
        ("torch.optim.AdamW(w)", "it.zero_grads()", True),
        ("torch.cuda.amp.GradScaler()", "it.unscale_gradients_(o)", True),
        ("torch.cuda.amp.GradScaler()", "it.udpate()", True),
        ("torch.optim.SGD(w)", "it.step()", False),
        ("torch.optim.SGD(w)", "it.share_memory()", False),
        ("torch.optim.SGD(w)", "it.register_step_post_hook(f)", False),
        ("torch.optim.SGD(w)", "it._steps()", False),
        ("torch.optim.lr_scheduler.StepLR(o, 3)", "it.steps()", False),
        ("build(w)", "it.zero_grads()", False),
        ("Own(torch.optim.SGD(w))", "it.zero_grads()", False),
        ("torch.optim.SGD(w) if plain else build(w)", "it.zero_grads()", False),
    ],
)
def test_methods_of_objects_of_torch(made: str, call: str, found: bool) -> None:
    text = f"import torch\nit = {made}\nloss.backward()\n{call}\n"
    assert ("CL508" in codes(text)) is found


@pytest.mark.parametrize(
    ("head", "made", "found"),
    [
        ("import paddle.fluid as fluid", "fluid.optimizer.Adam(0.1)", True),
        ("import paddle", "paddle.optimizer.SGD(0.1)", True),
        ("import paddle", "paddle.optimizer.lr.StepDecay(0.1, 3)", False),
        ("import tensorflow as tf", "tf.train.AdamOptimizer(0.1)", True),
        ("import tensorflow as tf", "tf.compat.v1.train.AdamOptimizer(0.1)", True),
        ("import keras", "keras.optimizers.Adam(0.1)", True),
        ("import keras", "keras.optimizers.schedules.CosineDecay(0.1, 3)", False),
        (
            "import tensorflow as tf",
            "tf.train.experimental.enable_mixed_precision_graph_rewrite(other)",
            True,
        ),
        ("import scipy", "scipy.optimize.Adam(0.1)", False),
    ],
)
def test_a_misspelt_minimize(head: str, made: str, found: bool) -> None:
    text = f"{head}\noptimizer = {made}\noptimizer.miminize(loss)\n"
    assert ("CL508" in codes(text)) is found
    assert "CL508" not in codes(text.replace("miminize", "minimize"))


@pytest.mark.parametrize(
    ("made", "line", "found"),
    [
        ("paddle.optimizer.Adam(0.1)", "it.add_param_group({'params': w})", True),
        ("paddle.optimizer.Adam(0.1)", "for group in it.param_groups: group['lr'] = 0.2", True),
        (
            "paddle.optimizer.Adam(0.1) if plain else paddle.optimizer.SGD(0.1)",
            "print(it.param_groups)",
            True,
        ),
        ("paddle.optimizer.Adam(0.1) if plain else build(0.1)", "print(it.param_groups)", True),
        (
            "paddle.optimizer.Adam(0.1) if plain else build(0.1)",
            "if not plain: print(it.param_groups)",
            False,
        ),
        (
            "paddle.optimizer.Adam(0.1) if plain else build(0.1)",
            "def show():\n    if plain: return\n    print(it.param_groups)\nshow()",
            False,
        ),
        (
            "paddle.optimizer.Adam(0.1) if plain else build(0.1)",
            "if plain: raise SystemExit\nprint(it.param_groups)",
            False,
        ),
        (
            "paddle.optimizer.Adam(0.1) if plain else build(0.1)",
            "if not math.isfinite(loss): raise SystemExit\nprint(it.param_groups)",
            True,
        ),
        ("build(0.2) if plain else build(0.1)", "print(it.param_groups)", False),
        ("paddle.optimizer.Adam(0.1)", "it._param_groups[0]['momentum'] = 0.9", False),
        ("paddle.optimizer.Adam(0.1)", "it.param_groups = []; print(it.param_groups)", False),
        ("Own(0.1)", "print(it.param_groups)", False),
        ("torch.optim.Adam(w)", "print(it.param_groups)", False),
        ("paddle.optimizer.Adam(0.1)", "hasattr(it, 'param_groups')", False),
    ],
)
def test_attributes_of_pytorch_alone(made: str, line: str, found: bool) -> None:
    text = f"import paddle\nimport torch\nfrom own import Own\nit = {made}\n{line}\n"
    assert ("CL508" in codes(text)) is found


def test_attributes_that_may_be_missing() -> None:
    text = "import paddle\nit = paddle.optimizer.SGD(0.1)\n"
    tried = "try:\n    print(it.param_groups)\nexcept AttributeError:\n    pass\n"
    assert "CL508" not in codes(text + tried)


GIVEN = """\
import paddle

def one_epoch(optimizer):
    for group in optimizer.param_groups:
        group["lr"] = 0.1

def main(kind):
    if kind == "adam":
        optimizer = paddle.optimizer.Adam(0.1)
    elif kind == "own":
        optimizer = build(0.1)
    {call}

if __name__ == "__main__":
    main(asked())
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [("one_epoch(optimizer)", True), ("if kind == 'own': one_epoch(optimizer)", False)],
)
def test_attributes_of_one_of_several_optimizers(call: str, found: bool) -> None:
    assert ("CL508" in codes(GIVEN.format(call=call))) is found


KERAS = swap(LOOP, ("import tensorflow as tf\n", "HEAD\nimport tensorflow as tf\n"))


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("# Training with TensorFlow 2.18", True),
        ('"""Runs with tensorflow>=2.16."""', True),
        ("import keras\nnoise = keras.ops.ones(3)", False),  # tf.keras may be another
        ("# Training with TensorFlow 2.15", False),
        ("# TensorFlow 2.4 to TensorFlow 2.18", False),
        ('"""Trains a network.\n\nIt needs tensorflow==2.17.\n"""', True),
        ("# Does not run with TensorFlow 2.16", False),
        ('"""Trains a network.\n\nDoesn\'t run with tensorflow>=2.16.\n"""', False),
        ("# Trains a network. TensorFlow 2.16 and later have another scaler.", False),
        ("# Works until TensorFlow 2.16", False),
        ('# TensorFlow 2.18\nimport os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"', False),
        ("", False),
    ],
)
def test_methods_of_keras_2(head: str, found: bool) -> None:
    text = KERAS.replace("HEAD", head)
    assert ("CL508" in codes(text)) is found


def test_the_scaler_of_keras_3() -> None:
    of_3 = swap(KERAS.replace("HEAD", ""), ("mixed_precision.LossScale", "optimizers.LossScale"))
    assert "CL508" in codes(of_3)


def test_methods_of_both_generations_of_keras() -> None:
    text = KERAS.replace("HEAD", "# TensorFlow 2.18")
    old = "        scaled = optimizer.get_scaled_loss(loss)\n"
    both = (
        '        if hasattr(optimizer, "get_scaled_loss"):\n'
        "            scaled = optimizer.get_scaled_loss(loss)\n"
        "        else:\n            scaled = optimizer.scale_loss(loss)\n"
    )
    assert "CL508" not in codes(swap(text, (old, both)))
    tried = f"        try:\n    {old}        except AttributeError:\n            scaled = loss\n"
    assert "CL508" not in codes(swap(text, (old, tried)))


RANKS = """\
import os

import torch
import torch.distributed as dist


def worker(local_rank, args):
    {before}
    dist.init_process_group("nccl", world_size={size}, rank={rank})
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def main(args):
    args.world_size = args.nodes * args.gpus
    args.plain_size = args.gpus
    torch.multiprocessing.spawn(worker, nprocs=args.gpus, args=(args,))
"""
WORLD = 'int(os.environ["WORLD_SIZE"])'


@pytest.mark.parametrize(
    ("before", "size", "rank", "found"),
    [
        ("pass", "args.world_size", "local_rank", True),
        ("pass", "args.num_nodes * 8", "local_rank", True),
        ("pass", WORLD, "args.local_rank", True),
        ("pass", WORLD, 'int(os.environ["LOCAL_RANK"])', True),
        ("args.rank = args.local_rank", WORLD, "args.rank", True),
        ("rank = local_rank", "args.world_size", "rank", True),
        ("rank = args.node * args.gpus + local_rank", "args.world_size", "rank", False),
        ("local_rank = int(os.environ['RANK'])", WORLD, "local_rank", False),
        ("pass", WORLD, 'int(os.environ["RANK"])', False),
        ("pass", "args.plain_size", "local_rank", False),
        ("pass", "torch.cuda.device_count()", "local_rank", False),
        ("pass", "args.world_size", "args.rank", False),
        ("pass", "args.size", "local_rank", False),
        ("pass", "2 * args.gpus", "local_rank", True),  # the spawn starts half of them
    ],
)
def test_ranks(before: str, size: str, rank: str, found: bool) -> None:
    text = RANKS.replace("{before}", before).replace("{size}", size).replace("{rank}", rank)
    assert ("CL607" in codes(text)) is found


STARTED = """\
import os

import torch
import torch.distributed as dist


def worker(rank, options, size, place):
    dist.init_process_group("gloo", f"file://{place}", rank=rank, world_size=options.processes)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def main():
    options = parser.parse_args()
    options.processes = int(os.environ.get("WORLD_SIZE", options.processes))
    options.here = options.processes // options.nodes
    size = options.processes
    torch.multiprocessing.spawn(worker, (options, size, "store"), options.processes)
"""
SIZE, NUMBER = "world_size=options.processes", '"store"), options.processes)'


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ((), False),
        (((SIZE, "world_size=size"),), False),
        ((('f"file://{place}"', '"tcp://127.0.0.1:29500"'),), False),
        (((NUMBER, '"store"), size)'),), False),
        (((NUMBER, '"store"), options.here)'),), True),
        (((NUMBER, '"store"), torch.cuda.device_count())'),), True),
        (((NUMBER, '"store"), 2)'), (SIZE, "world_size=2 * options.nodes")), True),
        (((SIZE, "world_size=options.processes * options.nodes"),), True),
    ],
)
def test_ranks_of_processes_that_are_all_started_here(
    changes: tuple[tuple[str, str], ...], found: bool
) -> None:
    assert ("CL607" in codes(swap(STARTED, *changes))) is found


def test_a_group_without_a_rank() -> None:
    text = RANKS.replace("{before}", "pass").replace("{size}", "args.world_size")
    assert "CL607" not in codes(swap(text, (", rank={rank}", "")))

"""Data parallelism, activation checkpointing and the rest of a PyTorch run."""

from __future__ import annotations

import pytest

from crosscast_torch.reading.checkpointing import READER as CHECKPOINTING
from crosscast_torch.reading.parallel import READER
from crosscast_torch.reading.run import READER as RUN
from torch_programs import STEP, facts_of, read_by

FLAGS = """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--backend", default="nccl")
parser.add_argument("--gradient_checkpointing", action="store_true")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--max_seq_length", type=int, default=128)
args = parser.parse_args()
"""


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("torch.nn.parallel.DistributedDataParallel(model)", "ddp"),
        ("torch.nn.DataParallel(model)", "dp"),
        ("apex.parallel.DistributedDataParallel(model)", "apex_ddp"),
        ("torch.distributed.fsdp.FullyShardedDataParallel(model)", "fsdp"),
        ("torch.distributed.fsdp.fully_shard(model)", "fsdp"),
        ("horovod.torch.DistributedOptimizer(optimizer)", "horovod"),
    ],
)
def test_kinds(call: str, kind: str) -> None:
    text = f"import {call.partition('(')[0].rpartition('.')[0]}\nmodel = {call}\n"
    assert read_by(READER, text + STEP)["parallel.kind"] == (kind,)


def test_two_ways_in_one_program() -> None:
    text = (
        "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        "torch.distributed.init_process_group(backend='nccl')\n"
        "if local_rank != -1:\n    model = DDP(model)\nelif n > 1:\n"
        "    model = torch.nn.DataParallel(model)\n"
    )
    found = read_by(READER, text + STEP)
    assert found["parallel.kind"] == ("ddp", "dp")
    assert found["parallel.backend"] == "nccl"


@pytest.mark.parametrize(
    ("argument", "word"),
    [
        ("args.backend", "flag"),
        ("'gloo'", "gloo"),
        ("'nccl' if torch.cuda.is_available() else 'gloo'", "nccl"),
    ],
)
def test_backends(argument: str, word: str) -> None:
    text = FLAGS + f"torch.distributed.init_process_group({argument})\n"
    assert read_by(READER, text + STEP)["parallel.backend"] == word


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nif isinstance(model, torch.nn.DataParallel):\n    model = model.module\n",
        "# model = torch.nn.DataParallel(model)\n",
        "from torch.nn.parallel import DistributedDataParallel\n",
        "import torch\nif 0:\n    model = torch.nn.DataParallel(model)\n",
    ],
)
def test_what_is_not_parallel(text: str) -> None:
    assert "parallel.kind" not in read_by(READER, text + STEP)


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("model.gradient_checkpointing_enable()\n", "yes"),
        ("if args.gradient_checkpointing:\n    model.gradient_checkpointing_enable()\n", "flag"),
        ("model.set_grad_checkpointing(enable=args.gradient_checkpointing)\n", "flag"),
        ("model.config.gradient_checkpointing = True\n", "yes"),
        ("from torch.utils.checkpoint import checkpoint\nout = checkpoint(model, x)\n", "yes"),
        ("model = Net(use_checkpoint=True)\n", "yes"),
        ("model = Net(gradient_checkpointing=args.gradient_checkpointing)\n", "flag"),
        ("print(args)\n", "flag"),
    ],
)
def test_activation_checkpointing(code: str, word: str) -> None:
    found = read_by(CHECKPOINTING, FLAGS + code + STEP)
    assert found["activation_checkpointing"] == word


@pytest.mark.parametrize(
    "code",
    [
        "checkpoint = torch.load(path)\n",
        "parser.add_argument('--use_checkpoint', help='file to load')\n",
        "from torch.utils.checkpoint import checkpoint\n",
        "model = Net(use_checkpoint=False)\n",
        "model = Net(use_checkpoint='weights.pt')\n",
        "save_checkpoint(model)\n",
    ],
)
def test_checkpoints_of_other_kinds(code: str) -> None:
    text = "import torch\nimport argparse\nparser = argparse.ArgumentParser()\n" + code
    assert read_by(CHECKPOINTING, text + STEP) == {}


def test_the_rest_of_a_run() -> None:
    text = FLAGS + (
        "torch.manual_seed(7)\ntorch.backends.cuda.matmul.allow_tf32 = True\n"
        "from torch.utils.data import DataLoader\n"
        "eval_loader = DataLoader(test_set, batch_size=64)\n"
        "loader = DataLoader([*rows], batch_size=8)\n"
        "for epoch in range(args.epochs):\n"
    )
    found = read_by(RUN, text + STEP.replace("\n", "\n    "))
    assert found == {
        "framework": "pytorch",
        "batch.micro_batch_size": 8,
        "batch.drop_last": "no",
        "data.shuffle": "no",
        "seed": 7,
        "run.epochs": 3,
        "data.sequence_length": 128,
        "precision.tf32": "yes",
    }


def test_pytorch_by_its_words() -> None:
    text = "def fit(model, loader, optimizer):\n" + STEP.replace("\n", "\n    ")
    assert read_by(RUN, text)["framework"] == "pytorch"
    assert facts_of(RUN, "import tensorflow as tf\nprint(tf)\n") == []


@pytest.mark.parametrize(
    ("call", "size"),
    [
        ("mp.spawn(worker, nprocs=4, args=(args,))", 4),
        ("mp.spawn(worker, (args,), 2)", 2),
        ("mp.spawn(worker, nprocs=torch.cuda.device_count())", "?"),
        ("mp.start_processes(worker, nprocs=8)", 8),
        ("mp.spawn(worker, args=(args,))", None),
        ("pool.spawn(worker, nprocs=4)", None),
        ("mp.Pool(4)", None),
    ],
)
def test_processes_that_the_program_spawns(call: str, size: object) -> None:
    text = FLAGS + f"import torch.multiprocessing as mp\n{call}\n"
    assert read_by(READER, text + STEP).get("parallel.world_size") == size


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("from utils.sharding import FSDP\nmodel = FSDP(model, auto_wrap_policy=policy)\n", True),
        ("from utils import setup_fsdp\nmodel = setup_fsdp(model, args)\n", True),
        ("from utils import fsdp_main\nresult = fsdp_main(args)\n", False),
        ("from utils import save_fsdp\nstate = save_fsdp(model)\n", False),
        ("fsdp_config = FSDPConfig(model)\n", False),
    ],
)
def test_sharding_in_wrappers_of_other_files(text: str, kind: bool) -> None:
    found = read_by(READER, FLAGS + text + STEP).get("parallel.kind")
    assert found == (("fsdp",) if kind else None)

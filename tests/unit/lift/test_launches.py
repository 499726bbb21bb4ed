"""Launches: processes that train apart, switches of programs that were not given."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import Lifted, lift

SCRIPT = """\
import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
compiled = torch.compile(model)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(compiled(x), y).backward()
    optimizer.step()
model.eval()
"""
LAUNCH = "torchrun --nproc_per_node 8 train.py\n"


def lifted(launch: str, script: str = "", **more: str) -> Lifted:
    sources = [Source("run.sh", launch)]
    if script:
        sources.insert(0, Source("train.py", script))
    sources += [Source(f"{name}.py", text) for name, text in more.items()]
    return lift(analyse(sources))


def warned(found: Lifted) -> str:
    return " ".join(
        diagnostic.message for diagnostic in found.diagnostics if diagnostic.code == "CC934"
    )


def with_first(line: str) -> str:
    return f"{line}\n{SCRIPT}"


@pytest.mark.parametrize(
    ("launch", "script"),
    [
        (LAUNCH, SCRIPT),
        ("python -m torch.distributed.launch --nproc_per_node=8 train.py\n", SCRIPT),
        ("accelerate launch --num_processes 8 train.py\n", SCRIPT),
        (
            LAUNCH,
            with_first(
                "import torch.distributed as dist\nimport os\ndist.init_process_group('nccl')\n"
                "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))"
            ),
        ),
        (LAUNCH, with_first("import torch\ntorch.distributed.init_process_group()")),
    ],
)
def test_processes_whose_gradients_nothing_joins_are_a_warning(launch: str, script: str) -> None:
    found = lifted(launch, script)
    assert "8 processes" in warned(found)
    assert "all of the data" in warned(found)
    assert found.fields["distributed.strategy"].value == "none"


def test_a_sampler_gives_each_process_its_part() -> None:
    sampler = "from torch.utils.data import DistributedSampler\nsampler = DistributedSampler(data)"
    assert "its own part of the data" in warned(lifted(LAUNCH, with_first(sampler)))


@pytest.mark.parametrize(
    "line",
    [
        "model = nn.parallel.DistributedDataParallel(model)",
        "from torch.nn.parallel import DistributedDataParallel as DDP\nmodel = DDP(model)",
        "from torch.distributed.fsdp import fully_shard\nfully_shard(model)",
        "import torch.distributed as dist\ndist.all_reduce(model.weight.grad)",
        "from accelerate import Accelerator\nmodel = Accelerator().prepare(model)",
        "import horovod.torch as hvd",
        "import deepspeed",
        "import lightning as L",
        "from transformers import Trainer",
        "from transformers import (\n    AutoModel,\n    Trainer,\n)",
        "import transformers as hf\nhf.Trainer(model).train()",
        "import somebodys_wrappers",
        "from .wrapping import wrap",
        "from helper import wrap\nmodel = wrap(model)",
        "import importlib\nimportlib.import_module(name).wrap(model)",
    ],
)
def test_what_may_join_them_is_no_warning(line: str) -> None:
    found = lifted(LAUNCH, with_first(line))
    assert not warned(found)
    assert found.fields["distributed.strategy"].value == "data_parallel"


def test_helpers_count_if_they_were_given() -> None:
    script = with_first("from helper import build\nbuild()")
    plain = "from torch import nn\n\n\ndef build():\n    return nn.Linear(4, 2)\n"
    wraps = "from torch import nn\n\n\ndef build(m):\n    return nn.parallel.DDP(m)\n"
    assert warned(lifted(LAUNCH, script, helper=plain))
    assert not warned(lifted(LAUNCH, script, helper=wraps))


@pytest.mark.parametrize(
    ("launch", "script"),
    [
        ("torchrun --nproc_per_node 1 train.py\n", SCRIPT),
        ("torchrun --nproc_per_node 8 other.py\n", SCRIPT),
        ("torchrun --nproc_per_node 8 train.py\n", ""),
        ("python train.py\n", SCRIPT),
        (LAUNCH, "import torch\nprint(torch.randn(4))\n"),
        ("srun -n 8 python train.py\n", SCRIPT),
    ],
)
def test_other_launches_and_programs_are_no_warning(launch: str, script: str) -> None:
    assert not warned(lifted(launch, script))


@pytest.mark.parametrize(
    ("flag", "enabled", "dtype"),
    [
        ("--use_fp16=true", "always", "float16"),
        ("--use_fp16 True", "always", "float16"),
        ("--fp16", "always", "float16"),
        ("--use-bf16", "always", "bfloat16"),
        ("--amp", "always", None),
        ("--use_fp16=false", "never", "float32"),
        ("--use_fp16=$HALF", None, None),
        ("--lr_fp16=1", None, None),
        ("--no_fp16", None, None),
    ],
)
def test_switches_of_a_program_that_was_not_given(
    flag: str, enabled: str | None, dtype: str | None
) -> None:
    settled = analyse([Source("run.sh", f"python fit.py --rate 0.1 {flag}\n")]).settled
    for name, wanted in (("enabled", enabled), ("compute_dtype", dtype)):
        found = settled.get((f"precision.{name}", ""))
        assert (found.fact.value if found else None) == wanted
        assert found is None or (found.fact.confidence, found.fact.layer) == ("likely", "launcher")


def test_a_program_that_was_given_says_what_its_switches_do() -> None:
    found = lifted("python train.py --use_fp16=true\n", SCRIPT)
    assert found.fields["precision.mode"].value == "none"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("python ours/evaluate.py data --beam=5 --fp16", False),
        ("python generate.py --fp16 --len 20", False),
        ("python evaluate.py --fp16 --lr 0.1", True),
        ("python evaluate_and_train.py --fp16", True),
        ("python demo_finetune.py --fp16", True),
        ("python demo_tuning.py --fp16", True),
        ("python demo_retune.py --fp16", True),
        ("python demo_video.py --fp16", False),
        ("python evaluate.py\npython fit.py --fp16", True),
    ],
)
def test_switches_of_a_program_that_evaluates(command: str, told: bool) -> None:
    settled = analyse([Source("run.sh", f"{command}\n")]).settled
    assert (("precision.enabled", "") in settled) is told


def test_processes_of_a_machine_times_machines_are_both_read() -> None:
    found = lifted(
        "",
        "import torch\n"
        "import torch.distributed as dist\n"
        "import torch.multiprocessing as mp\n"
        "gpus, machines = 8, 2\n"
        "def train(gpu):\n"
        "    dist.init_process_group('nccl', rank=gpu, world_size=gpus * machines)\n"
        "    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    for inputs, labels in loader:\n"
        "        optimizer.zero_grad()\n"
        "        torch.nn.functional.cross_entropy(model(inputs), labels).backward()\n"
        "        optimizer.step()\n"
        "mp.spawn(train, nprocs=gpus)\n",
    )
    fields = found.fields
    assert fields["distributed.processes_per_node"].value == 8
    assert fields["distributed.nodes"].value == 2

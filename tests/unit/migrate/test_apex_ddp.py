"""CM104: data parallelism of apex."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from unit.migrate.apex_loops import code
from unit.migrate.migrating import changed, migrate, refused, stays

HEAD = "import torch\nfrom apex.parallel import DistributedDataParallel as DDP\n\n"
NEW = "torch.nn.parallel.DistributedDataParallel"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("DDP(model)", f"{NEW}(model, broadcast_buffers=False)"),
        ("DDP(model, delay_allreduce=True)", f"{NEW}(model, broadcast_buffers=False)"),
        ("DDP(module=model)", f"{NEW}(module=model, broadcast_buffers=False)"),
        ("DDP(model, gradient_average=True)", f"{NEW}(model, broadcast_buffers=False)"),
        ("isinstance(model, DDP)", f"isinstance(model, {NEW})"),
    ],
)
def test_data_parallelism_of_torch(before: str, after: str) -> None:
    assert changed("CM104", f"{HEAD}model = {before}\n") == f"import torch\n\nmodel = {after}\n"


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("torch.cuda.set_device(args.local_rank)", "device_ids=[args.local_rank], "),
        ("torch.cuda.set_device(rank)", "device_ids=[rank], "),
        ("torch.cuda.set_device(rank % torch.cuda.device_count())", ""),
        ("torch.cuda.set_device(device)", ""),
        ("set_device(rank)", ""),
    ],
)
def test_the_device_is_named_where_it_is_known(line: str, device: str) -> None:
    text = changed("CM104", f"{HEAD}{line}\nmodel = DDP(model)\n")
    assert text.endswith(f"model = {NEW}(model, {device}broadcast_buffers=False)\n")


def test_a_device_of_another_function_is_not_named() -> None:
    text = f"{HEAD}def setup(rank):\n    torch.cuda.set_device(rank)\n\nmodel = DDP(model)\n"
    assert "device_ids" not in changed("CM104", text)


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("DDP(model, gradient_average=False)", "gradient_average"),
        ("DDP(model, allreduce_always_fp32=True)", "allreduce_always_fp32"),
        ("DDP(model, gradient_predivide_factor=8)", "gradient_predivide_factor"),
        ("DDP(model, delay_allreduce=args.delay)", "delay_allreduce"),
        ("DDP(model, 1e7)", "not all arguments"),
        ("DDP(**options)", "not all arguments"),
    ],
)
def test_what_has_no_exact_form(before: str, message: str) -> None:
    assert message in refused("CM104", f"{HEAD}model = {before}\n")


def test_batch_norm() -> None:
    head = "import torch\nimport apex\n"
    text = changed("CM104", f"{head}m = apex.parallel.convert_syncbn_model(m, process_group=g)\n")
    assert "m = torch.nn.SyncBatchNorm.convert_sync_batchnorm(m, process_group=g)\n" in text
    assert "channel_last" in refused(
        "CM104", f"{head}m = apex.parallel.convert_syncbn_model(m, channel_last=True)\n"
    )


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("create_syncbn_process_group", "torch.distributed.new_subgroups(SIZE)[0]"),
        ("LARC", "copy the class from apex/parallel/LARC.py"),
        ("Reducer", "torch.distributed.all_reduce"),
    ],
)
def test_names_without_a_counterpart_say_what_to_write(name: str, way: str) -> None:
    [refusal] = migrate("CM104", f"import apex\nx = apex.parallel.{name}(m)\n").refusals
    assert refusal.message == f"apex.parallel.{name} has no equivalent in torch"
    assert way in refusal.hint


def test_data_parallelism_does_not_move_beside_an_old_loop() -> None:
    old = HEAD + "from apex import amp\nmodel, opt = amp.initialize(model, opt)\nDDP(model)\n"
    assert "cannot be migrated yet" in refused("CM104", old)


def test_data_parallelism_waits_for_a_loop_that_moves() -> None:
    loop = code().replace(
        "import torch\n", "import torch\nfrom apex.parallel import Reducer as R\n"
    )
    text = loop.replace("Reducer as R", "DistributedDataParallel as R") + "model = R(model)\n"
    stays("CM104", text)
    source = Source("train.py", text)
    [after] = migrate_in_place([source], codemods_to("torch.amp")).texts.values()
    assert "apex" not in after
    assert "torch.nn.parallel.DistributedDataParallel(model" in after


def test_what_torch_has_not() -> None:
    text = "from apex.parallel import Reducer\nx = Reducer(m)\n"
    assert "no equivalent" in refused("CM104", text)


@pytest.mark.parametrize(
    "text",
    [
        "from torch.nn.parallel import DistributedDataParallel as DDP\nm = DDP(m)\n",
        "try:\n    from apex.parallel import DistributedDataParallel as DDP\nexcept ImportError:\n"
        "    from torch.nn.parallel import DistributedDataParallel as DDP\nm = DDP(m)\n",
        "from ours.apex.parallel import DistributedDataParallel as DDP\nm = DDP(m)\n",
        "if old:\n    from apex.parallel import DistributedDataParallel as DDP\nelse:\n"
        "    from torch.nn.parallel import DistributedDataParallel as DDP\nm = DDP(m)\n",
        "# DDP = apex.parallel.DistributedDataParallel(m)\n",
    ],
)
def test_programs_that_stay(text: str) -> None:
    stays("CM104", text)


def test_the_note_tells_of_weights_without_gradients() -> None:
    [change] = migrate("CM104", f"{HEAD}model = DDP(model, delay_allreduce=True)\n").changes
    assert "find_unused_parameters=True" in change.hint


def test_a_name_that_another_file_takes_stays() -> None:
    text = "import torch\nfrom apex.parallel import SyncBatchNorm as Norm\nnorm = Norm(4)\n"
    loop = "for x in data:\n    loss = Norm(x)\n    loss.backward()\n    optimizer.step()\n"
    start = f"import torch\nfrom layers import Norm\n{loop}"
    assert "another file imports" in refused("CM104", start, layers=text)
    found = migrate("CM104", start.replace("Norm", "norm"), layers=text)
    assert "torch.nn." in found.texts["layers.py"]

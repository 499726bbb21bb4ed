"""Rules about data parallel training: what they find, and what they leave alone."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.rules import _examples as examples

from .lint_results import codes, repaired, swap

DDP, NO_SYNC, PLAIN = examples.DDP, examples.NO_SYNC, examples.PLAIN
BARE = swap(
    NO_SYNC,
    ("import contextlib\n\n", ""),
    ("    with contextlib.nullcontext() if last else model.no_sync():\n", ""),
    ("        loss = criterion", "    loss = criterion"),
    ("        loss.backward()", "    loss.backward()"),
)


# ---- CL601, CL602


def test_all_reduce_of_every_micro_batch() -> None:
    assert codes(NO_SYNC) == set()
    assert codes(BARE) == {"CL601"}
    assert (
        codes(swap(BARE, ("DistributedDataParallel(torch.nn.Linear(4, 2).cuda())", "net"))) == set()
    )


def test_no_sync_that_comes_too_late() -> None:
    late = swap(
        NO_SYNC,
        (
            "    with contextlib.nullcontext() if last else model.no_sync():\n        loss = ",
            "    loss = ",
        ),
        (
            "        loss.backward()",
            "    with contextlib.nullcontext() if last else model.no_sync():\n"
            "        loss.backward()",
        ),
    )
    assert codes(late) == {"CL602"}
    other = swap(late, ("else model.no_sync()", "else head.no_sync()"))
    assert codes(other) == set()


# ---- CL523


ONLY_FORWARD = swap(NO_SYNC, ("        loss.backward()\n", "    loss.backward()\n"))
NEVER = swap(
    ONLY_FORWARD,
    ("with contextlib.nullcontext() if last else model.no_sync():", "with model.no_sync():"),
)


def test_gradients_that_are_never_reduced() -> None:
    """The forward pass decides; where the backward pass runs does not matter."""
    assert codes(NEVER) == {"CL523"}
    both = swap(NEVER, ("    loss.backward()\n", "        loss.backward()\n"))
    assert codes(both) == {"CL523"}


@pytest.mark.parametrize(
    "text",
    [
        NO_SYNC,
        ONLY_FORWARD,
        swap(
            NEVER,
            ("    if last:\n", "    if last:\n        model(inputs).sum().backward()\n"),
        ),
        swap(
            NEVER,
            (
                "    if last:\n",
                "    if last:\n        for parameter in model.parameters():\n"
                "            torch.distributed.all_reduce(parameter.grad)\n",
            ),
        ),
        swap(NEVER, ("DistributedDataParallel", "FullyShardedDataParallel")),
        swap(
            NEVER,
            (
                "    with model.no_sync():\n",
                "    with model.no_sync() if not last else contextlib.nullcontext():\n",
            ),
        ),
    ],
)
def test_gradients_that_are_reduced_somewhere(text: str) -> None:
    assert "CL523" not in codes(text)


# ---- CL603, CL604


ALONE = swap(
    DDP,
    ("from torch.utils.data.distributed import DistributedSampler\n", ""),
    ("sampler = DistributedSampler(dataset)\n", ""),
    ("sampler=sampler)", "shuffle=True)"),
    ("    sampler.set_epoch(epoch)\n", ""),
)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("shuffle=True", "shuffle=True"), {"CL603"}),
        (("shuffle=True", "shuffle=True, num_workers=4"), {"CL603"}),
        (("shuffle=True", "shuffle=shuffle"), set()),
        (("shuffle=True", "**options"), set()),
        (("shuffle=True", "sampler=make_sampler(dataset)"), set()),
        (("dataset,", "dataset.shard(world, rank),"), set()),
        (("DistributedDataParallel(torch.nn.Linear(4, 2).cuda())", "torch.nn.Linear(4, 2)"), set()),
    ],
)
def test_loaders_without_sampler(change: tuple[str, str], expected: set[str]) -> None:
    assert codes(swap(ALONE, change)) == expected


def test_epochs_that_are_all_alike() -> None:
    line = "    sampler.set_epoch(epoch)\n"
    forgotten = swap(DDP, (line, ""))
    assert codes(forgotten) == {"CL604"}
    assert repaired(forgotten, "CL604") == DDP
    still = swap(
        forgotten, ("DistributedSampler(dataset)", "DistributedSampler(dataset, shuffle=False)")
    )
    assert codes(still) == set()
    checking = swap(forgotten, ("DistributedSampler(dataset)", "DistributedSampler(validation)"))
    assert codes(checking) == set()
    once = swap(forgotten, ("for epoch in range(3):\n    for inputs", "if True:\n    for inputs"))
    assert codes(once) == set()


def test_samplers_under_a_condition_are_not_repaired() -> None:
    text = swap(
        DDP,
        ("    sampler.set_epoch(epoch)\n", ""),
        (
            "sampler = DistributedSampler(dataset)\n",
            "sampler = DistributedSampler(dataset) if many else None\n",
        ),
    )
    assert codes(text) == {"CL604"}
    assert repaired(text, "CL604") == text


# ---- CL605, CL606


REDUCE = (
    "    for p in model.parameters():\n        torch.distributed.all_reduce(p.grad)\n"
    "        p.grad /= torch.distributed.get_world_size()\n"
)
CLIP = "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"


def test_all_reduce_by_hand() -> None:
    seeded = swap(PLAIN, ("import torch\n\n", "import torch\n\ntorch.manual_seed(7)\n"))
    right = swap(seeded, (CLIP, REDUCE + CLIP))
    assert codes(right) == set()
    assert codes(swap(seeded, (CLIP, CLIP + REDUCE))) == {"CL605"}
    summed = swap(right, ("        p.grad /= torch.distributed.get_world_size()\n", ""))
    assert codes(summed) == {"CL606"}
    average = swap(summed, ("p.grad)", "p.grad, op=torch.distributed.ReduceOp.AVG)"))
    assert codes(average) == set()
    shown = swap(summed, ("all_reduce(p.grad)", "all_reduce(loss)"))
    assert codes(shown) == set()
    share = swap(summed, ("targets)\n    loss.b", "targets) / world\n    loss.b"))
    assert codes(share) == set()

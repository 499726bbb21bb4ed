"""CL603: every process of a data parallel run reads the whole data set."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.distributed._data_parallel import loaders, wraps
from crosscast_reading.readers.python.library_calls import fixed
from crosscast_reading.sources.connected import connected
from crosscast_reading.sources.subject import Subject

_SPLITS = re.compile(
    r"Sampler|shard|IterableDataset|split_dataset|num_replicas|rank::|webdataset|wds\.|DALI|dali"
    r"|accelerat|prepare_data_loader|world_size\s*\]|\.select\(|Subset|[Ff]abric|seed_everything"
    r"|\[\s*(self\.)?\w*rank|manual_seed\([^)]*rank"
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find shuffled loaders without a sampler in programs that do not split the data otherwise."""
    wrapped = wraps(subject)
    if not wrapped or not list(eager_steps(subject)):
        return
    for call in loaders(subject):
        group = connected(call.module)
        near = [wrap for wrap in wrapped if wrap.module in group]
        if not near or any(_SPLITS.search(module.code) for module in group):
            continue
        arguments = call.bound()
        shuffled = call.argument("shuffle")
        if call.has_star or {"sampler", "batch_sampler"} & arguments.keys():
            continue
        if fixed(shuffled) is True:
            yield Finding(
                span=call.module.span(call.node),
                message="every process reads the whole data set, in its own order or, with the "
                "same seed, in the same order",
                hint="pass a DistributedSampler to the loader",
                related=(near[0].module.span(near[0].node),),
            )


RULE = Rule("CL603", check, hints=("DistributedDataParallel", "DDP"))

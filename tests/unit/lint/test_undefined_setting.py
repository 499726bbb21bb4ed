"""Settings that are read but never defined (CL924)."""

from __future__ import annotations

import pytest

from .lint_results import codes

READS = """
import argparse
import json
import torch
from elsewhere import prepare

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.1)
parser.add_argument("--out-dir", default="out")

def show(args):
    print(args.rate)

def train(args):
    {inside}
    optimizer = torch.optim.SGD(weights, lr=args.rate)
    for x, y in loader:
        optimizer.zero_grad()
        model(x, y).backward()
        optimizer.step()

if __name__ == "__main__":
    args = parser.parse_args()
    {before}
    print({read})
    {after}
    train(args)
"""


@pytest.mark.parametrize(
    ("inside", "before", "read", "after", "found"),
    [
        ("pass", "pass", "args.place", "pass", True),
        ("pass", "print(args); show(args)", "args.place", "pass", True),
        ("pass", "json.dump(vars(args), log)", "args.place", "pass", True),
        ("pass", "for k, v in vars(args).items(): print(k)", "args.place", "pass", True),
        ("pass", "pass", "args.place", "prepare(args)", True),
        ("pass", "pass", "args.out_dir", "pass", False),
        ("args.place = 3", "pass", "args.place", "pass", False),
        ("pass", "parser.set_defaults(place=3)", "args.place", "pass", False),
        ("pass", "prepare(args)", "args.place", "pass", False),
        ("pass", "args = prepare(args)", "args.place", "pass", False),
        ("pass", "vars(args).update(found)", "args.place", "pass", False),
        ("pass", "found = vars(args)", "args.place", "pass", False),
        ("pass", "merge(vars(args), found)", "args.place", "pass", False),
        ("pass", "print(sorted(vars(args)))", "args.place", "pass", True),
        ("pass", "shown = vars(args).copy()", "args.place", "pass", True),
        ("pass", "for v in vars(args).values(): v.update(3)", "args.place", "pass", True),
        ("pass", "setattr(args, name, 3)", "args.place", "pass", False),
        ("pass", "setattr(torch.nn.Linear, name, 3)", "args.place", "pass", True),
        ("pass", "args.__dict__[name] = 3", "args.place", "pass", False),
        ("pass", "if hasattr(args, 'place'): print(3)", "args.place", "pass", False),
        ("pass", "print(found['place'])", "args.place", "pass", True),
        ("pass", "found['place'] = 3; prepare(**found)", "args.place", "pass", False),
        ("pass", "names = ['place']", "args.place", "pass", False),
        ("pass", "vars(args)['place'] = 3", "args.place", "pass", False),
        ("pass", "prepare(parser)", "args.place", "pass", False),
        ("pass", "parser.add_argument(name)", "args.place", "pass", False),
        ("pass", "pass", "args._get_kwargs()", "pass", False),
        ("pass", "pass", "options.place", "pass", False),
    ],
)
def test_settings_that_nothing_defines(
    inside: str, before: str, read: str, after: str, found: bool
) -> None:
    text = READS.format(inside=inside, before=before, read=read, after=after)
    assert ("CL924" in codes(text)) is found


def test_settings_that_may_be_missing() -> None:
    text = READS.format(inside="pass", before="pass", read="0", after="pass")
    tried = "    try:\n        print(args.place)\n    except AttributeError:\n        pass\n"
    assert "CL924" not in codes(text + tried)
    assert "CL924" in codes(text + "    print(args.place)\n")

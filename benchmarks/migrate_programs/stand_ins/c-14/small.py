"""A shallow transformer; made-up images of 4 persons in 2 cameras."""

import functools
import importlib
import types

import datasets.bases
import numpy
from model.backbones.vit_pytorch import TransReID
from PIL import Image


def people(**more):
    rows = [(str(n), n % 4, n % 2, 0) for n in range(96)]
    return types.SimpleNamespace(
        train=rows,
        query=rows[:4],
        gallery=rows[4:8],
        num_train_pids=4,
        num_train_cams=2,
        num_train_vids=1,
    )


def noise(path):
    made = numpy.random.RandomState(int(path))
    return Image.fromarray(made.randint(0, 255, (40, 40, 3), "uint8"))


datasets.bases.read_image = noise
vars(importlib.import_module("datasets.make_dataloader"))["__factory"]["market1501"] = people
kinds = vars(importlib.import_module("model.make_model"))["__factory_T_type"]
kinds["deit_small_patch16_224_TransReID"] = functools.partial(
    TransReID, patch_size=16, embed_dim=384, depth=1, num_heads=2, qkv_bias=True
)

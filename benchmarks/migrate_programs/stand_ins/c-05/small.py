"""A small backbone; made-up clips with masks."""

import itertools

import dataset.coco
import dataset.spd
import dataset.videomatte
import dataset.youtubevis
import model.model
import torch
from absent import Nothing

SIZE = 128


class Rows(torch.utils.data.Dataset):
    frames, parts = (2,), ("image", "mask")

    def __init__(self, *ignored, **more):
        pass

    def __len__(self):
        return 24

    def __getitem__(self, index):
        made = torch.Generator().manual_seed(index)
        image = torch.rand(*self.frames, 3, SIZE, SIZE, generator=made)
        parts = {"image": image, "mask": (image[..., :1, :, :] > 0.5).float()}
        return tuple(parts[name] for name in self.parts)


class Clips(Rows):
    parts = ("image", "mask", "image")


class Images(Rows):
    frames = ()


class Backbone(torch.nn.Module):
    def __init__(self, *ignored):
        super().__init__()
        sizes = (3, 16, 24, 40, 960)
        self.convs = torch.nn.ModuleList(
            [torch.nn.Conv2d(a, b, 3, 2, 1) for a, b in itertools.pairwise(sizes)]
        )

    def forward(self, images):
        found, frames = [], images.flatten(0, 1)
        for conv in self.convs:
            frames = torch.relu(conv(frames))
            found.append(frames.unflatten(0, images.shape[:2]))
        return found


dataset.videomatte.VideoMatteDataset = Clips
dataset.youtubevis.YouTubeVISDataset = Rows
dataset.coco.CocoPanopticDataset = dataset.spd.SuperviselyPersonDataset = Images
for module in (dataset.videomatte, dataset.youtubevis, dataset.coco):
    for name in [name for name in vars(module) if name.endswith("Augmentation")]:
        setattr(module, name, Nothing)
model.model.MobileNetV3LargeEncoder = Backbone

"""Made-up pairs of images with their flow."""

import sys

import torch

sys.path.insert(0, "core")
import datasets


class Pairs(torch.utils.data.Dataset):
    def __init__(self, settings, split):
        self.size = settings["crop_size"]

    def __len__(self):
        return 60

    def __getitem__(self, index):
        made = torch.Generator().manual_seed(index)
        image = 255 * torch.rand(3, *self.size, generator=made)
        flow = torch.ones(2, *self.size)
        return image, image.roll((1, 1), (1, 2)), flow, torch.ones(self.size)


datasets.FlyingChairs = Pairs

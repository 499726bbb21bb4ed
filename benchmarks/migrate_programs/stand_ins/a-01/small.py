"""A small network with prototypes; made-up crops; a group of one process."""

import os

import src.multicropdataset
import src.resnet50
import torch


class Crops(torch.utils.data.Dataset):
    def __init__(self, path, sizes, counts, *ignored):
        self.count = sum(counts)

    def __len__(self):
        return 96

    def __getitem__(self, index):
        made = torch.Generator().manual_seed(index)
        return [torch.randn(3, 8, 8, generator=made) for _ in range(self.count)]


class Net(torch.nn.Module):
    def __init__(self, output_dim, nmb_prototypes, **more):
        super().__init__()
        self.body = torch.nn.Conv2d(3, output_dim, 3)
        self.prototypes = torch.nn.Linear(output_dim, nmb_prototypes, bias=False)

    def forward(self, crops):
        found = torch.relu(self.body(torch.cat(crops))).mean(dim=(2, 3))
        found = torch.nn.functional.normalize(found, dim=1)
        return found, self.prototypes(found)


src.multicropdataset.MultiCropDataset, src.resnet50.small = Crops, Net
os.environ.update(RANK="0", WORLD_SIZE="1")

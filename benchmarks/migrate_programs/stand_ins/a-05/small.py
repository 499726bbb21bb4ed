"""A small network, and made-up images of 4 kinds."""

import dataset
import models
import pandas
import torch


def rows(*ignored):
    count = 110
    found = pandas.DataFrame({"target": [n % 4 for n in range(count)], "is_ext": [0] * count})
    found["fold"] = [n % 11 == 0 for n in range(count)]
    found["fold"] = 1 - found["fold"].astype(int)
    return found, None, None, 0, 0


class Rows(torch.utils.data.Dataset):
    def __init__(self, frame, *ignored, **more):
        self.targets = list(frame["target"])

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        made = torch.Generator().manual_seed(index)
        return torch.randn(3, 8, 8, generator=made), self.targets[index]


class Net(torch.nn.Module):
    def __init__(self, kind, out_dim, **more):
        super().__init__()
        self.body = torch.nn.Conv2d(3, 8, 3)
        self.head = torch.nn.Linear(8, out_dim)

    def forward(self, images):
        return self.head(torch.relu(self.body(images)).mean(dim=(2, 3)))


dataset.get_df, dataset.get_transforms = rows, lambda size: (None, None)
dataset.MelanomaDataset, models.Effnet_Melanoma = Rows, Net

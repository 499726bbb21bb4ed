"""A small network, and made-up images with labels, in place of the files of VOC."""

from pathlib import Path

import nets.unet
import torch
import utils.dataloader


class Unet(torch.nn.Module):
    def __init__(self, num_classes, **more):
        super().__init__()
        self.body = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.head = torch.nn.Conv2d(8, num_classes, 1)

    def forward(self, images):
        return self.head(torch.relu(self.body(images)))

    def freeze_backbone(self):
        self.body.requires_grad_(False)


class Rows(torch.utils.data.Dataset):
    def __init__(self, lines, shape, num_classes, *ignored):
        self.count, self.shape, self.num_classes = len(lines), shape, num_classes

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        made = torch.Generator().manual_seed(index)
        labels = torch.randint(0, self.num_classes, self.shape, generator=made)
        one = torch.nn.functional.one_hot(labels, self.num_classes + 1).numpy()
        return torch.rand(3, *self.shape, generator=made).numpy(), labels.numpy(), one


nets.unet.Unet, utils.dataloader.UnetDataset = Unet, Rows
folder = Path("VOCdevkit/VOC2007/ImageSets/Segmentation")
folder.mkdir(parents=True)
for name, count in (("train", 50), ("val", 2)):
    (folder / f"{name}.txt").write_text("".join(f"{n}\n" for n in range(count)))

"""A small network that is cut into a body and a classifier, as `ft_net` is."""

from pathlib import Path

import model
import torch


class Net(torch.nn.Module):
    def __init__(self, class_num, *ignored, **more):
        super().__init__()
        self.body = torch.nn.Conv2d(3, 8, 3, stride=4)
        self.classifier = torch.nn.Linear(8, class_num)

    def forward(self, images):
        return self.classifier(torch.relu(self.body(images)).mean(dim=(2, 3)))


model.ft_net = Net
Path("model").mkdir()

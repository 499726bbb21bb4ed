"""The old way: apex.amp, level O1. apex.amp was removed in 2025, so this no longer runs."""

import torch
from apex import amp

from my_model import build_model
from my_data import batches

model = build_model().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1", loss_scale="dynamic")

for inputs, labels in batches():
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
    optimizer.step()
    optimizer.zero_grad()

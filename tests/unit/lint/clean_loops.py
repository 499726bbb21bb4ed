"""Training loops as people write them, with nothing wrong in them."""

from __future__ import annotations

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

LOOPS: dict[str, str] = {}

LOOPS["function with a criterion"] = (
    HEAD
    + """
def train_one_epoch(model, criterion, optimizer, loader, device, epoch):
    model.train()
    total, seen = 0.0, 0
    for inputs, targets in loader:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * inputs.size(0)
        seen += inputs.size(0)
    return total / seen
"""
)

LOOPS["flags, short window applied"] = (
    HEAD
    + """
import argparse

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulation-steps", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--amp", action="store_true")
    args = parser.parse_args()
    model = nn.Linear(4, 2).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda", enabled=args.amp)
    for epoch in range(args.epochs):
        optimizer.zero_grad()
        length = len(loader)
        for i, (x, y) in enumerate(loader):
            rest = length - i // args.accumulation_steps * args.accumulation_steps
            with torch.autocast("cuda", dtype=torch.float16, enabled=args.amp):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss / min(args.accumulation_steps, rest)).backward()
            if (i + 1) % args.accumulation_steps == 0 or i + 1 == length:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad(set_to_none=True)

main()
"""
)

LOOPS["class with methods"] = (
    HEAD
    + """
class Trainer:
    def __init__(self, model, loader, use_amp):
        self.model, self.loader, self.use_amp = model, loader, use_amp
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda") if use_amp else None

    def compute_loss(self, batch):
        with torch.autocast("cuda", dtype=torch.float16, enabled=self.use_amp):
            return F.cross_entropy(self.model(batch[0]), batch[1])

    def backward(self, loss):
        if self.scaler is not None:
            self.scaler.scale(loss).backward()
        else:
            loss.backward()

    def update(self):
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if self.scaler is not None:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self, epochs):
        for epoch in range(epochs):
            for batch in self.loader:
                loss = self.compute_loss(batch)
                self.backward(loss)
                self.update()
"""
)

LOOPS["loop over micro-batches"] = (
    HEAD
    + """
model = nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accumulation = 4
batches = iter(loader)
for update in range(1000):
    optimizer.zero_grad()
    for micro in range(accumulation):
        x, y = next(batches)
        loss = F.cross_entropy(model(x), y) / accumulation
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""
)

LOOPS["counter of its own"] = (
    HEAD
    + """
model = nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
seen = 0
optimizer.zero_grad()
for epoch in range(10):
    for x, y in loader:
        loss = F.mse_loss(model(x), y) / 4
        loss.backward()
        seen += 1
        if seen % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
)

LOOPS["sum of losses, normalised by tokens"] = (
    HEAD
    + """
model = nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
steps, tokens = 4, 0
optimizer.zero_grad()
for step, (x, y) in enumerate(loader):
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    tokens += y.numel()
    if (step + 1) % steps == 0:
        for parameter in model.parameters():
            parameter.grad /= tokens
        optimizer.step()
        optimizer.zero_grad()
        tokens = 0
"""
)

LOOPS["two networks, one scaler"] = (
    HEAD
    + """
generator, discriminator = nn.Linear(4, 8).cuda(), nn.Linear(8, 1).cuda()
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
scaler = torch.amp.GradScaler("cuda")
for real in loader:
    noise = torch.randn(real.size(0), 4, device="cuda")
    opt_d.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        fake = generator(noise)
        loss_d = F.softplus(discriminator(fake.detach())).mean()
        loss_d = loss_d + F.softplus(-discriminator(real)).mean()
    scaler.scale(loss_d).backward()
    scaler.step(opt_d)
    opt_g.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss_g = F.softplus(-discriminator(fake)).mean()
    scaler.scale(loss_g).backward()
    scaler.step(opt_g)
    scaler.update()
"""
)

LOOPS["weights of a critic are clipped"] = (
    HEAD
    + """
critic, generator = nn.Linear(8, 1), nn.Linear(4, 8)
opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
opt_g = torch.optim.RMSprop(generator.parameters(), lr=5e-5)
for i, real in enumerate(loader):
    opt_c.zero_grad()
    loss = critic(generator(torch.randn(8, 4)).detach()).mean() - critic(real).mean()
    loss.backward()
    opt_c.step()
    for p in critic.parameters():
        p.data.clamp_(-0.01, 0.01)
    if i % 5 == 0:
        opt_g.zero_grad()
        loss_g = -critic(generator(torch.randn(8, 4))).mean()
        loss_g.backward()
        opt_g.step()
"""
)

LOOPS["gradient penalty"] = (
    HEAD
    + """
critic = nn.Linear(8, 1).cuda()
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler("cuda")
for real, fake in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        score = critic(real.requires_grad_()).sum()
    (scaled,) = torch.autograd.grad(scaler.scale(score), real, create_graph=True)
    penalty = (scaled / scaler.get_scale()).norm()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
)

LOOPS["two losses, two backward passes"] = (
    HEAD
    + """
model, head = nn.Linear(4, 8), nn.Linear(8, 2)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    hidden = model(x)
    first = F.cross_entropy(head(hidden), y)
    second = hidden.pow(2).mean()
    first.backward(retain_graph=True)
    second.backward()
    optimizer.step()
"""
)

LOOPS["closure"] = (
    HEAD
    + """
model = nn.Linear(4, 2)
optimizer = torch.optim.LBFGS(model.parameters())
for x, y in loader:
    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    optimizer.step(closure)
"""
)

LOOPS["two passes for one update"] = (
    HEAD
    + """
from sam import SAM

model = nn.Linear(4, 2)
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1)
for x, y in loader:
    F.cross_entropy(model(x), y).backward()
    optimizer.first_step(zero_grad=True)
    F.cross_entropy(model(x), y).backward()
    optimizer.second_step(zero_grad=True)
"""
)

LOOPS["parts of a sequence"] = (
    HEAD
    + """
model = nn.LSTM(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for text, target in loader:
    state = None
    total = 0.0
    for part, goal in zip(text.split(35), target.split(35)):
        optimizer.zero_grad()
        output, state = model(part, state)
        state = tuple(one.detach() for one in state)
        loss = F.mse_loss(output, goal)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    print(total)
"""
)

LOOPS["losses summed before backward"] = (
    HEAD
    + """
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for views, y in loader:
    optimizer.zero_grad()
    loss = 0
    for view in views:
        loss += F.cross_entropy(model(view), y)
    loss.backward()
    optimizer.step()
"""
)

"""A loss that an entry holds and a function differentiates."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.sources.subject_builder import subject_of

LOOP = """\
import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accum = 4
for step, (inputs, targets) in enumerate(loader):
{body}
    if (step + 1) % accum == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_an_entry_that_a_function_differentiates() -> None:
    function = "def back(out):\n    out['loss'].backward()\n\n\n"
    text = LOOP.format(body="    out = model(inputs)\n    out['loss'] /= accum\n    back(out)")
    subject, _ = subject_of([Source("train.py", function + text)])
    (fact,) = (fact for fact in subject.profile if fact.field == "accumulation.loss_divided")
    assert fact.value == "yes"

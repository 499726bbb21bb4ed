"""How serious updates of the scale for two optimizers are (CL203)."""

from __future__ import annotations

from reading_helpers.lint_results import code_lines, codes, swap

# ---- CL201, CL202, CL203


TWO = """\
import torch

encoder, decoder = torch.nn.Linear(4, 8).cuda(), torch.nn.Linear(8, 2).cuda()
first = torch.optim.SGD(encoder.parameters(), lr=0.1)
second = torch.optim.SGD(decoder.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
for inputs, targets in loader:
    first.zero_grad()
    second.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        hidden = encoder(inputs)
        loss = torch.nn.functional.cross_entropy(decoder(hidden), targets)
    scaler.scale(loss).backward()
    scaler.step(first)
    scaler.update()
    scaler.step(second)
    scaler.update()
"""


def test_updates_of_two_optimizers() -> None:
    assert code_lines(TWO) == ["CL203:17"]
    assert (
        codes(
            swap(TWO, ("    scaler.step(first)\n    scaler.update()\n", "    scaler.step(first)\n"))
        )
        == set()
    )
    own = swap(
        TWO,
        ("    scaler.step(second)", "    other.step(second)"),
        ("    scaler.update()\n    other", "    scaler.update()\n    other"),
    )
    assert codes(own) == set()
    again = swap(
        TWO,
        (
            "    scaler.step(second)",
            "    scaler.scale(penalty(hidden)).backward()\n    scaler.step(second)",
        ),
    )
    from crosscast.messages.source import Source
    from crosscast_reading.lint.engine import lint_sources

    found = [
        finding for finding in lint_sources([Source("a.py", again)]) if finding.code == "CL203"
    ]
    assert [str(diagnostic.severity) for diagnostic in found] == ["note"]

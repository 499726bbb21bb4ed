"""Forms of older programs: apex by hand, sharded optimizers, scalers of other files."""

from __future__ import annotations

from crosscast_torch.reading.apex import READER as APEX
from reading_helpers.torch_programs import read_by

METHODS = """
class Trainer:
    def __init__(self, args):
        if args.fp16:
            from {origin} import amp
    def epoch(self, loader):
        for x, y in loader:
            loss = self.model(x)
            with amp.scale_loss(loss, self.optimizer) as scaled:
                scaled.backward()
            self.optimizer.step()
"""


def test_a_name_that_another_method_imports() -> None:
    assert read_by(APEX, METHODS.format(origin="apex"))["api"] == ("apex_amp",)
    assert read_by(APEX, METHODS.format(origin="mine")) == {}
    two = METHODS.format(origin="apex") + "    def other(self):\n        from mine import amp\n"
    assert read_by(APEX, two) == {}
    bound = METHODS.format(origin="apex") + "    def other(self):\n        amp = None\n"
    assert read_by(APEX, bound) == {}

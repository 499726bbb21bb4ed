"""Schedules of Paddle programs."""

from __future__ import annotations

from program_facts import values_of


def test_a_schedule_beside_an_executor() -> None:
    text = """
        import paddle
        paddle.enable_static()
        rate = paddle.optimizer.lr.PolynomialDecay(0.1, 100, 0)
        optimizer = paddle.optimizer.SGD(rate)
        optimizer.minimize(loss)
        for batch in loader:
            exe.run(main, feed=batch, fetch_list=[loss])
            rate.step()
    """
    assert values_of(text)["schedule.stepped_per"] == "step"


def test_a_schedule_from_elsewhere() -> None:
    text = """
        import paddle

        def train(model, lr_scheduler):
            loss = model()
            loss.backward()
            lr_scheduler.step()
    """
    assert values_of(text)["schedule.name"] == "elsewhere"

"""A made-up task: bring a number near zero; images show it."""

import types

import numpy as np


class _Step:
    def __init__(self, place, number):
        self.observation = {"position": place.astype(np.float32)}
        self.reward = float(np.exp(-np.abs(place).sum()))
        self.discount = 1.0
        self.number = number

    def last(self):
        return self.number >= 1000


class _World:
    def __init__(self):
        self._random = np.random.default_rng(0)
        self._place, self._number = np.zeros(2), 0
        self.physics = types.SimpleNamespace(render=self._render)

    def _render(self, height, width, camera_id=0):
        image = self._random.integers(0, 20, (height, width, 3))
        image[:, : int(width * (np.tanh(self._place[0]) + 1) / 2)] += 150
        return image.astype(np.uint8)

    def observation_spec(self):
        return {"position": types.SimpleNamespace(shape=(2,), dtype=np.float32)}

    def action_spec(self):
        return types.SimpleNamespace(minimum=-np.ones(2), maximum=np.ones(2))

    def reset(self):
        self._place, self._number = self._random.normal(size=2), 0
        return _Step(self._place, self._number)

    def step(self, action):
        self._place = self._place + 0.1 * np.asarray(action, np.float64)
        self._number += 1
        return _Step(self._place, self._number)


def load(domain, task, **_):
    return _World()

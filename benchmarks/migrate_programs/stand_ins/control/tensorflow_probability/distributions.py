"""Normal, Bernoulli, categorical and transformed distributions."""

import math

import tensorflow as tf


def _tensor(value, like=None):
    if tf.is_tensor(value):
        return value
    return tf.convert_to_tensor(value, getattr(like, "dtype", tf.float32))


def _shape(amount):
    return [amount] if isinstance(amount, int) else list(amount)


class Normal:
    def __init__(self, loc, scale):
        self.loc = _tensor(loc, scale if tf.is_tensor(scale) else None)
        self.scale = _tensor(scale, self.loc)
        self.dtype = self.loc.dtype

    def __getitem__(self, rows):
        return type(self)(self.mean()[rows], self.stddev()[rows])

    def mean(self):
        return self.loc + tf.zeros_like(self.scale)

    mode = mean

    def stddev(self):
        return self.scale + tf.zeros_like(self.loc)

    def sample(self, amount=(), seed=None):
        mean = self.mean()
        shape = tf.concat([tf.constant(_shape(amount), tf.int32), tf.shape(mean)], 0)
        return mean + self.scale * tf.random.normal(shape, dtype=self.dtype)

    def log_prob(self, value):
        z = (tf.cast(value, self.dtype) - self.loc) / self.scale
        return -0.5 * z * z - tf.math.log(self.scale) - 0.5 * math.log(2 * math.pi)

    def entropy(self):
        return tf.math.log(self.stddev()) + 0.5 * math.log(2 * math.pi * math.e)


class MultivariateNormalDiag(Normal):
    @property
    def event_shape(self):
        return self.mean().shape[-1:]

    def log_prob(self, value):
        return tf.reduce_sum(Normal.log_prob(self, value), -1)

    def entropy(self):
        return tf.reduce_sum(Normal.entropy(self), -1)


class Uniform:
    def __init__(self, low, high):
        self.low, self.high = _tensor(low), _tensor(high)

    def sample(self, amount=()):
        shape = tf.concat([tf.constant(_shape(amount), tf.int32), tf.shape(self.low)], 0)
        return self.low + (self.high - self.low) * tf.random.uniform(shape, dtype=self.low.dtype)


class Bernoulli:
    def __init__(self, logits):
        self.logits, self.dtype = logits, logits.dtype

    def mean(self):
        return tf.sigmoid(self.logits)

    def mode(self):
        return tf.cast(self.logits > 0, self.dtype)

    def log_prob(self, value):
        value = tf.cast(value, self.dtype)
        return -tf.nn.sigmoid_cross_entropy_with_logits(value, self.logits)


class Categorical:
    def __init__(self, logits=None, probs=None, dtype=tf.int32):
        self.logits = tf.math.log(probs) if logits is None else logits
        self.dtype = dtype

    def logits_parameter(self):
        return self.logits

    def probs_parameter(self):
        return tf.nn.softmax(self.logits)

    def mode(self):
        return tf.argmax(self.logits, -1)

    def log_prob(self, value):
        return -tf.nn.sparse_softmax_cross_entropy_with_logits(value, self.logits)


class TransformedDistribution:
    def __init__(self, distribution, bijector):
        self.distribution, self.bijector = distribution, bijector

    def sample(self, amount=()):
        return self.bijector.forward(self.distribution.sample(amount))

    def log_prob(self, value):
        x = self.bijector.inverse(value)
        return self.distribution.log_prob(x) - self.bijector.forward_log_det_jacobian(x)


class Independent:
    def __init__(self, distribution, reinterpreted_batch_ndims=0):
        self.distribution, self.count = distribution, reinterpreted_batch_ndims

    def __getattr__(self, name):
        return getattr(self.distribution, name)

    def __getitem__(self, rows):
        return Independent(self.distribution[rows], self.count)

    def _sum(self, value):
        return tf.reduce_sum(value, list(range(-self.count, 0))) if self.count else value

    def log_prob(self, value):
        return self._sum(self.distribution.log_prob(value))

    def entropy(self):
        return self._sum(self.distribution.entropy())


def kl_divergence(p, q):
    if isinstance(p, Independent):
        return p._sum(kl_divergence(p.distribution, q.distribution))
    if hasattr(p, "probs_parameter"):
        log_p, log_q = tf.nn.log_softmax(p.logits), tf.nn.log_softmax(q.logits)
        return tf.reduce_sum(tf.exp(log_p) * (log_p - log_q), -1)
    ratio = tf.square(p.scale / q.scale)
    distance = tf.square((p.loc - q.loc) / q.scale)
    parts = 0.5 * (distance + ratio - 1 - tf.math.log(ratio))
    return tf.reduce_sum(parts, -1) if isinstance(p, MultivariateNormalDiag) else parts

"""Losses over a few drawn classes instead of all: candidate samplers, nce_loss, sampled_softmax_loss."""
import math

import numpy as np

from . import _core, _ops
from ._convert import convert_to_tensor
from ._dtypes import float32, int64


def _expected(classes, share_of, tries, unique):
    """How often classes are expected among the candidates."""
    share = share_of(_ops.cast(classes, "float64"))
    if not unique:
        return _ops.cast(share * float(tries), float32)
    return _ops.cast(-_ops.expm1(_ops.log1p(-share) * float(tries)), float32)


def _sampled(function, draw, share_of, true_classes, num_sampled, unique, range_max, seed):
    true_classes, count, most = convert_to_tensor(true_classes), int(num_sampled), int(range_max)
    if unique and count > most:
        raise ValueError(f"{function}: {count} different classes of {most}")
    if not unique:
        chosen, tries = draw(count, seed), count
    else:
        if _core.inside_function():
            raise _core.TraceError(f"{function}: a traced function cannot draw until classes are different; use unique=False, "
                                   "or draw outside and hand the candidates on")
        found, tries, rounds = {}, 0, 0
        while len(found) < count:
            rounds += 1  # the same seed would give the same numbers
            for number in np.asarray(draw(4 * count, None if seed is None else int(seed) + rounds)):
                if len(found) == count:
                    break
                found.setdefault(int(number))
                tries += 1
        chosen = convert_to_tensor(list(found), dtype=int64)
    return (chosen, _expected(true_classes, share_of, tries, unique), _expected(chosen, share_of, tries, unique))


def log_uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Classes drawn by Zipf's law, the lower the more often: int64[num_sampled], and how often the true ones and these are
    expected. With `unique` all are different, which works outside of traced functions."""
    _check_true("log_uniform_candidate_sampler", true_classes, num_true)
    scale = math.log(int(range_max) + 1)
    from ._modules import random

    def draw(count, seed):
        numbers = _ops.exp(random.uniform([count], dtype="float64", seed=seed) * scale)
        return _ops.cast(_ops.clip_by_value(_ops.floor(numbers) - 1, 0, int(range_max) - 1), int64)
    return _sampled("log_uniform_candidate_sampler", draw, lambda n: (_ops.log(n + 2) - _ops.log(n + 1)) / scale, true_classes,
                    num_sampled, unique, range_max, seed)


def uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Classes drawn equally often: int64[num_sampled], and how often the true ones and these are expected."""
    _check_true("uniform_candidate_sampler", true_classes, num_true)
    from ._modules import random

    def draw(count, seed):
        return random.uniform([count], 0, int(range_max), dtype=int64, seed=seed)
    return _sampled("uniform_candidate_sampler", draw, lambda n: _ops.zeros_like(n) + 1.0 / int(range_max), true_classes,
                    num_sampled, unique, range_max, seed)


def _check_true(function, true_classes, num_true):
    shape = convert_to_tensor(true_classes).shape
    if shape.rank != 2 or shape[1] != int(num_true):
        raise _core.ShapeError(f"{function}: true_classes has the shape {tuple(shape)}, not [batch, {int(num_true)}]")


def _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, remove_hits, seed):
    """The logits of the true classes and of the candidates, and what they should be: [batch, num_true + num_sampled]."""
    inputs, labels = convert_to_tensor(inputs), _ops.cast(convert_to_tensor(labels), int64)
    if labels.shape.rank == 1:
        labels = _ops.reshape(labels, [-1, 1])
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed)
    chosen, true_count, chosen_count = [_ops.stop_gradient(convert_to_tensor(v)) for v in sampled_values]
    chosen = _ops.cast(chosen, int64)
    # The rows of [num_true] classes for each example, and of the candidates for all.
    true_rows, true_bias = _ops.gather(weights, labels), _ops.gather(biases, labels)
    true = _ops.reduce_sum(_ops.expand_dims(inputs, 1) * true_rows, 2) + true_bias
    others = _ops.matmul(inputs, _ops.gather(weights, chosen), transpose_b=True) + _ops.gather(biases, chosen)
    if remove_hits:
        hits = _ops.reduce_any(_ops.equal(_ops.expand_dims(labels, 2), _ops.reshape(chosen, [1, 1, -1])), 1)
        others = others + _ops.cast(hits, others.dtype) * -3.4028235e38
    true = true - _ops.log(_ops.cast(true_count, true.dtype))
    others = others - _ops.log(_ops.cast(chosen_count, others.dtype))
    wanted = _ops.concat([_ops.ones_like(true) / float(num_true), _ops.zeros_like(others)], 1)
    return _ops.concat([true, others], 1), wanted


def nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
             remove_accidental_hits=False, name="nce_loss"):
    """Noise contrastive estimation, [batch]: true classes are told from drawn ones by sigmoids."""
    logits, wanted = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                             remove_accidental_hits, None)
    return _ops.reduce_sum(_ops.sigmoid_cross_entropy_with_logits(labels=wanted, logits=logits), 1)


def sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
                         remove_accidental_hits=True, seed=None, name="sampled_softmax_loss"):
    """The cross entropy of a softmax over the true and the drawn classes, [batch]; for training."""
    logits, wanted = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                             remove_accidental_hits, seed)
    return _ops.softmax_cross_entropy_with_logits(_ops.stop_gradient(wanted), logits)


SAMPLERS = {f.__name__: f for f in (log_uniform_candidate_sampler, uniform_candidate_sampler)}
LOSSES = {f.__name__: f for f in (nce_loss, sampled_softmax_loss)}

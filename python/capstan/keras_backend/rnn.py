"""Recurrent loops. `lstm` and `gru` leave the choice to Keras's own cells, which run in these loops."""
from keras.src import tree

import capstan as tf

from . import numpy as knp
from .core import cast, convert_to_tensor, is_known


def rnn(step_function, inputs, initial_states, go_backwards=False, mask=None, constants=None, unroll=False,
        input_length=None, time_major=False, zero_output_for_mask=False, return_all_outputs=True):
    def swapped(x):
        return knp.swapaxes(x, 0, 1)
    inputs = tree.map_structure(convert_to_tensor, inputs)
    if not time_major:
        inputs = tree.map_structure(swapped, inputs)
    flat = tree.flatten(inputs)
    steps = flat[0].shape[0]
    if mask is not None:
        mask = convert_to_tensor(mask, "bool")
        if len(mask.shape) == 2:
            mask = tf.expand_dims(mask, -1)
        if not time_major:
            mask = swapped(mask)
    if go_backwards and mask is not None:
        mask = knp.flip(mask, 0)
    if go_backwards:
        inputs = tree.map_structure(lambda x: knp.flip(x, 0), inputs)
        flat = tree.flatten(inputs)
    # The states of stacked cells are lists of lists; the loop carries them flat.
    states = tuple(convert_to_tensor(s) for s in tree.flatten(initial_states))
    extra = tuple(constants or ())

    def one(x, given, before, there):
        """One step: the output and the states, kept where the mask is false."""
        output, new = step_function(x, tuple(tree.pack_sequence_as(initial_states, given)) + extra)
        new = tuple(tree.flatten(new))
        if there is None:
            return output, new

        def kept(value, old):
            condition = tf.reshape(there, list(there.shape)[:1] + [1] * (len(value.shape) - 1))
            return tf.where(condition, value, old)
        old = tf.zeros_like(output) if zero_output_for_mask or before is None else before
        return tree.map_structure(kept, output, old), tuple(kept(n, o) for n, o in zip(new, given))

    # A long loop inside of a function is one op of it, whose body is traced once.
    if not unroll and steps > 8 and not all(is_known(x) for x in flat + list(states)) and not tree.is_nested(inputs):
        first, after = one(inputs[0], states, None, None if mask is None else mask[0])
        rest = inputs[1:] if mask is None else (inputs[1:], cast(mask[1:], "float32"))

        def body(carry, x):
            x, there = (x, None) if mask is None else (x[0], tf.greater(x[1], 0.5))
            output, new = one(x, carry[1:], carry[0], there)
            return (output,) + new
        all_outputs, *all_states = tf.scan(body, rest, (first,) + after)
        outputs = tf.concat([tf.expand_dims(first, 0), all_outputs], axis=0)
        last_output, states = outputs[-1], tuple(s[-1] for s in all_states)
    else:
        collected, output = [], None
        for i in range(steps):
            x = tree.pack_sequence_as(inputs, [t[i] for t in flat])
            output, states = one(x, states, output, None if mask is None else mask[i])
            collected.append(output)
        last_output = output
        outputs = tf.stack(collected) if return_all_outputs else tf.expand_dims(output, 0)
    if not return_all_outputs:
        outputs = tf.expand_dims(last_output, 0)
    if zero_output_for_mask and mask is not None and return_all_outputs:
        shape = list(mask.shape)[:2] + [1] * (len(outputs.shape) - 2)
        outputs = tf.where(tf.reshape(mask, shape), outputs, tf.zeros_like(outputs))
        last_output = outputs[-1]
    if not time_major:
        outputs = swapped(outputs)
    return last_output, outputs, list(tree.pack_sequence_as(initial_states, states))


def cudnn_ok(*args, **kwargs):
    return False


def lstm(*args, **kwargs):
    raise NotImplementedError


def gru(*args, **kwargs):
    raise NotImplementedError


def bidirectional_lstm(*args, **kwargs):
    raise NotImplementedError


def bidirectional_gru(*args, **kwargs):
    raise NotImplementedError

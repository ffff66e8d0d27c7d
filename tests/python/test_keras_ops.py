"""keras.ops gives what Keras does (keras_ops_values.json), in functions and between layers, too."""
import json

import numpy as np
import pytest

import capstan as tf
from capstan import keras
from capstan.keras import ops

import keras_ops_values

THEIRS = json.loads(keras_ops_values.PATH.read_text())


def close(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or abs(a - b) <= 2e-5 * max(1, abs(a))
    return a == b


def test_every_expression_is_there():
    assert list(THEIRS) == list(dict.fromkeys(keras_ops_values.EXPRESSIONS))


@pytest.mark.parametrize("text", THEIRS)
def test_values(text):
    found = keras_ops_values.leaves(eval(text, {**keras_ops_values.NAMES, "ops": ops}))
    assert close(THEIRS[text], found), (THEIRS[text], found)


def test_layers_of_ops():
    """A layer of one's own written with keras.ops, as Keras's guides have it: eager, in a function, in a model."""
    class Linear(keras.layers.Layer):
        def __init__(self, units, **kwargs):
            super().__init__(**kwargs)
            self.units = units

        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="ones")
            self.b = self.add_weight(shape=(self.units,), initializer="zeros")

        def call(self, inputs):
            return ops.relu(ops.matmul(inputs, self.w) + self.b)

    x = np.array([[1.0, 2.0], [-3.0, 1.0]], np.float32)
    layer = Linear(3)
    want = np.array([[3.0] * 3, [0.0] * 3])
    np.testing.assert_array_equal(layer(x), want)
    np.testing.assert_array_equal(tf.function(layer)(tf.constant(x)), want)
    inputs = keras.Input((2,))
    hidden = layer(inputs)
    outputs = ops.concatenate([hidden, ops.mean(inputs, axis=-1, keepdims=True), ops.zeros_like(inputs)], axis=-1)
    model = keras.Model(inputs, ops.softmax(outputs * 2))
    logits = 2 * np.concatenate([want, x.mean(1, keepdims=True), 0 * x], 1)
    np.testing.assert_allclose(model(x), np.exp(logits) / np.exp(logits).sum(1, keepdims=True), rtol=1e-6)
    with tf.GradientTape() as tape:
        loss = ops.sum(ops.square(layer(x)))
    np.testing.assert_array_equal(tape.gradient(loss, layer.b), [6.0] * 3)


def test_open_lengths():
    """Functions that need a shape work where the length of the batch is open."""
    inputs = keras.Input((3,))
    for name in ("isnan", "isfinite", "isinf", "signbit", "zeros_like", "ones_like", "nansum", "nan_to_num", "var",
                 "normalize", "sort", "cumsum", "flip", "isreal"):
        x = np.array([[1.0, -2.0, 3.0]], np.float32)
        model = keras.Model(inputs, ops.cast(getattr(ops, name)(inputs), "float32"))
        np.testing.assert_allclose(model(x), ops.cast(getattr(ops, name)(x), "float32"), rtol=1e-6, err_msg=name)
    assert keras.Model(inputs, ops.full_like(inputs, 7.0))(np.ones((2, 3), np.float32)).numpy().tolist() == [[7.0] * 3] * 2


def test_own_gradients_and_vectorize():
    @ops.custom_gradient
    def log1pexp(x):
        e = ops.exp(x)

        def grad(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            return ops.multiply(upstream, 1.0 - 1.0 / ops.add(1, e))
        return ops.log(1 + e), grad

    x = tf.constant(100.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = log1pexp(x)
    assert float(tape.gradient(y, x)) == 1.0
    product = ops.vectorize(lambda a, b: a * b + 1)
    np.testing.assert_array_equal(product(np.ones((2, 3), np.float32), np.arange(3, dtype=np.float32)), [[1, 2, 3]] * 2)


def test_mistakes():
    for call, text in ((lambda: ops.softmax(np.ones((2, 3)), axis=5), "axis"),
                       (lambda: ops.expand_dims(np.ones(2), 7), "out of bounds"),
                       (lambda: ops.normalize(np.ones(2), order=0), "order"),
                       (lambda: ops.cast([1], "int13"), "Invalid dtype"),
                       (lambda: ops.image.pad_images(np.ones((4, 4, 1)), 1), "exactly two"),
                       (lambda: ops.image.crop_images(np.ones((4, 4, 1)), 2, 0, 2, 0), "leaves nothing")):
        with pytest.raises(Exception, match=text):
            call()
    for call in (lambda: ops.convert_to_tensor(["text"]), lambda: ops.cast([1], "float16")):
        with pytest.raises(TypeError, match="there are no tensors of"):
            call()
    with pytest.raises(NotImplementedError, match="KERAS_BACKEND"):
        ops.scatter_update(np.ones((2, 2), np.float32), [[0, 0]], [2.0], reduction="mul")


def test_what_needs_values_ends_the_trace():
    found = tf.function(lambda x: ops.nonzero(x))
    with pytest.warns(UserWarning, match="runs without a trace"):
        assert found(tf.constant([0.0, 2.0, 3.0]))[0].numpy().tolist() == [1, 2]
    assert found(tf.constant([4.0, 0.0]))[0].numpy().tolist() == [0]

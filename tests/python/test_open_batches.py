"""One trace for batches of any size: layers in a function whose input_signature leaves the batch open, with gradients."""
import numpy as np
import pytest

import capstan as tf

L = tf.keras.layers
IMAGE, SERIES, VOLUME = (8, 8, 4), (8, 4), (4, 4, 4, 4)


class Attends(L.Layer):
    """Self-attention, called as a layer of one tensor."""

    def __init__(self, inner, lists=False):
        super().__init__()
        self.inner, self.lists = inner, lists

    def call(self, x):
        return self.inner([x, x]) if self.lists else self.inner(x, x)


CASES = {
    "Conv1D": (lambda: L.Conv1D(4, 3, padding="same"), SERIES),
    "Conv2D": (lambda: L.Conv2D(4, 3, padding="same"), IMAGE),
    "Conv3D": (lambda: L.Conv3D(4, 2, padding="same"), VOLUME),
    "Conv1DTranspose": (lambda: L.Conv1DTranspose(4, 3, padding="same"), SERIES),
    "Conv2DTranspose": (lambda: L.Conv2DTranspose(4, 3, strides=2), (4, 4, 4)),
    "Conv3DTranspose": (lambda: L.Conv3DTranspose(4, 2, padding="same"), VOLUME),
    "DepthwiseConv2D": (lambda: L.DepthwiseConv2D(3, padding="same"), IMAGE),
    "SeparableConv2D": (lambda: L.SeparableConv2D(4, 3, padding="same"), IMAGE),
    "MaxPooling1D": (lambda: L.MaxPooling1D(2), SERIES),
    "AveragePooling3D": (lambda: L.AveragePooling3D(2), VOLUME),
    "AdaptiveAveragePooling2D": (lambda: L.AdaptiveAveragePooling2D(3), IMAGE),
    "UpSampling1D": (lambda: L.UpSampling1D(2), SERIES),
    "UpSampling2D": (lambda: L.UpSampling2D(2), (4, 4, 2)),
    "Cropping2D": (lambda: L.Cropping2D(1), IMAGE),
    "ZeroPadding1D": (lambda: L.ZeroPadding1D(1), SERIES),
    "GroupNormalization": (lambda: L.GroupNormalization(2), IMAGE),
    "BatchNormalization": (L.BatchNormalization, IMAGE),
    "SimpleRNN": (lambda: L.SimpleRNN(4, return_sequences=True), SERIES),
    "LSTM": (lambda: L.LSTM(4, return_sequences=True), SERIES),
    "GRU": (lambda: L.GRU(4, return_sequences=True, reset_after=False), SERIES),
    "ConvLSTM1D": (lambda: L.ConvLSTM1D(4, 3, padding="same", return_sequences=True), (3, 8, 4)),
    "TimeDistributed": (lambda: L.TimeDistributed(L.Dense(4, activation="tanh")), SERIES),
    "EinsumDense": (lambda: L.EinsumDense("abc,cd->abd", output_shape=(None, 4)), SERIES),
    "MultiHeadAttention": (lambda: Attends(L.MultiHeadAttention(2, 4)), SERIES),
    "GroupQueryAttention": (lambda: Attends(L.GroupQueryAttention(4, 2, 1)), SERIES),
    "Attention": (lambda: Attends(L.Attention(), lists=True), SERIES),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    make, shape = CASES[name]
    layers = [make(), make()]

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layers[1](layers[0](x))
            loss = tf.reduce_mean(tf.sin(y))
        variables = [v for layer in layers for v in layer.trainable_variables]
        return [loss, y, *tape.gradient(loss, [x, *variables])]

    step(tf.ones([2, *shape]))
    traced = tf.function(step, input_signature=[tf.TensorSpec([None, *shape])])
    for batch in (2, 5, 9, 3, 1):
        x = tf.random.normal([batch, *shape], seed=batch)
        for is_, wanted in zip(traced(x), step(x)):
            np.testing.assert_allclose(is_, wanted, rtol=2e-4, atol=2e-6)
    # One, and one for a batch of one, whose axes broadcast. The gradient of adaptive pooling has the batch within a
    # length that it writes, so it has one for each.
    assert traced.experimental_get_tracing_count() == (5 if name == "AdaptiveAveragePooling2D" else 2)


def test_control_flow():
    v = tf.Variable(1.5)

    def f(x):
        total = tf.zeros_like(x[:, 0])
        for column in tf.transpose(x):
            total = total * v + column
        while tf.reduce_mean(total) < 20.0:
            total = total * 2.0 + 1.0
        if tf.reduce_sum(x) > 0.0:
            total = total * v
        return total

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = g(x)
            loss = tf.reduce_sum(y ** 2)
        return [y, *tape.gradient(loss, [x, v])]

    g = tf.function(f, input_signature=[tf.TensorSpec([None, 3])])
    h = tf.function(f)
    open_step = tf.function(step, input_signature=[tf.TensorSpec([None, 3])])
    for batch in (2, 5, 7, 4):
        x = tf.random.normal([batch, 3], seed=batch)
        np.testing.assert_array_equal(g(x), h(x))
        wanted = step(x)
        for is_, one in zip(open_step(x), wanted):
            np.testing.assert_allclose(is_, one, rtol=1e-5)


def test_what_depends_on_a_length_has_a_trace_for_each():
    functions = [lambda x: tf.zeros([tf.shape(x)[0], 4]) + x[:, 0], lambda x: tf.ones(tf.shape(x)) + x,
                 lambda x: tf.reshape(x, [tf.shape(x)[0], -1]), lambda x: tf.reshape(x, [2, -1]),
                 lambda x: tf.reshape(x, [4, 3 * x.shape[0]]), lambda x: x[0:2], lambda x: x * x.shape[0],
                 lambda x: x[:, 0] + tf.cast(tf.range(tf.shape(x)[0]), tf.float32)[:, None],
                 lambda x: tf.eye(3, batch_shape=[tf.shape(x)[0]]) + x[..., :3]]
    for f in functions:
        traced = tf.function(f, input_signature=[tf.TensorSpec([None, 3, 4])])
        for batch in (2, 4, 8, 6):
            x = tf.random.normal([batch, 3, 4], seed=batch)
            np.testing.assert_array_equal(traced(x), f(x))
    noise = tf.function(lambda x: tf.random.normal([tf.shape(x)[0], 2]), input_signature=[tf.TensorSpec([None])])
    assert [noise(tf.ones([n])).shape[0] for n in (2, 3, 5)] == [2, 3, 5]

"""Weights in `.weights.h5` files between Capstan and Keras: Keras's side. See README.md.

keras_weights.py PROGRAM FOLDER    PROGRAM is keras_weights_check
"""
import sys

import keras
import numpy
from keras import layers

from cases import both_directions


def convolutions():
    return keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"), layers.BatchNormalization(),
        layers.Conv2D(3, 3, padding="same"), layers.DepthwiseConv2D(3), layers.Flatten(), layers.Dense(3)])


def attention():
    x = keras.Input((5, 6))
    shared = layers.Dense(6, activation="tanh")
    h = layers.LayerNormalization()(shared(x))
    a = layers.MultiHeadAttention(2, 3)(query=h, value=h)
    given = keras.Input((6,))
    inner = keras.Model(given, layers.Dense(3)(layers.Dense(4, activation="elu")(given)))
    pooled = layers.GlobalAveragePooling1D()(layers.Add()([shared(x), a]))
    return keras.Model(x, inner(pooled))


def recurrent():
    return keras.Sequential([
        keras.Input((6, 3)), layers.LSTM(4, return_sequences=True),
        layers.Bidirectional(layers.GRU(3, return_sequences=True)), layers.TimeDistributed(layers.Dense(4)),
        layers.SimpleRNN(5), layers.Dense(3)])


CASES = {
    "convolutions": (convolutions, (6, 8, 8, 1), lambda: keras.optimizers.Adam(0.01)),
    "attention": (attention, (6, 5, 6), lambda: keras.optimizers.SGD(0.05, momentum=0.9)),
    "recurrent": (recurrent, (6, 6, 3), lambda: keras.optimizers.RMSprop(0.01)),
}


def made(name):
    make, shape, optimizer = CASES[name]
    keras.utils.clear_session()  # so that layers are named as in a program of their own
    model = make()
    model.compile(optimizer=optimizer(), loss="mse")
    return model, shape


def losses_of(model, x, y):
    losses = []
    for _ in range(3):
        model.reset_metrics()
        losses.append(float(model.train_on_batch(x, y)))
    return losses


def write(folder):
    generator = numpy.random.default_rng(7)
    for name in CASES:
        model, shape = made(name)
        x, y = (generator.random(size, numpy.float32) for size in (shape, (6, 3)))
        losses_of(model, x, y)
        model.save_weights(folder / f"{name}.weights.h5")
        outputs = model.predict(x, verbose=0)
        numpy.savez(folder / f"{name}.npz", x=x, y=y, outputs=outputs, losses=losses_of(model, x, y))


def load(path, name):
    arrays = numpy.load(path / f"{name}.npz")
    model, _ = made(name)
    model.optimizer.build(model.trainable_variables)
    model.load_weights(path / f"{name}.weights.h5")
    outputs = numpy.abs(model.predict(arrays["x"], verbose=0) - arrays["outputs"]).max()
    losses = numpy.abs(losses_of(model, arrays["x"], arrays["y"]) - arrays["losses"]).max()
    text = f"outputs {outputs:.1e}, losses after it {losses:.1e} apart"
    if outputs > 1e-5 or losses > 1e-5:
        raise AssertionError(text)
    return text


def read(folder, cases):
    for name in CASES:
        cases.run(name, load, folder, name)


if __name__ == "__main__":
    both_directions(read, write, *sys.argv[1:])

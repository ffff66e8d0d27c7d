"""Checkpoints of trainings between Capstan and TensorFlow: TensorFlow's side. See README.md.

tensorflow_checkpoints.py PROGRAM FOLDER    PROGRAM is tensorflow_checkpoints_check
"""
import sys

import keras
import numpy
import tensorflow as tf
from keras import layers

from cases import both_directions, equal


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.first = layers.Dense(3, activation="relu")
        self.normalize = layers.BatchNormalization()

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

    def call(self, x):
        return self.normalize(self.first(x * self.scale))


class Named(keras.Model):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.chain = keras.Sequential([layers.Dense(4), layers.ReLU(), layers.Dense(2)])

    def call(self, x, training=None):
        return self.chain(self.block(x))


class Unnamed(keras.Model):
    def __init__(self):
        super().__init__()
        self.both = [layers.Dense(3), layers.Dense(4)]
        self.end = layers.Dense(2)

    def call(self, x):
        return self.end(self.both[1](self.both[0](x)))


def convolutions():
    return keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(4, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(),
        layers.MaxPooling2D(), layers.SeparableConv2D(5, 3), layers.DepthwiseConv2D(2), layers.Conv2DTranspose(3, 2),
        layers.LayerNormalization(), layers.Dropout(0), layers.Flatten(), layers.Dense(3, activation="softmax")])


def shared():
    left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    dense = layers.Dense(3, activation="tanh")
    pair = [dense(left), dense(right)]
    return keras.Model([left, right], [layers.Dense(2)(layers.Concatenate()(pair)),
                                       layers.Dense(1)(layers.Subtract()(pair))])


def nested():
    first = keras.Input((4,))
    inner = keras.Model(first, layers.Dense(4, activation="tanh")(first))
    chain = keras.Sequential([keras.Input((4,)), layers.Dense(4), layers.ELU()])
    x = keras.Input((4,))
    y = chain(chain(inner(inner(x))))
    return keras.Model(x, layers.Dense(2)(layers.Add()([x, inner(y)])))


def attention():
    x = keras.Input((5, 6))
    h = layers.LayerNormalization()(x)
    a = layers.MultiHeadAttention(2, 3)(h, h)
    b = layers.GroupQueryAttention(2, 4, 2)(a, a)
    return keras.Model(x, layers.Dense(2)(layers.GlobalAveragePooling1D()(layers.Add()([x, b]))))


def recurrent():
    x = keras.Input((6, 3))
    one = layers.LSTM(4, return_sequences=True)(x)
    both = layers.Bidirectional(layers.GRU(3, return_sequences=True))(one)
    each = layers.TimeDistributed(keras.Sequential([layers.Dense(4), layers.ReLU()]))(both)
    ends = [layers.SimpleRNN(3)(each), layers.RNN(layers.LSTMCell(3))(each)]
    return keras.Model(x, layers.Dense(2)(layers.Concatenate()(ends)))


def stacked():
    cells = layers.StackedRNNCells([layers.LSTMCell(3), layers.GRUCell(2)])
    return keras.Sequential([keras.Input((6, 3)), layers.Dense(4), layers.RNN(cells), layers.Dense(2)])


def words():
    return keras.Sequential([
        keras.Input((7,), dtype="int32"), layers.Embedding(11, 5, mask_zero=True), layers.Dropout(0),
        layers.LSTM(4, return_sequences=True), layers.Dense(3), layers.GRU(3), layers.Dense(2)])


def masks():
    x, given = keras.Input((7, 3)), keras.Input((7,), dtype="int32")
    a = layers.Dense(4)(layers.Masking()(x))
    b = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(a)
    c = layers.Embedding(11, 5, mask_zero=True)(given)
    d = layers.GRU(3)(layers.Dense(2)(c))
    return keras.Model([x, given], layers.Dense(2)(layers.Concatenate()([layers.GRU(2)(b), d])))


def plain():
    return keras.Sequential([keras.Input((3,)), layers.Dense(4, activation="tanh"), layers.Dense(2)])


o = keras.optimizers
CASES = {
    "convolutions": (convolutions, [(6, 8, 8, 1)], [(6, 3)], lambda: o.Adam(0.01)),
    "shared": (shared, [(6, 4), (6, 4)], [(6, 2), (6, 1)], lambda: o.SGD(0.05, momentum=0.9)),
    "nested": (nested, [(6, 4)], [(6, 2)], lambda: o.RMSprop(o.schedules.ExponentialDecay(0.01, 2, 0.5))),
    "attention": (attention, [(6, 5, 6)], [(6, 2)], lambda: o.AdamW(0.01)),
    "recurrent": (recurrent, [(6, 6, 3)], [(6, 2)], lambda: o.Nadam(0.01)),
    "stacked": (stacked, [(6, 6, 3)], [(6, 2)], lambda: o.Adam(0.01)),
    "words": (words, [(6, 7)], [(6, 2)], lambda: o.Lion(0.001)),
    "masks": (masks, [(6, 7, 3), (6, 7)], [(6, 2)], lambda: o.SGD(0.01, momentum=0.5)),
    "named": (Named, [(6, 4)], [(6, 2)], o.Adagrad),
    "unnamed": (Unnamed, [(6, 4)], [(6, 2)], o.Adam),
}
# Without ScheduleFreeAdamW: what Keras keeps of the step before is changed by the step itself on TensorFlow.
OPTIMIZERS = {
    "SGD": o.SGD,
    "Adam": lambda: o.Adam(amsgrad=True),
    "RMSprop": lambda: o.RMSprop(momentum=0.5, centered=True),
    "Adagrad": o.Adagrad,
    "Adadelta": o.Adadelta,
    "Adamax": o.Adamax,
    "Nadam": o.Nadam,
    "Ftrl": o.Ftrl,
    "Lion": o.Lion,
    "Lamb": o.Lamb,
    "Adafactor": o.Adafactor,
    "Muon": o.Muon,
    "LossScaleOptimizer": lambda: o.LossScaleOptimizer(o.SGD(momentum=0.5)),
    "averages": lambda: o.Adam(use_ema=True, gradient_accumulation_steps=2),
}
CASES.update({f"optimizer_{name}": (plain, [(6, 3)], [(6, 2)], make) for name, make in OPTIMIZERS.items()})


def one_or_all(arrays):
    return arrays[0] if len(arrays) == 1 else arrays


def training(name, given):
    """The model, compiled, with its weights; and the optimizer."""
    make, _, outputs, make_optimizer = CASES[name]
    model, optimizer = make(), make_optimizer()
    model(given)
    losses = keras.losses.MeanSquaredError() if len(outputs) == 1 else ["mse", "mse"]
    model.compile(optimizer=optimizer, loss=losses)
    return model, optimizer


def losses_after(model, x, y):
    losses = []
    for _ in range(3):
        model.reset_metrics()
        losses.append(numpy.ravel(model.train_on_batch(x, y))[0])
    return numpy.array(losses)


def predict(model, x):
    outputs = model.predict(x, verbose=0)
    return outputs if isinstance(outputs, list) else [outputs]


def write(folder):
    generator = numpy.random.default_rng(7)
    for name, (_, input_shapes, output_shapes, _) in CASES.items():
        x = [generator.integers(0, 11, shape).astype(numpy.int32) if shape == (6, 7)
             else generator.random(shape, numpy.float32) for shape in input_shapes]
        y = [generator.random(shape, numpy.float32) for shape in output_shapes]
        given, wanted = one_or_all(x), one_or_all(y)
        model, optimizer = training(name, given)
        for _ in range(3):
            model.train_on_batch(given, wanted)
        checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=tf.Variable(3))
        tf.train.CheckpointManager(checkpoint, folder / name, max_to_keep=2).save()
        arrays = {f"{kind}{i}": a for kind, all_of in (("x", x), ("y", y), ("output", predict(model, given)))
                  for i, a in enumerate(all_of)}
        numpy.savez(folder / f"{name}.npz", losses=losses_after(model, given, wanted), **arrays)


def restored(name, folder, given, is_built):
    model, optimizer = training(name, given)
    if is_built:
        optimizer.build(model.trainable_variables)
    step = tf.Variable(0)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step)
    manager = tf.train.CheckpointManager(checkpoint, folder / name, max_to_keep=2)
    status = checkpoint.restore(manager.latest_checkpoint)
    if is_built:
        status.assert_consumed()
        equal("step", step.numpy(), 3)
        equal("save_counter", checkpoint.save_counter.numpy(), 1)
    return model, status


def read_tensors(folder):
    """Tensors that were written by their names, both ways to find them."""
    for how in ("restore", "read"):
        layer = tf.Module()
        layer.kernel, step = tf.Variable([[0.0, 0.0]]), tf.Variable(0)
        getattr(tf.train.Checkpoint(layer=layer, step=step), how)(str(folder / "tensors")).assert_consumed()
        equal(how, (step.numpy(), layer.kernel.numpy().tolist()), (7, [[1.5, 2.5]]))


def compare(folder, name):
    arrays = numpy.load(folder / f"{name}.npz")
    parts = {kind: [arrays[f"{kind}{i}"] for i in range(9) if f"{kind}{i}" in arrays] for kind in ("x", "y", "output")}
    x, y = one_or_all(parts["x"]), one_or_all(parts["y"])
    losses = 0
    # Slots that are made later, which TensorFlow finds by attributes alone, and slots that are there.
    if name not in ("unnamed", "stacked"):
        later, status = restored(name, folder, x, False)
        losses = numpy.abs(losses_after(later, x, y) - arrays["losses"]).max()
        status.assert_consumed()
    model, _ = restored(name, folder, x, True)
    outputs = max(numpy.abs(a - b).max() for a, b in zip(predict(model, x), parts["output"], strict=True))
    losses = max(losses, numpy.abs(losses_after(model, x, y) - arrays["losses"]).max())
    text = f"outputs {outputs:.1e}, losses after it {losses:.1e} apart"
    if outputs > 2e-5 or losses > 2e-5:
        raise AssertionError(text)
    return text


def read(folder, cases):
    cases.run("tensors", read_tensors, folder)
    for name in CASES:
        cases.run(name, compare, folder, name)


if __name__ == "__main__":
    both_directions(read, write, *sys.argv[1:])

"""Models in `.keras` archives and `.h5` files between Capstan and Keras: Keras's side. See README.md.

keras_archives.py PROGRAM FOLDER    PROGRAM is keras_archives_check
"""
import sys

import h5py
import keras
import numpy
from keras import layers

from cases import both_directions


@keras.saving.register_keras_serializable(package="interop")
class Net(keras.Model):
    def __init__(self, width=3, **options):
        super().__init__(**options)
        self.width = width
        self.first = layers.Dense(width, activation="relu")
        self.second = layers.Dense(2)

    def call(self, x):
        return self.second(self.first(x))

    def get_config(self):
        return {**super().get_config(), "width": self.width}


def convolutions():
    return keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(4, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(),
        layers.MaxPooling2D(), layers.DepthwiseConv2D(3), layers.GroupNormalization(2), layers.Flatten(),
        layers.Dense(3, activation="softmax", kernel_regularizer="l2")])


def shared():
    left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    dense = layers.Dense(3, activation="tanh")
    pair = [dense(left), dense(right)]
    return keras.Model({"left": left, "right": right}, [layers.Dense(2)(layers.Concatenate()(pair)),
                                                        layers.Dense(1)(layers.Subtract()(pair))])


def nested():
    first = keras.Input((4,))
    inner = keras.Model(first, layers.Dense(4, activation="tanh")(first))
    chain = keras.Sequential([keras.Input((4,)), layers.Dense(4), layers.ELU()])
    x = keras.Input((4,))
    y = chain(chain(inner(inner(x))))
    return keras.Model(x, layers.Dense(2)(layers.Add()([x, inner(y)])))


def attention():
    x = keras.Input((None, 6))
    h = layers.LayerNormalization()(x)
    a = layers.MultiHeadAttention(2, 3)(query=h, value=h, use_causal_mask=True)
    y = layers.Add()([x, a])
    return keras.Model(x, layers.Dense(2)(layers.GlobalAveragePooling1D()(y)))


def recurrent():
    x, start = keras.Input((6, 3)), keras.Input((4,))
    sequence, hidden, _ = layers.LSTM(4, return_sequences=True, return_state=True)(x, initial_state=[start, start])
    both = layers.Bidirectional(layers.GRU(3, return_sequences=True))(sequence)
    each = layers.TimeDistributed(keras.Sequential([layers.Dense(4), layers.ReLU()]))(both)
    return keras.Model([x, start], layers.Dense(2)(layers.Concatenate()([layers.Flatten()(each), hidden])))


def words():
    x = keras.Input((None,), dtype="int32")
    h = layers.Embedding(11, 5, mask_zero=True)(x)
    return keras.Model(x, layers.Dense(2)(layers.LSTM(4)(h)))


def ops():
    x, y = keras.Input((7,), dtype="int32"), keras.Input((4, 3))
    h = layers.Embedding(11, 5, mask_zero=True)(x)
    h = layers.Bidirectional(layers.LSTM(4, return_sequences=True))(h)
    h = layers.GlobalAveragePooling1D()(layers.TimeDistributed(layers.Dense(3))(h))
    c = layers.Concatenate()([h, layers.GRU(5)(layers.Masking()(y))])
    c = 1.0 - c / 255.0
    c = keras.ops.relu(c * 2 + c)
    c = c - keras.ops.mean(c, axis=1, keepdims=True)
    c = keras.ops.expand_dims(c, 1)[:, 0]
    c = keras.ops.concatenate([c, keras.ops.cast(x, "float32") / 7], axis=-1)
    c = keras.ops.where(c > 0, c, 0.1 * keras.ops.tanh(c))
    c = keras.ops.sqrt(keras.ops.exp(keras.ops.reshape(c, (-1, 5, 3))) ** 2)
    c = keras.ops.matmul(keras.ops.transpose(c, (0, 2, 1)), c)
    return keras.Model([x, y], layers.Dense(2)(layers.Flatten()(keras.ops.softmax(c))))


CASES = {
    "convolutions": (convolutions, [(6, 8, 8, 1)], [(6, 3)], keras.optimizers.Adam(0.01)),
    "shared": (shared, [(6, 4), (6, 4)], [(6, 2), (6, 1)], keras.optimizers.SGD(0.05, momentum=0.9)),
    "nested": (nested, [(6, 4)], [(6, 2)],
               keras.optimizers.RMSprop(keras.optimizers.schedules.ExponentialDecay(0.01, 2, 0.5))),
    "attention": (attention, [(6, 5, 6)], [(6, 2)], keras.optimizers.AdamW(0.01)),
    "recurrent": (recurrent, [(6, 6, 3), (6, 4)], [(6, 2)], keras.optimizers.Nadam(0.01)),
    "words": (words, [(6, 7)], [(6, 2)], keras.optimizers.Lion(0.001)),
    "ops": (ops, [(6, 7), (6, 4, 3)], [(6, 2)], keras.optimizers.Adamax(0.01)),
    "own_class": (Net, [(6, 4)], [(6, 2)], keras.optimizers.Adagrad()),
}


# What Keras cannot write to an .h5 file (variables of the optimizer have one name), or not read from it (operations; a
# class without an input shape).
NOT_IN_H5 = {"Adafactor", "scaled", "ops", "words", "own_class"}


def small():
    return keras.Sequential([keras.Input((4,)), layers.Dense(6, activation="tanh"), layers.Dense(3, activation="softmax")])


def compiled_otherwise():
    """By name, what else a small model may be compiled with: an optimizer, a loss and metrics."""
    optimizers, schedules = keras.optimizers, keras.optimizers.schedules
    made = {}
    for name in ("Adadelta", "Ftrl", "Lamb", "Adafactor", "Muon"):
        made[name] = (getattr(optimizers, name)(0.01), "mse", [])
    for name, optimizer in {
            "amsgrad": optimizers.Adam(0.01, amsgrad=True, clipnorm=0.5), "global_clipnorm": optimizers.Adam(0.01, global_clipnorm=0.1),
            "nesterov": optimizers.SGD(0.01, momentum=0.9, nesterov=True, weight_decay=0.01),
            "centered": optimizers.RMSprop(0.01, momentum=0.5, centered=True),
            "moving_average": optimizers.Adam(0.01, use_ema=True, ema_overwrite_frequency=2),
            "accumulated": optimizers.SGD(0.01, gradient_accumulation_steps=2),
            "scaled": optimizers.LossScaleOptimizer(optimizers.Adam(0.01), dynamic_growth_steps=2),
            "cosine": optimizers.SGD(schedules.CosineDecay(0.1, 10, warmup_target=0.2, warmup_steps=3)),
            "restarts": optimizers.SGD(schedules.CosineDecayRestarts(0.1, 2)),
            "inverse_time": optimizers.SGD(schedules.InverseTimeDecay(0.1, 2, 0.5)),
            "piecewise": optimizers.SGD(schedules.PiecewiseConstantDecay([2, 4], [0.1, 0.05, 0.01])),
            "polynomial": optimizers.SGD(schedules.PolynomialDecay(0.1, 5))}.items():
        made[name] = (optimizer, "mse", [])
    for name in ("MeanAbsoluteError", "Huber", "LogCosh", "MeanAbsolutePercentageError", "MeanSquaredLogarithmicError",
                 "CosineSimilarity", "Poisson", "KLDivergence", "CategoricalCrossentropy", "Hinge", "SquaredHinge",
                 "CategoricalHinge", "CategoricalFocalCrossentropy", "Tversky", "Dice"):
        made[name] = ("sgd", getattr(keras.losses, name)(), [])
    for name in ("AUC", "Accuracy", "BinaryAccuracy", "BinaryIoU", "CategoricalAccuracy", "FalseNegatives", "KLDivergence",
                 "MeanSquaredError", "Precision", "R2Score", "Recall", "RootMeanSquaredError", "TopKCategoricalAccuracy"):
        made[f"metric_{name}"] = ("sgd", "mse", [getattr(keras.metrics, name)()])
    return made


def one_or_all(arrays):
    return arrays[0] if len(arrays) == 1 else arrays


def write_compiled_otherwise(folder):
    generator = numpy.random.default_rng(8)
    for name, (optimizer, loss, metrics) in compiled_otherwise().items():
        model = small()
        x = generator.random((6, 4), numpy.float32)
        y = numpy.eye(3, dtype="float32")[generator.integers(0, 3, 6)] * 0.9 + 0.05
        model.compile(optimizer=optimizer, loss=loss, metrics=metrics, run_eagerly=True)
        losses = []
        for step in range(6):
            model.reset_metrics()
            losses.append(numpy.ravel(model.train_on_batch(x, y))[0])
            if step == 2:
                model.save(folder / f"{name}.keras")
                if name not in NOT_IN_H5:
                    model.save(folder / f"{name}.h5")
                outputs = numpy.asarray(model(x))
        numpy.savez(folder / f"{name}.npz", losses=losses[3:], x0=x, y0=y, output0=outputs)


def write(folder):
    write_compiled_otherwise(folder)
    generator = numpy.random.default_rng(7)
    for name, (make, input_shapes, output_shapes, optimizer) in CASES.items():
        model = make()
        x = [generator.random(shape, numpy.float32) for shape in input_shapes]
        if name in ("words", "ops"):
            x[0] = generator.integers(0, 11, input_shapes[0]).astype(numpy.int32)
        y = [generator.random(shape, numpy.float32) for shape in output_shapes]
        given = {"left": x[0], "right": x[1]} if name == "shared" else one_or_all(x)
        losses = keras.losses.MeanSquaredError() if len(y) == 1 else ["mse", "mse"]
        model.compile(optimizer=optimizer, loss=losses)
        for _ in range(3):
            model.train_on_batch(given, one_or_all(y))
        model.save(folder / f"{name}.keras")
        if name not in NOT_IN_H5:
            model.save(folder / f"{name}.h5")
        outputs = model.predict(given, verbose=0)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        after = []
        for _ in range(3):
            model.reset_metrics()
            after.append(numpy.ravel(model.train_on_batch(given, one_or_all(y)))[0])
        arrays = {f"{kind}{i}": a for kind, all_of in (("x", x), ("y", y), ("output", outputs))
                  for i, a in enumerate(all_of)}
        numpy.savez(folder / f"{name}.npz", losses=numpy.array(after), **arrays)


def give_optimizer(model, path):
    """What load_model() means to do with the optimizer in an .h5 file, but builds it for no variables."""
    optimizer = type(model.optimizer).from_config(model.optimizer.get_config())
    optimizer.build(model.trainable_variables)
    with h5py.File(path) as file:
        group = file["optimizer_weights"]
        for variable, name in zip(optimizer.variables, group.attrs["weight_names"], strict=True):
            variable.assign(group[name][()])
    model.compile(optimizer, model.loss)


def load(path):
    model = keras.models.load_model(path)
    if path.suffix == ".h5":
        give_optimizer(model, path)
    arrays = numpy.load(path.with_suffix(".npz"))
    parts = {kind: [arrays[f"{kind}{i}"] for i in range(9) if f"{kind}{i}" in arrays] for kind in ("x", "y", "output")}
    x, y = one_or_all(parts["x"]), one_or_all(parts["y"])
    outputs = model.predict(x, verbose=0)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    in_outputs = max(numpy.abs(a - b).max() for a, b in zip(outputs, parts["output"], strict=True))
    in_losses = 0
    for wanted in arrays["losses"]:
        model.reset_metrics()
        in_losses = max(in_losses, abs(numpy.ravel(model.train_on_batch(x, y))[0] - wanted))
    text = f"outputs {in_outputs:.1e}, losses after it {in_losses:.1e} apart"
    if not (in_outputs < 1e-5 and in_losses < 1e-5):
        raise AssertionError(text)
    return text


def read(folder, cases):
    for path in sorted([*folder.glob("*.keras"), *folder.glob("*.h5")]):
        cases.run(path.name, load, path)


if __name__ == "__main__":
    both_directions(read, write, *sys.argv[1:])

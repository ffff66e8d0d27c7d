"""Every layer of Keras that gives the same for the same input, alone in a `.keras` archive: Keras's side. See README.md.

keras_layers.py PROGRAM FOLDER    PROGRAM is keras_layers_check

Capstan loads what Keras wrote, and Keras loads what Capstan then writes.
"""
import pathlib
import sys

import keras
import numpy
from keras import layers

from cases import Cases


def one_or_all(arrays):
    return arrays[0] if len(arrays) == 1 else arrays


def one_layer(layer, *shapes):
    """A model of one layer, whose weights are random numbers."""
    inputs = [keras.Input(shape) for shape in shapes]
    return with_weights(keras.Model(one_or_all(inputs), layer(one_or_all(inputs))))


def one_layer_of_attention(layer, shape):
    x = keras.Input(shape)
    return with_weights(keras.Model(x, layer(x, x)))


def with_weights(model):
    generator = numpy.random.default_rng(3)
    for weight in model.weights:
        if weight.dtype == "float32":
            weight.assign(generator.uniform(0.1, 0.9, weight.shape))
    return model


def adapted(layer, data):
    x = keras.Input(data.shape[1:])
    model = keras.Model(x, layer(x))
    layer.adapt(data)
    return model


def layer_models():
    """By name, the layers that give the same for the same input, each with inputs that it takes."""
    line, plane, space = (7, 4), (6, 7, 4), (4, 5, 6, 2)
    rank = {1: line, 2: plane, 3: space}
    cell = layers.StackedRNNCells([layers.LSTMCell(3), layers.GRUCell(2), layers.SimpleRNNCell(2)])
    numbers = numpy.linspace(-1, 3, 40).reshape(10, 4)
    made = {
        "Activation": one_layer(layers.Activation("gelu"), line), "ELU": one_layer(layers.ELU(0.3), line),
        "LeakyReLU": one_layer(layers.LeakyReLU(0.2), line), "PReLU": one_layer(layers.PReLU(shared_axes=[1]), line),
        "ReLU": one_layer(layers.ReLU(0.8, 0.1, 0.2), line), "Softmax": one_layer(layers.Softmax(1), line),
        "ActivityRegularization": one_layer(layers.ActivityRegularization(0.1), line),
        "Dense": one_layer(layers.Dense(3, "swish", kernel_initializer="he_normal", bias_constraint="non_neg"), line),
        "EinsumDense": one_layer(layers.EinsumDense("abc,cd->abd", (None, 5), bias_axes="d"), line),
        "Identity": one_layer(layers.Identity(), line), "Masking": one_layer(layers.Masking(0.5), line),
        "Embedding": one_layer(layers.Embedding(9, 3), (7,)), "Flatten": one_layer(layers.Flatten(), plane),
        "Permute": one_layer(layers.Permute((2, 1)), line), "RepeatVector": one_layer(layers.RepeatVector(3), (4,)),
        "Reshape": one_layer(layers.Reshape((-1, 2)), line), "Dropout": one_layer(layers.Dropout(0.3), line),
        "AlphaDropout": one_layer(layers.AlphaDropout(0.3), line), "GaussianNoise": one_layer(layers.GaussianNoise(1), line),
        "GaussianDropout": one_layer(layers.GaussianDropout(0.3), line),
        "BatchNormalization": one_layer(layers.BatchNormalization(epsilon=0.01), plane),
        "LayerNormalization": one_layer(layers.LayerNormalization(axis=[1, 2]), line),
        "GroupNormalization": one_layer(layers.GroupNormalization(2), plane),
        "RMSNormalization": one_layer(layers.RMSNormalization(), line),
        "UnitNormalization": one_layer(layers.UnitNormalization(), line),
        "SpectralNormalization": one_layer(layers.SpectralNormalization(layers.Dense(3)), line),
        "Normalization": adapted(layers.Normalization(), numbers),
        "Discretization": one_layer(layers.Discretization([0.2, 0.5]), (4,)),
        "CategoryEncoding": one_layer(layers.CategoryEncoding(9, "multi_hot"), (4,)),
        "Rescaling": one_layer(layers.Rescaling(2.0, -1), plane),
        "Resizing": one_layer(layers.Resizing(4, 9), plane), "CenterCrop": one_layer(layers.CenterCrop(4, 4), plane),

        "SimpleRNN": one_layer(layers.SimpleRNN(3, return_sequences=True), line),
        "LSTM": one_layer(layers.LSTM(3, go_backwards=True, unit_forget_bias=False), line),
        "GRU": one_layer(layers.GRU(3, reset_after=False, recurrent_activation="hard_sigmoid"), line),
        "RNN": one_layer(layers.RNN(cell, return_sequences=True), line),
        "Bidirectional": one_layer(layers.Bidirectional(layers.LSTM(3), merge_mode="sum"), line),
        "TimeDistributed": one_layer(layers.TimeDistributed(layers.Conv1D(2, 2)), (3, 7, 4)),
        "Attention": one_layer(layers.Attention(use_scale=True), line, (5, 4)),
        "AdditiveAttention": one_layer(layers.AdditiveAttention(), line, (5, 4)),
        "GroupQueryAttention": one_layer_of_attention(layers.GroupQueryAttention(3, 4, 2), line),
        "MultiHeadAttention": one_layer_of_attention(layers.MultiHeadAttention(2, 3, output_shape=5), line),
        "Dot": one_layer(layers.Dot(axes=(2, 1)), (3, 4), line[::-1]),
    }
    for name in ("Add", "Average", "Maximum", "Minimum", "Multiply", "Concatenate"):
        made[name] = one_layer(getattr(layers, name)(), line, line, line)
    made["Subtract"] = one_layer(layers.Subtract(), line, line)
    for axes, shape in rank.items():
        def each(name, *arguments, **options):
            made[f"{name}{axes}D"] = one_layer(getattr(layers, f"{name}{axes}D")(*arguments, **options), shape)

        each("SpatialDropout", 0.3)
        each("Conv", 4, 3, padding="same", groups=2)
        made[f"Conv{axes}DTranspose"] = one_layer(getattr(layers, f"Conv{axes}DTranspose")(3, 2, strides=2), shape)
        each("UpSampling", 2)
        each("ZeroPadding", 2)
        each("Cropping", 1)
        for kind in ("Max", "Average"):
            each(f"{kind}Pooling", 2, padding="same")
            each(f"Global{kind}Pooling", keepdims=True)
            each(f"Adaptive{kind}Pooling", 2)
        if axes < 3:
            each("DepthwiseConv", 2, depth_multiplier=2)
            each("SeparableConv", 3, 2, strides=2)
    for axes in (1, 2):
        made[f"ConvLSTM{axes}D"] = one_layer(getattr(layers, f"ConvLSTM{axes}D")(2, 2, padding="same"), (3, *rank[axes]))
    return made


def write(folder):
    generator = numpy.random.default_rng(5)
    for name, model in layer_models().items():
        x = [generator.random((2, *tensor.shape[1:]), numpy.float32) for tensor in model.inputs]
        if name in ("Embedding", "CategoryEncoding"):
            x = [numpy.floor(8 * numbers) for numbers in x]
        model.save(folder / f"{name}.keras")
        numpy.savez(folder / f"{name}.npz", output=numpy.asarray(model(one_or_all(x))),
                    **{f"x{i}": array for i, array in enumerate(x)})


def load(path, arrays):
    model = keras.models.load_model(path)
    output = numpy.asarray(model(one_or_all([arrays[f"x{i}"] for i in range(len(model.inputs))])))
    apart = numpy.abs(output - arrays["output"]).max()
    if not apart < 1e-5:
        raise AssertionError(f"outputs {apart:.1e} apart")
    return f"outputs {apart:.1e} apart"


def main(program, folder):
    folder = pathlib.Path(folder)
    write(folder)
    cases = Cases()
    print("Files of Keras, read by Capstan:", flush=True)
    cases.program(program, "read", folder)
    print("Files of Capstan, read by Keras:", flush=True)
    for path in sorted((folder / "again").glob("*.keras")):
        cases.run(path.stem, load, path, numpy.load(folder / f"{path.stem}.npz"))
    cases.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])

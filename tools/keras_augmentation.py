#!/usr/bin/env python3
"""Makes tests/golden/keras/layers_augmentation.json and layers_audio.json with Keras on TensorFlow.

    python3 -m venv venv && venv/bin/pip install keras==3.15.1 tensorflow-cpu==2.21.0 scipy
    venv/bin/python tools/keras_augmentation.py

The cases have the form of the other files of layers there, see tests/golden/README.md. Layers that draw have a seed, and
what they give while training is Keras's with that seed. Their gradients are left out where TensorFlow's are none: its
gradient of a projective map runs the inverse map.
"""

import json
import os
import pathlib

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

TARGET = pathlib.Path(__file__).parent.parent / "tests" / "golden" / "keras"


def number(x):
    if isinstance(x, np.floating):
        x = float(np.format_float_scientific(x, unique=True))
        return int(x) if x == int(x) and not (x == 0 and np.signbit(x)) else x
    return int(x)


def tensor(x):
    a = np.asarray(x)
    return {"dtype": a.dtype.name, "shape": list(a.shape), "data": [number(v) for v in a.reshape(-1)]}


def images(shape, dtype="float32", scale=255):
    generator = np.random.default_rng(len(shape) + 7 * shape[-2] + 31 * shape[-3])
    if dtype == "uint8":
        return generator.integers(0, 256, shape).astype(dtype)
    return np.round(generator.uniform(0, scale, shape), 2).astype(dtype)


def run(layer, x, training, gradients):
    given = tf.constant(x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(given)
        y = layer(given, training=training)
        cotangent = np.round(np.random.default_rng(3).normal(size=y.shape), 2).astype(y.dtype.name)
        loss = tf.reduce_sum(y * cotangent) if gradients else None
    result = {"outputs": [tensor(y)]}
    if gradients:
        result["input_gradients"] = [tensor(tape.gradient(loss, given))]
        if layer.weights:
            result["weight_gradients"] = {w.path: tensor(tf.convert_to_tensor(tape.gradient(loss, w.value)))
                                          for w in layer.trainable_weights}
    return result, tensor(cotangent) if gradients else None


def case(name, cls, config, x, gradients=True, dtype="float32", only=None, tolerance=None):
    """`only`: "training" takes the values of a call in training, which draws; otherwise both calls are the same."""
    def made():
        keras.backend.clear_session()
        return getattr(keras.layers, cls)(**config, dtype=dtype)

    layer = made()
    inference, cotangent = run(layer, x, False, gradients)
    if only == "training":
        cotangent = run(made(), x, True, gradients)[1]
    one = {"name": f"{cls}/{name}/{dtype}", "layer": cls, "config": config, "dtype": dtype, "input_style": "one",
           "inputs": [tensor(x)],
           "weights": [{"path": w.path, "name": w.name, "trainable": w.trainable, "value": tensor(w.numpy())}
                       for w in layer.weights if w.name != "seed_generator_state"],
           "cotangents": [cotangent]}
    if tolerance is not None:
        one["tolerance"] = tolerance
    if only == "training":
        # A layer of its own, whose first draw this is.
        trained = run(made(), x, True, gradients)[0]
        if cls == "RandomCrop":
            one["upstream_defect"] = "inference gives the images back in their own size, against its documentation"
            size = {key: value for key, value in config.items() if key != "seed"}
            inference = run(keras.layers.Resizing(**size, crop_to_aspect_ratio=True), x, False, gradients)[0]
        one["inference"] = inference
        one["training"] = trained
    else:
        one["inference"] = inference
        one["training"] = "same"
    return one


def augmentation_cases():
    x = images((2, 6, 9, 3))
    wide = images((2, 4, 11, 2))
    single = images((7, 5, 3))
    first = images((2, 3, 6, 9))
    whole = images((2, 6, 9, 3), "uint8")
    for interpolation in ["nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5"]:
        # TensorFlow reads the weights of bicubic from a table, and has no gradient of area.
        tolerance = 1e-3 if interpolation == "bicubic" else None
        for size in [(4, 5), (9, 13)]:
            for antialias in [False, True]:
                yield case(f"{interpolation}_{size[0]}x{size[1]}{'_antialias' if antialias else ''}", "Resizing",
                           {"height": size[0], "width": size[1], "interpolation": interpolation,
                            "antialias": antialias}, x, gradients=interpolation not in ("area", "bicubic"),
                           tolerance=tolerance)
        if interpolation != "bicubic":
            # Of 9 and 7 pixels: no weighted mean lies halfway between two integers.
            yield case(f"{interpolation}_uint8", "Resizing", {"height": 6, "width": 7, "interpolation": interpolation},
                       whole, gradients=False)
    for name, data in [("tall", images((2, 9, 4, 1))), ("wide", wide), ("odd", x), ("single", single)]:
        for size in [(5, 5), (3, 8), (8, 3)]:
            for way in ["crop_to_aspect_ratio", "pad_to_aspect_ratio"]:
                yield case(f"{way[:4]}_{name}_{size[0]}x{size[1]}", "Resizing",
                           {"height": size[0], "width": size[1], way: True, "fill_value": 3.5}, data)
    yield case("channels_first", "Resizing", {"height": 4, "width": 7, "data_format": "channels_first"}, first)
    for name, data, config in [
            ("even", x, {"height": 4, "width": 5}), ("odd", x, {"height": 3, "width": 4}),
            ("whole", x, {"height": 6, "width": 9}), ("small", x, {"height": 8, "width": 4}),
            ("smaller", x, {"height": 12, "width": 12}), ("single", single, {"height": 3, "width": 3}),
            ("uint8", whole, {"height": 4, "width": 5}),
            ("channels_first", first, {"height": 3, "width": 4, "data_format": "channels_first"})]:
        yield case(name, "CenterCrop", config, data, gradients=name != "uint8")

    many = images((5, 6, 7, 2))
    for mode in ["horizontal", "vertical", "horizontal_and_vertical"]:
        yield case(mode, "RandomFlip", {"mode": mode, "seed": 11}, many, only="training")
    yield case("single", "RandomFlip", {"seed": 3}, single, only="training")
    yield case("channels_first", "RandomFlip", {"seed": 5, "data_format": "channels_first"}, first, only="training")

    for fill_mode in ["reflect", "constant", "nearest", "wrap"]:
        for interpolation in ["bilinear", "nearest"]:
            shared = {"fill_mode": fill_mode, "interpolation": interpolation, "seed": 21, "fill_value": 7.5}
            kind = f"{fill_mode}_{interpolation}"
            # Places between pixels are float32 numbers, times steps between pixels of up to 255.
            rest = {"gradients": False, "only": "training", "tolerance": 1e-4}
            yield case(kind, "RandomRotation", {"factor": 0.3, **shared}, many, **rest)
            yield case(kind, "RandomTranslation", {"height_factor": 0.7, "width_factor": [-0.3, 0.9], **shared}, many,
                       **rest)
            yield case(kind, "RandomZoom", {"height_factor": 0.6, "width_factor": [-0.5, 0.8], **shared}, many, **rest)
    rest = {"gradients": False, "only": "training", "tolerance": 1e-4}
    yield case("fixed", "RandomRotation", {"factor": [0.07, 0.07], "seed": 1}, many, **rest)
    yield case("single", "RandomRotation", {"factor": [0.1, 0.4], "seed": 1}, single, **rest)
    yield case("channels_first", "RandomRotation", {"factor": 0.2, "seed": 4, "data_format": "channels_first"}, first,
               **rest)
    yield case("fixed", "RandomTranslation", {"height_factor": [0.25, 0.25], "width_factor": [-0.4, -0.4], "seed": 1},
               many, **rest)
    yield case("single", "RandomTranslation", {"height_factor": 0.4, "width_factor": 0.4, "seed": 2}, single, **rest)
    yield case("fixed", "RandomZoom", {"height_factor": [0.3, 0.3], "width_factor": [-0.2, -0.2], "seed": 1}, many,
               **rest)
    yield case("one_factor", "RandomZoom", {"height_factor": 0.4, "seed": 9}, many, **rest)
    yield case("single", "RandomZoom", {"height_factor": 0.4, "seed": 2}, single, **rest)

    for name, config, data in [
            ("pair", {"factor": [0.2, 0.7], "seed": 6}, many), ("limits", {"factor": [0.1, 1.0], "seed": 2}, many),
            ("unit", {"factor": [0.1, 1.0], "value_range": [0, 1], "seed": 2}, images((3, 4, 5, 2), scale=1)),
            ("single", {"factor": [0.3, 0.4], "seed": 2}, single),
            ("channels_first", {"factor": [0.3, 0.4], "seed": 8, "data_format": "channels_first"}, first)]:
        yield case(name, "RandomContrast", config, data, only="training", tolerance=2e-5)
    # Keras rounds the ends of the range to float32.
    yield case("pair", "RandomContrast", {"factor": [0.25, 0.75], "seed": 6}, many.astype("float64"), only="training",
               dtype="float64")
    for name, config, data in [
            ("number", {"factor": 0.3, "seed": 6}, many), ("fixed", {"factor": [0.25, 0.25], "seed": 6}, many),
            ("darker", {"factor": [-0.5, -0.1], "seed": 6}, many),
            ("unit", {"factor": 0.5, "value_range": [0, 1], "seed": 2}, images((3, 4, 5, 2), scale=1)),
            ("single", {"factor": 0.3, "seed": 2}, single)]:
        yield case(name, "RandomBrightness", config, data, only="training")
    yield case("place", "RandomCrop", {"height": 3, "width": 4, "seed": 7}, many, only="training")
    yield case("single", "RandomCrop", {"height": 2, "width": 3, "seed": 8}, single, only="training")
    yield case("channels_first", "RandomCrop",
               {"height": 3, "width": 4, "seed": 9, "data_format": "channels_first"}, first, only="training")


def audio_cases():
    generator = np.random.default_rng(5)
    signal = np.round(generator.normal(size=(2, 90)), 3).astype("float32")
    stereo = np.round(generator.normal(size=(2, 70, 2)), 3).astype("float32")
    mel = {"fft_length": 32, "sequence_stride": 10, "num_mel_bins": 6, "sampling_rate": 4000}
    for name, config in [("db", {}), ("power", {"power_to_db": False}), ("magnitude", {"power_to_db": False,
                                                                                      "mag_exp": 1.0}),
                         ("hamming", {"window": "hamming"}), ("no_window", {"window": None}),
                         ("short_window", {"sequence_length": 20, "power_to_db": False}),
                         ("band", {"min_freq": 300.0, "max_freq": 1500.0, "power_to_db": False}),
                         ("limits", {"top_db": 10.0, "ref_power": 4.0, "min_power": 0.01})]:
        yield case(name, "MelSpectrogram", {**mel, **config}, signal, tolerance=1e-4)
    yield case("single", "MelSpectrogram", mel, signal[0], tolerance=1e-4)
    stft = {"frame_length": 16}
    for mode in ["log", "magnitude", "psd", "real", "imag", "angle", "stft"]:
        yield case(mode, "STFTSpectrogram", {"mode": mode, **stft}, stereo, tolerance=1e-4, gradients=mode != "angle")
    for name, config in [
            ("steps", {"frame_step": 5, "fft_length": 32}), ("hamming", {"window": "hamming", "periodic": True}),
            ("spectrum", {"scaling": "spectrum"}), ("unscaled", {"scaling": None}),
            ("same", {"padding": "same"}), ("expanded", {"expand_dims": True})]:
        yield case(name, "STFTSpectrogram", {"mode": "magnitude", **stft, **config}, stereo, tolerance=1e-4)


def write(name, cases):
    cases = list(cases)
    assert len({one["name"] for one in cases}) == len(cases)
    compact = {"separators": (",", ":")}
    head = {"made_with": {"keras": keras.__version__, "tensorflow": tf.__version__, "numpy": np.__version__,
                          "backend": "tensorflow"}}
    with open(TARGET / name, "w") as file:
        file.write(json.dumps(head, **compact)[:-1] + ',"cases":[\n')
        file.write(",\n".join(json.dumps(one, **compact) for one in cases) + "\n]}\n")
    print(f"{name}: {len(cases)} cases")


def main():
    write("layers_augmentation.json", augmentation_cases())
    write("layers_audio.json", audio_cases())


if __name__ == "__main__":
    main()

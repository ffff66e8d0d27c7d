"""What functions and transformations of datasets give, for TensorFlow and for this package alike.

    python function_values.py      in an environment with tensorflow-cpu 2.21: writes function_values.json
"""
import json
import os
import pathlib

import numpy as np


def values(tf, is_tensorflow=False):
    """{name: numbers} of one of the two packages."""
    found, Dataset, keras = {}, tf.data.Dataset, tf.keras

    def note(name, result):
        found[name] = [np.asarray(leaf).tolist() for leaf in tf.nest.flatten(result)]

    def items(dataset):
        return [np.asarray(element).tolist() for element in dataset]

    rng = np.random.default_rng(0)
    x = rng.random((2, 6)).astype("float32")
    for kind, norm in ((1, None), (2, None), (2, "ortho"), (3, None), (3, "ortho")):
        note(f"dct {kind} {norm}", tf.signal.dct(x, kind, norm=norm))
        note(f"idct {kind} {norm}", tf.signal.idct(x, kind, norm=norm))
    note("kaiser_window", tf.signal.kaiser_window(7))
    a, b = rng.random((2, 3, 3)), rng.random((2, 3, 2))
    lu, perm = tf.linalg.lu(tf.constant(a))
    note("lu_reconstruct", tf.linalg.lu_reconstruct(lu, perm))
    note("lu_solve", tf.linalg.lu_solve(lu, perm, tf.constant(b)))
    note("polyval", tf.math.polyval([1.0, 2.0, 3.0], tf.constant([1.0, 2.0])))
    note("zero_fraction", tf.math.zero_fraction(tf.constant([0.0, 1.0, 0.0])))
    note("is_non_decreasing", tf.math.is_non_decreasing([1, 1, 2]))
    note("is_strictly_increasing", tf.math.is_strictly_increasing([1, 1, 2]))
    note("unravel_index", tf.unravel_index([22, 41, 37], [7, 6]))
    image = rng.random((4, 6, 3)).astype("float32")
    note("resize_with_pad", tf.image.resize_with_pad(image, 5, 5))
    note("rgb_to_yuv", tf.image.rgb_to_yuv(image))
    note("yuv_to_rgb", tf.image.yuv_to_rgb(image))
    note("convolution", tf.nn.convolution(np.ones((1, 5, 5, 2), np.float32), np.ones((3, 3, 2, 1), np.float32),
                                          padding="SAME"))
    note("atrous_conv2d", tf.nn.atrous_conv2d(np.ones((1, 7, 7, 1), np.float32), np.ones((3, 3, 1, 1), np.float32), 2,
                                              "VALID"))
    note("compute_average_loss", tf.nn.compute_average_loss(tf.constant([1.0, 2.0]), sample_weight=[1.0, 3.0],
                                                            global_batch_size=4))
    note("confusion_matrix", tf.math.confusion_matrix([0, 1, 1], [0, 1, 0], weights=[1, 2, 3]))
    note("top_k", tf.math.top_k(tf.constant([1.0, 3.0, 2.0]), 2, index_type=tf.int64))
    note("dropout", tf.nn.dropout(tf.ones((3, 4)), 0.0, noise_shape=[3, 1]))
    tf.debugging.assert_shapes([(tf.constant(x), ("N", "D")), (tf.constant(x[:, 0]), ("N",))])

    found["window"] = [[items(w) for w in Dataset.range(7).window(*form)]
                       for form in ((3,), (2, 1), (3, 2, 2), (3, 3, 1, True), (2, 3), (3, 1, 1, True))]
    found["interleave"] = [items(Dataset.range(1, 6).interleave(lambda n: Dataset.from_tensors(n).repeat(6),
                                                                cycle_length=cycle, block_length=block))
                           for cycle, block in ((2, 4), (3, 2), (1, 1), (10, 1))]
    found["flat_map"] = items(Dataset.range(4).flat_map(lambda n: Dataset.range(n)))
    ragged = Dataset.range(1, 6).map(lambda n: tf.fill([tf.cast(n, tf.int32)] if is_tensorflow else [int(n)], n))
    found["padded_batch"] = [items(ragged.padded_batch(2)),
                             items(ragged.padded_batch(2, padded_shapes=[5], padding_values=tf.constant(-1, tf.int64)))]
    found["take_while"] = items(Dataset.range(10).take_while(lambda n: n < 4))
    found["unique"] = items(Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique())
    found["scan"] = items(Dataset.range(5).scan(np.int64(0), lambda s, n: (s + n, s + n)))
    found["rebatch"] = items(Dataset.range(6).batch(2).rebatch(3))
    found["group_by_window"] = items(Dataset.range(10).group_by_window(lambda n: n % 2, lambda key, d: d.batch(5),
                                                                       window_size=5))
    found["choose_from_datasets"] = items(Dataset.choose_from_datasets(
        [Dataset.range(3), Dataset.range(10, 13)], Dataset.from_tensor_slices(np.array([0, 1, 0, 1, 1, 0, 0]))))

    y = np.array([[0, 0, 1], [0, 1, 0]], np.float32)
    p = np.array([[.1, .9, .8], [.05, .95, .1]], np.float32)
    note("binary_accuracy", keras.metrics.binary_accuracy(y, p))
    note("categorical_accuracy", keras.metrics.categorical_accuracy(y, p))
    note("sparse_categorical_accuracy", keras.metrics.sparse_categorical_accuracy(np.array([2, 1]), p))
    note("top_k_categorical_accuracy", keras.metrics.top_k_categorical_accuracy(y, p, k=2))
    note("sparse_top_k", keras.metrics.sparse_top_k_categorical_accuracy(np.array([0, 1]), p, k=1))
    lists = [[1], [2, 3], [4, 5, 6]]
    note("pad_sequences", keras.utils.pad_sequences(lists))
    note("pad_sequences behind", keras.utils.pad_sequences(lists, maxlen=2, padding="post", truncating="post", value=-1))
    note("normalize", keras.utils.normalize(x))
    note("img_to_array", keras.utils.img_to_array(np.ones((2, 2), np.uint8)))
    note("layers.add", keras.layers.add([x, x]))
    note("layers.concatenate", keras.layers.concatenate([x, x]))
    note("layers.dot", keras.layers.dot([x, x], axes=1))
    note("initializers", [tf.zeros_initializer()((2,)), tf.ones_initializer()((2,)), tf.constant_initializer(3.0)((2,))])

    module = tf.Module()
    module.a, module.b = tf.Variable(1.0), [tf.Variable(2.0, trainable=False)]
    module.c = tf.Module()
    module.c.d = tf.Variable(3.0)
    note("Module", list(module.variables) + list(module.trainable_variables))
    return found


PATH = pathlib.Path(__file__).with_suffix(".json")

if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values(tensorflow, True).items()]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")

"""Functions and transformations of datasets give what TensorFlow's do (function_values.json)."""
import json

import numpy as np
import pytest

import capstan as tf

import function_values

THEIRS = json.loads(function_values.PATH.read_text())


@pytest.fixture(scope="module")
def ours():
    return function_values.values(tf)


def close(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(close, a, b))
    return a == b or abs(a - b) <= 1e-5 * max(1, abs(a))


@pytest.mark.parametrize("name", THEIRS)
def test_values(ours, name):
    assert close(THEIRS[name], ours[name]), (THEIRS[name], ours[name])


def test_drawn_images():
    tf.random.set_seed(1)
    image = tf.constant(np.arange(24, dtype=np.float32).reshape(2, 4, 3) / 24)
    seen = {tf.image.random_flip_left_right(image).numpy().tobytes() for _ in range(30)}
    assert seen == {image.numpy().tobytes(), image.numpy()[:, ::-1].tobytes()}
    batch = tf.image.random_flip_up_down(tf.stack([image] * 30)).numpy()
    assert 0 < sum((row == image.numpy()).all() for row in batch) < 30
    change = tf.image.random_brightness(image, 0.2) - image
    assert float(tf.reduce_max(tf.abs(change))) <= 0.2 + 1e-6
    assert float(tf.math.reduce_std(change)) < 1e-6
    assert tf.image.random_contrast(image, 0.5, 1.5).shape == image.shape
    crop = tf.image.random_crop(image, [1, 2, 3])
    assert crop.shape == (1, 2, 3) and set(crop.numpy().ravel()) <= set(image.numpy().ravel())
    with pytest.raises(ValueError, match="does not fit"):
        tf.image.random_crop(image, [3, 2, 3])
    assert tf.random.gamma([2], [1.0, 2.0, 3.0]).shape == (2, 3)
    assert abs(float(tf.reduce_mean(tf.random.poisson([20000], 3.0))) - 3) < 0.1


def test_mistakes():
    data = tf.data.Dataset.range(4)
    for call in (lambda: data.window(0), lambda: data.interleave(lambda n: data, cycle_length=0),
                 lambda: data.group_by_window(lambda n: 0, lambda k, d: d), lambda: data.get_single_element(),
                 lambda: next(iter(data.map(lambda n: [n, n]).padded_batch(2, padded_shapes=[1]))),
                 lambda: tf.data.Dataset.list_files("/nothing/here/*"),
                 lambda: tf.keras.utils.pad_sequences([[1]], padding="middle"),
                 lambda: tf.debugging.assert_shapes([(tf.ones((2, 3)), ("N", "N"))]),
                 lambda: tf.unravel_index([1, 12], [3, 4]), lambda: tf.unravel_index(-1, [3, 4]),
                 lambda: list(tf.data.Dataset.choose_from_datasets([data, data], tf.data.Dataset.range(3))),
                 lambda: list(tf.data.Dataset.choose_from_datasets([data], tf.data.Dataset.range(-1, 1))),
                 lambda: tf.debugging.check_numerics(tf.constant([1.0, float("nan")]), "loss")):
        with pytest.raises(ValueError):
            call()


def test_names_of_files_and_errors_of_elements(tmp_path):
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text(name)
    files = tf.data.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    assert [f.numpy().rpartition(b"/")[2] for f in files] == [b"a.txt", b"b.txt"]
    assert sorted(int(n) for n in files.map(tf.strings.length)) == [len(str(tmp_path)) + 6] * 2
    assert [text.numpy() for text in files.map(tf.io.read_file)] == [b"a.txt", b"b.txt"]

    def fragile(n):
        if int(n) == 1:
            raise ValueError("one")
        return n
    assert [int(n) for n in tf.data.Dataset.range(3).map(fragile).ignore_errors()] == [0, 2]
    sampled = tf.data.Dataset.sample_from_datasets([tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)], seed=1)
    assert sorted(int(n) for n in sampled) == [0, 1, 2, 10, 11, 12]
    left, right = tf.keras.utils.split_dataset(np.arange(10), left_size=0.8)
    assert len(list(left)) == 8 and [int(n) for n in right] == [8, 9]


def test_callbacks_that_write(tmp_path):
    x, y = np.ones((8, 3), np.float32), np.ones((8, 1), np.float32)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    model.fit(x, y, epochs=2, verbose=0, callbacks=[
        tf.keras.callbacks.ModelCheckpoint(tmp_path / "w{epoch:02d}.weights.h5", save_weights_only=True),
        tf.keras.callbacks.BackupAndRestore(tmp_path / "backup"), tf.keras.callbacks.TerminateOnNaN(),
        tf.keras.callbacks.TensorBoard(tmp_path / "logs")])
    assert (tmp_path / "w02.weights.h5").exists() and any((tmp_path / "logs" / "train").iterdir())
    before = model.get_weights()[0]
    model.fit(x, y, verbose=0)
    model.load_weights(tmp_path / "w02.weights.h5")
    np.testing.assert_array_equal(model.get_weights()[0], before)
    with pytest.raises(ValueError, match="mode"):
        tf.keras.callbacks.ModelCheckpoint(tmp_path / "w.keras", mode="upward")
    bad = np.full((8, 3), np.nan, np.float32)
    assert len(model.fit(bad, y, epochs=5, verbose=0, callbacks=[tf.keras.callbacks.TerminateOnNaN()]).epoch) == 1

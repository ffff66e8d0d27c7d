"""Keras 3 on the backend capstan, in processes of their own, since the backend is chosen when Keras is imported."""
import importlib.util
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="Keras is not installed")

START = """
import sys
sys.path[:0] = sys.argv[1:]
import capstan
capstan.install_as_keras_backend()
import numpy as np
import keras
assert keras.backend.backend() == "capstan"
keras.utils.set_random_seed(1)
generator = np.random.default_rng(0)
"""


def run(program):
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", START + program] + [p for p in sys.path if p],
                         capture_output=True, text=True, timeout=300)
    assert out.returncode == 0, out.stderr[-3000:]
    return out.stdout


def test_images_are_learned():
    run("""
labels = generator.integers(0, 10, 512)
images = generator.random((512, 28, 28, 1), "float32") * 0.1
for image, label in zip(images, labels):
    image[2 * label:2 * label + 4] = 1
model = keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Conv2D(8, 3, activation="relu"),
                          keras.layers.MaxPooling2D(), keras.layers.BatchNormalization(), keras.layers.Flatten(),
                          keras.layers.Dropout(0.2), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
history = model.fit(images, labels, epochs=4, batch_size=64, verbose=0, validation_split=0.25)
assert history.history["val_accuracy"][-1] > 0.95
loss, accuracy = model.evaluate(images, labels, verbose=0)
assert accuracy > 0.95 and np.mean(model.predict(images, verbose=0).argmax(-1) == labels) == np.float32(accuracy)
""")


def test_sequences_with_masks_are_learned():
    run("""
words = generator.integers(1, 20, (256, 12))
lengths = generator.integers(4, 13, 256)
words[np.arange(12) >= lengths[:, None]] = 0
labels = (words == 7).any(1).astype("float32")
for layer in (keras.layers.LSTM(16), keras.layers.Bidirectional(keras.layers.GRU(8))):
    model = keras.Sequential([keras.Input((12,)), keras.layers.Embedding(20, 8, mask_zero=True), layer,
                              keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(0.02), "binary_crossentropy")
    losses = model.fit(words, labels, epochs=12, verbose=0).history["loss"]
    assert losses[-1] < 0.7 * losses[0], losses
""")


def test_gradients_agree_with_differences():
    run("""
import capstan as tf
layer = keras.layers.MultiHeadAttention(2, 3)
x = generator.random((2, 4, 6)).astype("float32")
layer(x, x)
def loss():
    return keras.ops.sum(keras.ops.square(layer(x, x, use_causal_mask=True)))
for weight in layer.trainable_weights:
    with tf.GradientTape() as tape:
        value = loss()
    gradient = keras.ops.convert_to_numpy(tape.gradient(value, weight._value)).reshape(-1)
    start = weight.numpy()
    for at in range(0, start.size, 7):
        sides = []
        for step in (1e-2, -1e-2):
            moved = start.copy().reshape(-1)
            moved[at] += step
            weight.assign(moved.reshape(start.shape))
            sides.append(float(loss()))
        weight.assign(start)
        assert abs((sides[0] - sides[1]) / 2e-2 - gradient[at]) < 2e-2 * max(1, abs(gradient[at])), weight.path
""")


def test_functional_models_and_files(tmp_path):
    path = str(tmp_path / "model.keras")
    run(f"""
a, b = keras.Input((4,)), keras.Input((3,))
x = keras.layers.Concatenate()([keras.layers.Dense(5, "relu")(a), b])
model = keras.Model([a, b], [keras.layers.Dense(1, name="first")(x), keras.layers.Dense(2, name="second")(x)])
model.compile("sgd", loss=["mse", "mae"])
data = [generator.random((8, 4)), generator.random((8, 3))]
model.fit(data, [np.zeros((8, 1)), np.ones((8, 2))], epochs=2, verbose=0)
model.save({path!r})
again = keras.saving.load_model({path!r})
for ours, theirs in zip(model.predict(data, verbose=0), again.predict(data, verbose=0)):
    np.testing.assert_array_equal(ours, theirs)
assert again.optimizer.iterations.numpy() == model.optimizer.iterations.numpy() == 2
""")


def test_a_step_of_ones_own_and_eager_runs():
    run("""
class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.steps = 0

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        self.steps += 1
        return super().train_step(data)

for eager, steps in ((False, 1), (True, 8)):
    model = Model()
    model.compile("adam", "mse", run_eagerly=eager)
    model.fit(generator.random((32, 3)), generator.random((32, 1)), batch_size=8, epochs=2, verbose=0)
    assert model.steps == steps, model.steps
""")


def test_what_cannot_be_done_is_an_error():
    run("""
import capstan as tf
for call in (lambda: keras.ops.convert_to_tensor("text"), lambda: keras.ops.convert_to_tensor([1.0], sparse=True),
             lambda: tf.function(lambda x: keras.ops.unique(x))(tf.constant([1, 2]))):
    try:
        call()
    except (TypeError, ValueError, NotImplementedError):
        continue
    raise AssertionError("no error")
""")

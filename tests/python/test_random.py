"""tf.random's stateless draws and generators. The numbers are those of TensorFlow 2.21 and Keras 3.15."""
import numpy as np
import pytest

import capstan as tf

random = tf.random
keras = tf.keras


def test_stateless_draws():
    np.testing.assert_array_equal(random.stateless_uniform([2], [1, 2]), np.float32([0.8440604, 0.19204533]))
    np.testing.assert_allclose(random.stateless_normal([2], (1, 2)), [0.5441101, 0.20738031], rtol=1e-6)
    truncated = random.stateless_truncated_normal([6], tf.constant([1, 2]))
    np.testing.assert_allclose(truncated[4:], [0.16820592, -1.6850333], rtol=1e-6)
    integers = random.stateless_uniform([4], [1, 2], 10, 100, tf.int32)
    assert integers.dtype == tf.int32 and integers.numpy().tolist() == [20, 39, 64, 49]
    assert random.stateless_uniform([2, 3], [1, 2], dtype=tf.float64).dtype == tf.float64
    assert random.stateless_uniform([3], [1, 2], minval=None, maxval=None, dtype=tf.int64).dtype == tf.int64


def test_a_generator_is_that_of_tensorflow():
    generator = random.Generator.from_seed(1234)
    np.testing.assert_allclose(generator.normal([2, 3])[1], [-.5061547, 1.3169702, .7137579], rtol=1e-6)
    assert generator.state.numpy().tolist() == [2770, 0, 0]
    again = random.Generator(copy_from=generator)
    seeds = generator.make_seeds(2)
    assert seeds.shape == (2, 2) and seeds[1].numpy().tolist() == [0, 0]
    np.testing.assert_array_equal(again.make_seeds(2), seeds)
    assert len({int(g.key) for g in generator.split(3)}) == 3
    generator.reset_from_seed(1234)
    assert generator.uniform([], 0, 10, tf.int32).dtype == tf.int32
    assert random.get_global_generator() is random.get_global_generator()


def test_a_generator_moves_on_in_functions_and_over_checkpoints(tmp_path):
    generator, plain = random.Generator.from_seed(7), random.Generator.from_seed(7)
    draw = tf.function(lambda: generator.uniform([3]))
    for _ in range(3):
        np.testing.assert_array_equal(draw(), plain.uniform([3]))
    path = tf.train.Checkpoint(state=generator.state).save(str(tmp_path / "generator"))
    expected = draw().numpy()
    other = random.Generator.from_seed(0)
    tf.train.Checkpoint(state=other.state).restore(path)
    np.testing.assert_array_equal(other.uniform([3]), expected)


def test_seeds_from_seeds():
    assert random.split([1, 2], 3).shape == (3, 2)
    folded = random.fold_in([1, 2], 5)
    assert folded.shape == (2,) and int(folded[1]) == 5


def test_images_by_seeds():
    image = np.arange(4 * 6 * 3, dtype=np.float32).reshape(4, 6, 3) / 72
    for seed in ([0, 1], [1, 1], [2, 1], [3, 1]):
        flips = bool(random.stateless_uniform([], seed) < 0.5)
        np.testing.assert_array_equal(tf.image.stateless_random_flip_left_right(image, seed),
                                      image[:, ::-1] if flips else image)
        crop = tf.image.stateless_random_crop(image, [2, 3, 3], seed).numpy()
        assert any(np.array_equal(crop, image[i:i + 2, j:j + 3]) for i in range(3) for j in range(4))
        bright = tf.image.stateless_random_brightness(image, 0.25, seed).numpy() - image
        assert np.ptp(bright) < 1e-6 and abs(bright).max() <= 0.25
    assert tf.function(lambda: tf.image.random_crop(image, [2, 3, 3]))().shape == (2, 3, 3)
    assert tf.image.stateless_random_hue(image, 0.25, [1, 2]).shape == image.shape
    assert tf.image.random_saturation(image, 0.5, 1.5).shape == image.shape
    crop = tf.function(lambda seed: tf.image.stateless_random_crop(image, [2, 3, 3], seed))
    np.testing.assert_array_equal(crop(tf.constant([5, 6])), tf.image.stateless_random_crop(image, [2, 3, 3], [5, 6]))


def test_keras_random_with_seeds_draws_what_keras_does():
    np.testing.assert_allclose(keras.random.normal([3], seed=42), [0.015817076, -1.5900869, 0.10359446], rtol=1e-6)
    assert keras.random.randint([4], 0, 10, seed=42).numpy().tolist() == [1, 2, 9, 5]
    assert keras.random.shuffle(np.arange(8), seed=11).numpy().tolist() == [5, 7, 6, 1, 4, 0, 2, 3]
    kept = keras.random.dropout(np.ones((1, 5), "float32"), 0.4, seed=42).numpy() > 0
    assert kept.tolist() == [[False, True, True, False, False]]
    seeds = keras.random.SeedGenerator(42)
    np.testing.assert_allclose(keras.random.uniform([3], seed=seeds), [0.28243315, 0.4984169, 0.7154585], rtol=1e-6)
    draw = tf.function(lambda: keras.random.uniform([3], seed=seeds))
    np.testing.assert_allclose(draw(), [0.5280031, 0.24338412, 0.37702918], rtol=1e-6)
    np.testing.assert_allclose(draw(), [0.9626918, 0.015204787, 0.6538403], rtol=1e-6)
    np.testing.assert_allclose(keras.initializers.HeNormal(seed=42)([4, 2])[0], [0.012714911, -1.278227], rtol=1e-6)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="the seed must be two numbers"):
        random.stateless_uniform([2], [1])
    with pytest.raises(ValueError, match="both minval and maxval"):
        random.stateless_uniform([2], [1, 2], dtype=tf.int32)
    with pytest.raises(ValueError, match="alg='threefry' is not supported"):
        random.Generator.from_seed(1, alg="threefry")
    with pytest.raises(ValueError, match="either copy_from or state"):
        random.Generator()

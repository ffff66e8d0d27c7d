"""keras.ops.image: what looks at images elsewhere than at their pixels. The values of map_coordinates are scipy's."""
import numpy as np
import pytest

import capstan as tf

image = tf.keras.ops.image


@pytest.mark.parametrize("fill_mode, values", [
    ("constant", [0.7, 1.0, 1.5, 3.0, 1.85, 0.7]), ("nearest", [1, 1, 1.5, 3, 3, 3]), ("wrap", [2.5, 1, 1.5, 3, 2, 2]),
    ("mirror", [2.5, 1, 1.5, 3, 2.5, 1]), ("reflect", [1.5, 1, 1.5, 3, 3, 2])])
def test_map_coordinates(fill_mode, values):
    x = tf.constant([1.0, 2.0, 3.0])
    at = [[-1.5, 0.0, 0.5, 2.0, 2.5, 4.0]]
    np.testing.assert_allclose(image.map_coordinates(x, at, 1, fill_mode, 0.7), values, rtol=1e-6)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(image.map_coordinates(x, at, 1, "nearest"))
    np.testing.assert_allclose(tape.gradient(y, x), [2.5, 0.5, 3.0])


def test_perspective_transforms():
    x = np.arange(12, dtype="float32").reshape(1, 3, 4, 1)
    corners = np.array([[[0, 0], [3, 0], [0, 2], [3, 2]]], "float32")
    np.testing.assert_allclose(image.compute_homography_matrix(corners, corners), [[1, 0, 0, 0, 1, 0, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(image.perspective_transform(x, corners, corners), x, atol=1e-5)
    moved = image.perspective_transform(x, corners, corners + [1, 0])  # one pixel to the right
    np.testing.assert_allclose(moved[0, :, 1:, 0], x[0, :, :-1, 0], atol=1e-5)
    with pytest.raises(ValueError, match="start_points"):
        image.perspective_transform(x, corners[:, :3], corners)


def test_blurs_and_scales():
    x = np.zeros((5, 5, 1), "float32")
    x[2, 2] = 1
    weights = np.exp(-0.5 * np.array([-1.0, 0, 1]) ** 2)
    weights /= weights.sum()
    np.testing.assert_allclose(image.gaussian_blur(x)[1:4, 1:4, 0], np.outer(weights, weights), rtol=1e-6)
    row = np.array([[[1.0], [3.0]]], "float32")
    np.testing.assert_allclose(image.scale_and_translate(row, (1, 4, 1), [2.0], [0.0], (1,), "linear")[0, :, 0],
                               [1, 1.5, 2.5, 3])


def test_resize_keeps_the_ratio():
    x = np.arange(8, dtype="float32").reshape(2, 4, 1)
    np.testing.assert_allclose(image.resize(x, (2, 2), crop_to_aspect_ratio=True)[..., 0], [[1, 2], [5, 6]])
    padded = image.resize(x, (4, 4), pad_to_aspect_ratio=True, fill_value=9.0)
    np.testing.assert_allclose(padded[..., 0], [[9] * 4, [0, 1, 2, 3], [4, 5, 6, 7], [9] * 4])
    assert image.resize(x, (4, 8), interpolation="bicubic").shape == (4, 8, 1)


def test_boxes_of_several_classes():
    boxes = [[[[0, 0, 1, 1]], [[0, 0, 1, 0.9]], [[2, 2, 3, 3]]]]
    found = tf.image.combined_non_max_suppression(boxes, [[[0.9, 0.1], [0.8, 0.7], [0.3, 0.2]]], 2, 4, 0.5, 0.15)
    assert found.valid_detections.numpy().tolist() == [4]
    np.testing.assert_allclose(found.nmsed_scores, [[0.9, 0.7, 0.3, 0.2]])
    np.testing.assert_allclose(found.nmsed_classes, [[0, 1, 0, 1]])
    np.testing.assert_allclose(found.nmsed_boxes[0, 1], [0, 0, 1, 0.9])


def test_images_of_other_integers():
    wide = np.array([0, 65535], "uint16")
    np.testing.assert_allclose(tf.image.convert_image_dtype(wide, tf.float32), [0, 1])
    with pytest.raises(TypeError, match="uint16"):
        tf.image.convert_image_dtype(wide, tf.uint8)

"""Boxes in images: what tf.image has of them. Boxes are [y1, x1, y2, x2], in either order of corners."""
import collections

import numpy as np

from . import _core, _ops
from ._convert import convert_to_tensor


CombinedNonMaxSuppression = collections.namedtuple(
    "CombinedNonMaxSuppression", "nmsed_boxes nmsed_scores nmsed_classes valid_detections")


def _overlaps(boxes):
    """The intersection over the union of each pair."""
    low = np.minimum(boxes[:, :2], boxes[:, 2:])
    high = np.maximum(boxes[:, :2], boxes[:, 2:])
    area = (high - low).prod(1)
    inside = np.clip(np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None]), 0, None).prod(2)
    union = area[:, None] + area[None] - inside
    return np.divide(inside, union, out=np.zeros_like(inside), where=(area[:, None] > 0) & (area[None] > 0))


def _arrays(function, boxes, scores):
    boxes, scores = np.asarray(boxes, np.float32), np.asarray(scores, np.float32)
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise _core.ShapeError(f"{function}: boxes [n, 4] and scores [n] are needed, not {boxes.shape} and {scores.shape}")
    return boxes, scores


def _chosen(overlaps, scores, most, threshold, least, sigma=0.0):
    """The numbers of the boxes that are kept, best first, and their scores; overlaps[a, b] is how far a overlaps b, which
    is the better one."""
    scores, open_, kept, values = scores.astype(np.float64), scores > least, [], []
    while len(kept) < most and open_.any():
        best = int(np.argmax(np.where(open_, scores, -np.inf)))
        kept.append(best)
        values.append(scores[best])
        open_[best] = False
        if sigma > 0:
            scores = np.where(open_, scores * np.exp(-overlaps[:, best] ** 2 / (2 * sigma)), scores)
            open_ &= scores > least
        else:
            open_ &= overlaps[:, best] <= threshold
    return np.asarray(kept, np.int32), np.asarray(values, np.float32)


def non_max_suppression(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), name=None):
    """The numbers of boxes, the one with the highest score first, without those that overlap a better one by more than
    `iou_threshold`; int32."""
    boxes, scores = _arrays("non_max_suppression", boxes, scores)
    return convert_to_tensor(_chosen(_overlaps(boxes), scores, int(max_output_size), float(iou_threshold),
                                     float(score_threshold))[0])


def non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"),
                                    soft_nms_sigma=0.0, name=None):
    """As non_max_suppression, with scores. With `soft_nms_sigma` boxes that overlap a better one lose a part of theirs, and no
    box is left out for that."""
    boxes, scores = _arrays("non_max_suppression_with_scores", boxes, scores)
    kept, values = _chosen(_overlaps(boxes), scores, int(max_output_size), float(iou_threshold), float(score_threshold),
                           float(soft_nms_sigma))
    return convert_to_tensor(kept), convert_to_tensor(values)


def non_max_suppression_overlaps(overlaps, scores, max_output_size, overlap_threshold=0.5,
                                 score_threshold=float("-inf"), name=None):
    """As non_max_suppression, where it is known how far boxes overlap, [n, n]."""
    overlaps, scores = np.asarray(overlaps, np.float32), np.asarray(scores, np.float32)
    if overlaps.shape != scores.shape * 2:
        raise _core.ShapeError(f"non_max_suppression_overlaps: overlaps [n, n] and scores [n] are needed, not "
                               f"{overlaps.shape} and {scores.shape}")
    return convert_to_tensor(_chosen(overlaps, scores, int(max_output_size), float(overlap_threshold),
                                     float(score_threshold))[0])


def combined_non_max_suppression(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold=0.5,
                                 score_threshold=float("-inf"), pad_per_class=False, clip_boxes=True, name=None):
    """non_max_suppression of each class of each image, of boxes [batch, n, 1 or classes, 4] and scores [batch, n, classes].

    The best `max_total_size` of all classes follow each other, zeros after them: boxes, scores, classes, and how many of
    them there are. With `pad_per_class` the results are no longer than all classes may fill.
    """
    boxes, scores = np.asarray(boxes, np.float32), np.asarray(scores, np.float32)
    if boxes.ndim != 4 or scores.ndim != 3 or boxes.shape[:2] != scores.shape[:2] or boxes.shape[3] != 4 or (
            boxes.shape[2] not in (1, scores.shape[2])):
        raise _core.ShapeError("combined_non_max_suppression: boxes [batch, n, 1 or classes, 4] and scores [batch, n, "
                               f"classes] are needed, not {boxes.shape} and {scores.shape}")
    batch, _, classes = scores.shape
    length = int(max_total_size)
    if pad_per_class:
        length = min(length, int(max_output_size_per_class) * classes)
    results = (np.zeros((batch, length, 4), np.float32), np.zeros((batch, length), np.float32),
               np.zeros((batch, length), np.float32), np.zeros(batch, np.int32))
    for image in range(batch):
        found = []
        for label in range(classes):
            own = boxes[image, :, min(label, boxes.shape[2] - 1)]
            kept, values = _chosen(_overlaps(own), scores[image, :, label], int(max_output_size_per_class),
                                   float(iou_threshold), float(score_threshold))
            found += [(value, label, own[i]) for i, value in zip(kept, values)]
        found = sorted(found, key=lambda entry: -entry[0])[:length]
        for place, (value, label, box) in enumerate(found):
            for result, entry in zip(results, (np.clip(box, 0, 1) if clip_boxes else box, value, label)):
                result[image, place] = entry
        results[3][image] = len(found)
    return CombinedNonMaxSuppression(*map(convert_to_tensor, results))


def draw_bounding_boxes(images, boxes, colors, name=None):
    """Images [batch, height, width, channels] with the edges of boxes [batch, n, 4], in parts of the height and width."""
    made, boxes = np.array(convert_to_tensor(images).numpy()), np.asarray(boxes, np.float64)
    colors = np.asarray([[1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1], [0.5, 0.5, 0, 1],
                         [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]] if colors is None else colors)
    if made.ndim != 4 or boxes.shape[:1] + boxes.shape[2:] != (made.shape[0], 4):
        raise _core.ShapeError(f"draw_bounding_boxes: images [batch, height, width, channels] and boxes [batch, n, 4] are "
                               f"needed, not {made.shape} and {boxes.shape}")
    height, width, channels = made.shape[1:]
    for image, list_ in zip(made, boxes):
        for number, (y1, x1, y2, x2) in enumerate(list_):
            if not (y1 <= y2 and x1 <= x2):
                continue
            color = colors[number % len(colors)][:channels]
            top, bottom = int(y1 * (height - 1)), int(y2 * (height - 1))
            left, right = int(x1 * (width - 1)), int(x2 * (width - 1))
            rows = slice(max(top, 0), min(bottom, height - 1) + 1)
            columns = slice(max(left, 0), min(right, width - 1) + 1)
            for y in (top, bottom):
                if 0 <= y < height:
                    image[y, columns] = color
            for x in (left, right):
                if 0 <= x < width:
                    image[rows, x] = color
    return convert_to_tensor(made)


_TO_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]


def rgb_to_yiq(images):
    """Images [..., 3] of red, green and blue as brightness, orange to blue and purple to green."""
    images = convert_to_tensor(images)
    return _ops.tensordot(images, convert_to_tensor(_TO_YIQ, dtype=images.dtype), 1)


def yiq_to_rgb(images):
    """The inverse of rgb_to_yiq."""
    images = convert_to_tensor(images)
    matrix = [[1.0, 1.0, 1.0], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
    return _ops.tensordot(images, convert_to_tensor(matrix, dtype=images.dtype), 1)


NAMES = {f.__name__: f for f in (non_max_suppression, non_max_suppression_with_scores, non_max_suppression_overlaps,
                                 combined_non_max_suppression, draw_bounding_boxes, rgb_to_yiq, yiq_to_rgb)}

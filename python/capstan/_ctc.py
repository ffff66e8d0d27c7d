"""Decoders of CTC: the labels that the scores of a network's steps stand for. They have no gradients."""
import numpy as np

from ._convert import convert_to_tensor
from .sparse import SparseTensor


def _read(op, inputs, sequence_length):
    """The scores [steps, batch, classes] and lengths as arrays."""
    scores = np.asarray(convert_to_tensor(inputs))
    lengths = np.asarray(convert_to_tensor(sequence_length)).astype(np.int64)
    if scores.ndim != 3 or lengths.shape != scores.shape[1:2] or scores.shape[2] < 1:
        raise ValueError(f"{op}: inputs must be [steps, batch, classes], with one length for each of the batch, not of the "
                         f"shapes {scores.shape} and {lengths.shape}")
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= scores.shape[0]:
        raise ValueError(f"{op}: the lengths {lengths.min()} to {lengths.max()} must be from 0 to the {scores.shape[0]} steps")
    return scores, lengths


def _sparse(rows):
    """Lists of labels as a sparse matrix."""
    places = [(i, k) for i, row in enumerate(rows) for k in range(len(row))]
    return SparseTensor(np.asarray(places, np.int64).reshape(-1, 2), np.asarray([label for row in rows for label in row], np.int64),
                        [len(rows), max((len(row) for row in rows), default=0)])


def _tensor(values, inputs):
    return convert_to_tensor(values, dtype=convert_to_tensor(inputs).dtype)


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
    """The best class of each step, without blanks, and with `merge_repeated` without repeats: ([a SparseTensor of labels],
    the negated sums [batch, 1] of the best scores). `inputs` are logits [steps, batch, classes]; the last class is blank
    unless `blank_index` says another."""
    scores, lengths = _read("ctc_greedy_decoder", inputs, sequence_length)
    blank = scores.shape[2] - 1 if blank_index is None else int(blank_index)
    blank += scores.shape[2] if blank < 0 else 0
    if not 0 <= blank < scores.shape[2]:
        raise ValueError(f"ctc_greedy_decoder: blank_index {blank_index} is none of {scores.shape[2]} classes")
    best, rows = scores.argmax(2), []
    for example, length in enumerate(lengths):
        path = best[:length, example]
        is_new = np.ones(length, bool)
        if merge_repeated:
            is_new[1:] = path[1:] != path[:-1]
        rows.append(path[is_new & (path != blank)])
    counts = np.arange(scores.shape[0])[:, None] < lengths
    sums = -np.where(counts, scores.max(2), 0).sum(0)[:, None]
    return [_sparse(rows)], _tensor(sums, inputs)


def _beams(log_probabilities, width):
    """The most probable prefixes of one example and the logarithms of their probabilities, the best first."""
    blank = log_probabilities.shape[1] - 1
    beams = {(): (0.0, -np.inf)}  # ends with a blank; ends with its last label
    for step in log_probabilities:
        following = {}

        def add(prefix, ends_blank, amount):
            old = following.get(prefix, (-np.inf, -np.inf))
            following[prefix] = (np.logaddexp(old[0], amount), old[1]) if ends_blank else (old[0], np.logaddexp(old[1], amount))

        for prefix, (in_blank, in_label) in beams.items():
            total = np.logaddexp(in_blank, in_label)
            add(prefix, True, total + step[blank])
            if prefix:
                add(prefix, False, in_label + step[prefix[-1]])
            for label in range(blank):
                repeats = prefix and label == prefix[-1]
                add((*prefix, label), False, (in_blank if repeats else total) + step[label])
        ordered = sorted(following.items(), key=lambda item: -np.logaddexp(*item[1]))
        beams = dict(ordered[:width])
    return [(prefix, np.logaddexp(*ends)) for prefix, ends in beams.items()]


def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1):
    """The `top_paths` most probable labellings that a search over `beam_width` prefixes finds: (a list of SparseTensors of
    labels, the logarithms [batch, top_paths] of their probabilities). `inputs` are logits [steps, batch, classes]; the last
    class is blank."""
    scores, lengths = _read("ctc_beam_search_decoder", inputs, sequence_length)
    if not 1 <= top_paths <= beam_width:
        raise ValueError(f"ctc_beam_search_decoder: top_paths {top_paths} must be from 1 to beam_width {beam_width}")
    scores = scores.astype(np.float64)
    scores -= scores.max(2, keepdims=True)
    scores -= np.log(np.exp(scores).sum(2, keepdims=True))
    found = [_beams(scores[:length, example], int(beam_width))[:top_paths] for example, length in enumerate(lengths)]
    if any(len(paths) < top_paths for paths in found):
        raise ValueError(f"ctc_beam_search_decoder: an example has fewer than top_paths {top_paths} labellings")
    values = np.asarray([[score for _, score in paths] for paths in found]).reshape(len(found), top_paths)
    return [_sparse([paths[k][0] for paths in found]) for k in range(top_paths)], _tensor(values, inputs)


def ctc_decode(inputs, sequence_lengths, strategy="greedy", beam_width=100, top_paths=1, merge_repeated=True, mask_index=0):
    """As keras.ops.ctc_decode: labels int32[top_paths, batch, steps], -1 behind their end, and scores. `inputs` are
    [batch, steps, classes]; `mask_index` is the blank."""
    scores = np.asarray(convert_to_tensor(inputs))
    if scores.ndim != 3:
        raise ValueError(f"ctc_decode: inputs must be [batch, steps, classes], not of the shape {scores.shape}")
    steps = np.moveaxis(scores, 1, 0)
    if strategy == "greedy":
        decoded, values = ctc_greedy_decoder(steps, sequence_lengths, merge_repeated, mask_index)
    elif strategy == "beam_search":
        blank = range(scores.shape[2])[mask_index]
        decoded, values = ctc_beam_search_decoder(np.concatenate([np.delete(steps, blank, 2), steps[..., blank:blank + 1]], 2),
                                                  sequence_lengths, beam_width, top_paths)
    else:
        raise ValueError(f"ctc_decode: strategy {strategy!r} is neither 'greedy' nor 'beam_search'")
    dense = np.full((len(decoded), *scores.shape[:2]), -1, np.int32)
    for path, labels in enumerate(decoded):
        places = np.asarray(labels.indices)
        dense[path, places[:, 0], places[:, 1]] = np.asarray(labels.values)
    if strategy == "beam_search":
        dense[dense >= blank] += 1
    return convert_to_tensor(dense), _tensor(np.asarray(values), inputs)


NAMES = {f.__name__: f for f in (ctc_greedy_decoder, ctc_beam_search_decoder)}

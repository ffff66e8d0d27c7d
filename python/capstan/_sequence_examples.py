"""tf.train.SequenceExample: features of a whole, and lists of features, one for each step."""
from . import _core, _texts
from ._examples import Example, Feature, Features, Message


class FeatureList(Message):
    """Features in their order."""

    def __init__(self, feature=()):
        self.feature = list(feature)


class FeatureLists(Message):
    """Lists of features by their names."""

    def __init__(self, feature_list=None):
        self.feature_list = dict(feature_list or {})


# Messages: a field is its number and a kind, here always 2, then the length of its bytes.

def _field(number, content):
    length, head = len(content), bytearray([number << 3 | 2])
    while length > 127:
        head.append(length & 127 | 128)
        length >>= 7
    head.append(length)
    return bytes(head) + content


def _fields(message, what):
    """The fields of a message, as pairs of number and bytes; those of other kinds are none that these messages have."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while at < len(message) and shift < 64:
            byte = message[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
        raise _core.IoError(f"{what}: a number at byte {at} of a message is cut off")
    while at < len(message):
        tag = varint()
        if tag & 7 != 2:
            raise _core.IoError(f"{what}: a field at byte {at} of a message is of kind {tag & 7}, which no list of features has")
        length = varint()
        if length > len(message) - at:
            raise _core.IoError(f"{what}: a field at byte {at} of a message should have {length} bytes, but only "
                                f"{len(message) - at} are left")
        found.append((tag >> 3, message[at:at + length]))
        at += length
    return found


def _entry(message, what):
    """Key and value of an entry of a map."""
    fields = dict(_fields(message, what))
    return fields.get(1, b"").decode("utf-8", "replace"), fields.get(2, b"")


def _bytes_of_feature(feature):
    """A feature as a message: the value in the one entry of an Example of it."""
    message = Example(features=Features(feature={"f": feature})).SerializeToString()
    entry = _fields(_fields(message, "Example")[0][1], "Example")[0][1]
    return _entry(entry, "Example")[1]


def _as_example(feature):
    """The Example with this message alone as the feature "f"."""
    return _field(1, _field(1, _field(1, b"f") + _field(2, feature)))


class SequenceExample(Message):
    """Features of a whole (`context`), and lists of features, one for each step, as one message."""

    def __init__(self, context=None, feature_lists=None):
        self.context = Features() if context is None else context
        self.feature_lists = FeatureLists() if feature_lists is None else feature_lists

    def SerializeToString(self):
        """The bytes of the message."""
        lists = b"".join(_field(1, _field(1, name.encode()) + _field(2, b"".join(
            _field(1, _bytes_of_feature(one)) for one in listed.feature)))
            for name, listed in sorted(self.feature_lists.feature_list.items()))
        return Example(features=self.context).SerializeToString() + (_field(2, lists) if lists else b"")

    @classmethod
    def FromString(cls, serialized):
        """The SequenceExample of a message."""
        message = serialized.numpy() if isinstance(serialized, _texts.TextTensor) else bytes(serialized)
        context, lists = _parts_of(message, "SequenceExample")
        made = {name: FeatureList([Example.FromString(one).features.feature.get("f", Feature()) for one in listed])
                for name, listed in lists.items()}
        return cls(Example.FromString(context).features, FeatureLists(made))


def _parts_of(message, what):
    """The context as the message of an Example, and of each list the messages of an Example for each of its features."""
    context, lists = b"", {}
    for number, content in _fields(message, what):
        if number == 1:
            context += _field(1, content)
        elif number == 2:
            for _, entry in _fields(content, what):
                name, listed = _entry(entry, what)
                lists[name] = [_as_example(one) for _, one in _fields(listed, what)]
    return context, lists


def _steps(name, examples, feature, what):
    """A list of features as a tensor whose first axis is the steps."""
    from ._records import FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, VarLenFeature, _batch, _feature
    if isinstance(feature, FixedLenSequenceFeature):
        if examples is None and not feature.allow_missing:
            raise _core.ValueError_(f"{what}: Name: {name}.  The list of features is required but could not be found.")
        each = FixedLenFeature(feature.shape, feature.dtype)
    elif isinstance(feature, VarLenFeature):
        each = feature
    elif isinstance(feature, RaggedFeature):
        each = RaggedFeature(feature.dtype, row_splits_dtype=feature.row_splits_dtype)
    else:
        raise TypeError(f"{what}: the list {name!r} is a {type(feature).__name__}; FixedLenSequenceFeature, VarLenFeature and "
                        "RaggedFeature are read")
    rows = [_feature(_core.parse_example(example), "f", each, f"{what}: {name}") for example in examples or []]
    if isinstance(each, FixedLenFeature) and not rows:
        return _texts.tensor_from_values([], [0, *feature.shape], feature.dtype)
    return _batch(rows, each)


def parse_single_sequence_example(serialized, context_features=None, sequence_features=None, example_name=None, name=None):
    """The features of the context of a SequenceExample and its lists of features, two dicts by their names."""
    from ._records import _feature, bytes_of
    del example_name  # of errors in TensorFlow
    what = "parse_single_sequence_example"
    context, lists = _parts_of(bytes_of(what, serialized), what)
    context = _core.parse_example(context)
    return ({key: _feature(context, key, feature, what) for key, feature in (context_features or {}).items()},
            {key: _steps(key, lists.get(key), feature, what) for key, feature in (sequence_features or {}).items()})

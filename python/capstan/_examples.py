"""tf.train.Example and the messages that it is made of, with the bytes of TensorFlow."""
from . import _core, _texts


class Message:
    """What messages have in common: those of one class are equal if their fields are, and are no keys of dicts."""

    def __eq__(self, other):
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(map(repr, vars(self).values()))})"


class _List(Message):
    """A list of values of one kind."""
    _kind = ""

    def __init__(self, value=()):
        self.value = [self._one(v) for v in value]

    def __repr__(self):
        return f"{type(self).__name__}(value={self.value})"


class BytesList(_List):
    """Byte strings."""
    _kind = "bytes"

    @staticmethod
    def _one(value):
        if isinstance(value, str):
            raise TypeError(f"BytesList: {value!r} has type str, but expected one of: bytes")
        return value.numpy() if isinstance(value, _texts.TextTensor) else bytes(value)


class FloatList(_List):
    """Numbers, as float32."""
    _kind = "floats"
    _one = staticmethod(float)


class Int64List(_List):
    """Integers."""
    _kind = "integers"

    @staticmethod
    def _one(value):
        if int(value) != value:
            raise TypeError(f"Int64List: {value!r} is no integer")
        return int(value)


class Feature(Message):
    """A list of one of three kinds: bytes_list, float_list or int64_list."""
    _FIELDS = {"bytes_list": BytesList, "float_list": FloatList, "int64_list": Int64List}

    def __init__(self, bytes_list=None, float_list=None, int64_list=None):
        given = [v for v in (bytes_list, float_list, int64_list) if v is not None]
        if len(given) > 1:
            raise ValueError("Feature: one of bytes_list, float_list and int64_list may be given")
        self._list = given[0] if given else None

    def WhichOneof(self, group="kind"):
        """The name of the list that there is, or None."""
        if group != "kind":
            raise ValueError(f"WhichOneof: the fields are those of 'kind', not of {group!r}")
        return next((name for name, kind in self._FIELDS.items() if isinstance(self._list, kind)), None)

    def HasField(self, name):
        """Whether the list is of this kind."""
        return self.WhichOneof() == name

    bytes_list = property(lambda self: self._of(BytesList))
    float_list = property(lambda self: self._of(FloatList))
    int64_list = property(lambda self: self._of(Int64List))

    def _of(self, kind):
        return self._list if isinstance(self._list, kind) else kind()


class Features(Message):
    """Features by their names."""

    def __init__(self, feature=None):
        self.feature = dict(feature or {})


class Example(Message):
    """Features by their names as one message.

        example = tf.train.Example(features=tf.train.Features(feature={
            "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))}))
        same = tf.train.Example.FromString(example.SerializeToString())
    """

    def __init__(self, features=None):
        self.features = Features() if features is None else features

    def SerializeToString(self):
        """The bytes of the message."""
        lists = {name: f._list for name, f in self.features.feature.items()}
        return _core.serialize_example({name: ("nothing", []) if found is None else (found._kind, found.value)
                                        for name, found in lists.items()})

    def ParseFromString(self, serialized):
        """Takes the features of a message; returns the number of its bytes."""
        kinds = {kind._kind: (field, kind) for field, kind in Feature._FIELDS.items()}
        message = serialized.numpy() if isinstance(serialized, _texts.TextTensor) else bytes(serialized)
        features = {}
        for name, (kind, values) in _core.parse_example(message).items():
            field, make = kinds.get(kind, (None, None))
            features[name] = Feature() if field is None else Feature(**{field: make(values)})
        self.features = Features(features)
        return len(message)

    @classmethod
    def FromString(cls, serialized):
        """The Example of a message."""
        made = cls()
        made.ParseFromString(serialized)
        return made

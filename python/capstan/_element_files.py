"""Elements of datasets in files: what Dataset.save, snapshot and cache write.

A folder has `elements.tfrecord`, one record for each element, an Example of its leaves as TensorFlow's messages for tensors,
and `structure.json`, which says how leaves lie in an element. It is written beside its place and then renamed, so that what is
there is whole. TensorFlow's own folders are of another form.
"""
import os

from . import _core, _tensor_proto, nest
from ._dtypes import as_dtype

_VERSION = 1
_RECORDS, _STRUCTURE = "elements.tfrecord", "structure.json"


def _form_of(structure):
    """A structure as JSON: leaves are the names of their dtypes."""
    if isinstance(structure, dict):
        return {"dict": {key: _form_of(value) for key, value in structure.items()}}
    if nest.is_nested(structure):
        return {"list" if isinstance(structure, list) else "tuple": [_form_of(item) for item in structure]}
    if not hasattr(structure, "dtype") or not hasattr(structure, "shape") or hasattr(structure, "row_splits"):
        raise TypeError(f"save: an element has a {type(structure).__name__}; tensors and texts are written")
    return structure.dtype.name


def _structure_of(form):
    if isinstance(form, str):
        return as_dtype(form)
    (kind, items), = form.items()
    if kind == "dict":
        return {key: _structure_of(item) for key, item in items.items()}
    made = [_structure_of(item) for item in items]
    return made if kind == "list" else tuple(made)


def write(path, elements, compression):
    """Writes elements, and gives each on once it is in the file; the folder is there when all are."""
    import json  # here and below, because these take 3 ms
    import shutil
    import tempfile
    path = os.fspath(path)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    folder = tempfile.mkdtemp(prefix=os.path.basename(path) + ".", dir=os.path.dirname(os.path.abspath(path)))
    try:
        writer, form = _core.RecordWriter(os.path.join(folder, _RECORDS), compression, -1), None
        for element in elements:
            own = _form_of(element)
            if form is None:
                form = own
            elif form != own:
                raise _core.ValueError_(f"save: elements have different structures, {form} and {own}")
            leaves = [_tensor_proto.serialize(leaf) for leaf in nest.flatten(element)]
            writer.write(_core.serialize_example({str(i): ("bytes", [leaf]) for i, leaf in enumerate(leaves)}))
            yield element
        writer.close()
        with open(os.path.join(folder, _STRUCTURE), "w", encoding="utf-8") as file:
            json.dump({"version": _VERSION, "compression": compression, "structure": form}, file)
        if os.path.isdir(path):
            shutil.rmtree(path)
        os.replace(folder, path)
    except BaseException:  # a pass that is left early, too
        shutil.rmtree(folder, ignore_errors=True)
        raise


def is_there(path):
    """Whether there is a folder of elements."""
    return os.path.exists(os.path.join(os.fspath(path), _STRUCTURE))


def _contents(path):
    """The structure of elements and how they are compressed."""
    import json
    file_name = os.path.join(os.fspath(path), _STRUCTURE)
    try:
        with open(file_name, encoding="utf-8") as file:
            contents = json.load(file)
        if contents["version"] != _VERSION:
            raise ValueError(f"version {contents['version']}")
        return contents["structure"], contents["compression"]
    except OSError as error:
        raise _core.IoError(f"load: cannot open the file, {error.strerror}\n  file: {file_name}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise _core.IoError(f"load: this is no list of elements of Dataset.save, {error}\n  file: {file_name}") from None


def read(path):
    """A function that makes iterators over the elements of a folder."""
    form, compression = _contents(path)
    if form is None:
        return lambda: iter(())
    structure = _structure_of(form)
    dtypes = nest.flatten(structure)

    def elements():
        from .data import Dataset
        records = Dataset(_core.dataset_of_records([os.path.join(os.fspath(path), _RECORDS)], compression, None))
        for record in records:
            example = _core.parse_example(record.numpy())
            if len(example) != len(dtypes):
                raise _core.IoError(f"load: an element has {len(example)} tensors, not {len(dtypes)}\n  file: {path}")
            leaves = [_tensor_proto.parse(example[str(i)][1][0], dtype) for i, dtype in enumerate(dtypes)]
            yield nest.pack_sequence_as(structure, leaves)
    return elements

"""Capstan's types in gdb: dtype, shape and the first elements, read from memory without a call into the program, so that
they show in core files, too.

    (gdb) source /usr/local/share/capstan/capstan-gdb.py
    (gdb) print x
    $1 = Tensor float32[2, 2] [[1, 2], [3, 4]]

A line `source ...` in ~/.gdbinit does it for good.
"""

import struct

import gdb
import gdb.printing

# As in include/capstan/dtype.h: name, bytes, and how struct reads one element.
DTYPES = [("float32", 4, "f"), ("float64", 8, "d"), ("bfloat16", 2, "H"), ("int32", 4, "i"), ("int64", 8, "q"),
          ("uint8", 1, "B"), ("bool", 1, "?"), ("complex64", 8, "ff"), ("complex128", 16, "dd")]
ROW_SPARSE, SHAPE_ONLY, SYMBOLIC = 4, 8, 32
MOST_NESTED = 24
MOST_FLAT = 8
# Where VariableState keeps its value and name; programs have no debug information of it.
VARIABLE_VALUE, VARIABLE_NAME = 16, 24


def memory(address, size):
    return gdb.selected_inferior().read_memory(address, size).tobytes()


def pointer_at(address):
    return struct.unpack("<Q", memory(address, 8))[0]


def number_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return "%.7g" % value if isinstance(value, float) else str(value)


def elements(address, dtype, count):
    name, size, code = DTYPES[dtype]
    texts = []
    for parts in struct.iter_unpack("<" + code, memory(address, size * count)):
        if name == "bfloat16":
            texts.append(number_text(struct.unpack("<f", struct.pack("<I", parts[0] << 16))[0]))
        elif len(parts) == 2:
            texts.append("%s%+.7gi" % (number_text(parts[0]), parts[1]))
        else:
            texts.append(number_text(parts[0]))
    return texts


def nested(texts, dims):
    if not dims:
        return texts[0]
    rows = len(texts) // dims[0] if dims[0] else 0
    return "[" + ", ".join(nested(texts[i * rows:(i + 1) * rows], dims[1:]) for i in range(dims[0])) + "]"


def block_text(block):
    """dtype, shape and elements of the detail::Block at an address."""
    if block == 0:
        return "empty"
    # refs, dtype, rank, flags, buffer_class, node, data, dims, count
    dtype, rank, flags = struct.unpack("<BBB", memory(block + 4, 3))
    data = pointer_at(block + 16)
    dims = list(struct.unpack("<8I", memory(block + 24, 32)))[:rank] if rank <= 8 else []
    count = struct.unpack("<q", memory(block + 56, 8))[0]
    if dtype >= len(DTYPES) or rank > 8 or count < 0:
        return "not valid"
    text = "%s%s" % (DTYPES[dtype][0], dims)
    if flags & SYMBOLIC:
        return text + " (a value of a traced function)"
    if flags & SHAPE_ONLY:
        return text + " (a shape without elements)"
    if flags & ROW_SPARSE:
        return "%s in rows: indices %s, values %s" % (text, block_text(pointer_at(block + 64)),
                                                      block_text(pointer_at(block + 72)))
    if count == 0:
        return text + " []"
    if data == 0:
        return text + " (no elements)"
    if count <= MOST_NESTED:
        return text + " " + nested(elements(data, dtype, count), dims)
    return text + " [" + ", ".join(elements(data, dtype, MOST_FLAT)) + ", ...]"


class TensorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return "Tensor " + block_text(int(self.value["block_"]))


class VariablePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        state = int(self.value["state_"])
        if state == 0:
            return "Variable empty"
        length = pointer_at(state + VARIABLE_NAME + 8)
        name = memory(pointer_at(state + VARIABLE_NAME), min(length, 200)).decode("utf-8", "replace")
        return 'Variable "%s" %s' % (name, block_text(pointer_at(state + VARIABLE_VALUE)))


class ShapePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return str([int(self.value["dims_"][i]) for i in range(int(self.value["rank_"]))])


class DTypePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        number = int(self.value)
        return DTYPES[number][0] if number < len(DTYPES) else "not valid"


def printers():
    collection = gdb.printing.RegexpCollectionPrettyPrinter("capstan")
    collection.add_printer("Tensor", "^capstan::Tensor(Ref)?$", TensorPrinter)
    collection.add_printer("Variable", "^capstan::Variable$", VariablePrinter)
    collection.add_printer("Shape", "^capstan::Shape$", ShapePrinter)
    collection.add_printer("DType", "^capstan::DType$", DTypePrinter)
    return collection


gdb.printing.register_pretty_printer(gdb.current_objfile(), printers(), replace=True)

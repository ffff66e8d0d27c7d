"""Records, images and tables between Capstan and TensorFlow, Pillow and pandas: their side. See README.md.

files.py PROGRAM FOLDER    PROGRAM is files_check
"""
import sys

import numpy
import pandas
import tensorflow as tf
from PIL import Image

from cases import both_directions, equal

EXAMPLES = 40
COMPRESSIONS = ["", "GZIP", "ZLIB"]


def example(i):
    def feature(**kind):
        return tf.train.Feature(**{name: getattr(tf.train, kind_class)(value=values)
                                   for name, (kind_class, values) in kind.items()})

    return tf.train.Example(features=tf.train.Features(feature={
        "id": feature(int64_list=("Int64List", [i])),
        "name": feature(bytes_list=("BytesList", [f"exämple {i}".encode()])),
        "bytes": feature(bytes_list=("BytesList", [bytes((i + 11 * k) % 256 for k in range(7 * i))])),
        "floats": feature(float_list=("FloatList", [0.25 * i, -1.5])),
        "integers": feature(int64_list=("Int64List", [-i, i << 40, 7]))}))


def picture(channels):
    y, x, c = numpy.ogrid[:24, :32, :channels]
    return (y * 4 + x * 3 + c * 20).astype("uint8")


def read_records(path, compression):
    records = [record.numpy() for record in tf.data.TFRecordDataset(str(path), compression_type=compression)]
    equal("records", len(records), EXAMPLES)
    for i, record in enumerate(records):
        equal(f"Example {i}", tf.train.Example.FromString(record), example(i))
    fields = {"id": tf.io.FixedLenFeature([], tf.int64), "floats": tf.io.FixedLenFeature([2], tf.float32),
              "name": tf.io.FixedLenFeature([], tf.string)}
    parsed = tf.io.parse_example(records, fields)
    equal("ids", parsed["id"].numpy().tolist(), list(range(EXAMPLES)))
    equal("floats", parsed["floats"].numpy().tolist(), [[0.25 * i, -1.5] for i in range(EXAMPLES)])
    return f"{len(records)} records"


def read_image(path, channels, levels):
    with Image.open(path) as image:
        equal("mode", image.mode, {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[channels])
        found = numpy.asarray(image).reshape(24, 32, channels)
    apart = int(numpy.abs(found.astype(int) - picture(channels).astype(int)).max())
    if apart > levels:
        raise AssertionError(f"pixels are {apart} levels apart")
    return f"{apart} levels apart"


def read_training(path, separator):
    table = pandas.read_csv(path, sep=separator)
    columns = numpy.load(path.with_suffix(".npz"))
    names = sorted(columns.files)
    equal("columns", list(table.columns), ["epoch", *names, *(f"val_{name}" for name in names)])
    equal("epochs", table["epoch"].tolist(), list(range(4)))
    for name in columns.files:
        equal(name, table[name].tolist(), columns[name].tolist())
        equal(f"rows without val_{name}", int(table[f"val_{name}"].isna().sum()), len(table))
    return f"{len(table)} rows"


def read(folder, cases):
    for compression in COMPRESSIONS:
        cases.run(f"TFRecord {compression}", read_records, folder / f"examples{compression}.tfrecord", compression)
    for channels in (1, 2, 3, 4):
        cases.run(f"PNG, {channels} channels", read_image, folder / f"{channels}.png", channels, 0)
    for channels, levels in ((1, 6), (3, 20)):
        cases.run(f"JPEG, {channels} channels", read_image, folder / f"{channels}.jpg", channels, levels)
        cases.run(f"JPEG, {channels}, best", read_image, folder / f"{channels}_all_colours.jpg", channels, 3)
    cases.run("CSV of a training", read_training, folder / "training.csv", ",")
    cases.run("CSV with tabs", read_training, folder / "training.tsv", "\t")


def write_image(image, path, **options):
    """The image, and beside it an array of what Pillow decodes: colours for a palette, the upper 8 of 16 bits."""
    image.save(path, **options)
    with Image.open(path) as written:
        written.load()
        if written.mode.startswith("I"):
            pixels = (numpy.asarray(written) >> 8).astype("uint8")
        else:
            modes = {"P": "RGB", "1": "L", "CMYK": "RGB"}
            pixels = numpy.asarray(written.convert(modes.get(written.mode, written.mode)))
    numpy.save(f"{path}.npy", pixels.reshape(*pixels.shape[:2], -1))


def write_images(folder):
    colours = Image.fromarray(picture(3), "RGB")
    for name, image in {"grey": colours.convert("L"), "grey_alpha": Image.fromarray(picture(2), "LA"), "colours": colours,
                        "colours_alpha": Image.fromarray(picture(4), "RGBA"), "palette": colours.quantize(200),
                        "palette_of_4": colours.quantize(4), "one_bit": colours.convert("1"),
                        "grey_16": Image.fromarray(picture(1)[..., 0].astype("uint16") * 257)}.items():
        write_image(image, folder / f"{name}.png")
    for name, image, options in [
            ("grey", colours.convert("L"), {}), ("colours", colours, {"quality": 90}),
            ("all_colours", colours, {"quality": 95, "subsampling": 0}), ("progressive", colours, {"progressive": True}),
            ("optimized", colours, {"optimize": True, "subsampling": 1})]:
        write_image(image, folder / f"{name}.jpg", **options)


def write(folder):
    for compression in COMPRESSIONS:
        with tf.io.TFRecordWriter(str(folder / f"examples{compression}.tfrecord"), compression) as writer:
            for i in range(EXAMPLES):
                writer.write(example(i).SerializeToString())
    write_images(folder)
    i = numpy.arange(200)
    table = pandas.DataFrame({
        "int32": i * 3 - 100, "int64": i << 40, "float32": i / 4, "float64": i / 3,
        "text": [f"plain {k}" if k % 2 == 0 else f'a "quoted",\nline {k}' for k in i],
        "missing": numpy.where(i % 5 == 0, numpy.nan, i / 4)})
    table.to_csv(folder / "table.csv", index=False)
    table.to_csv(folder / "windows.csv", index=False, lineterminator="\r\n")
    table.to_csv(folder / "table.tsv", index=False, sep="\t")


if __name__ == "__main__":
    both_directions(read, write, *sys.argv[1:])

"""Logs that Capstan writes, read by TensorBoard's own code. See README.md.

tensorboard_logs.py PROGRAM FOLDER [--browser]    PROGRAM is tensorboard_logs_check

With --browser TensorBoard shows them, and a browser without a window (chromium) keeps what is seen in FOLDER/*.png, to be
looked at.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

import numpy
import tensorflow as tf
from google.protobuf import text_format
from tensorboard.backend.event_processing import event_accumulator, plugin_event_multiplexer
from tensorboard.plugins.graph import keras_util
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.projector import projector_config_pb2
from tensorboard.util import tensor_util

from cases import Cases, equal

STEPS = 20


def accumulated(folder):
    accumulator = event_accumulator.EventAccumulator(str(folder), {event_accumulator.TENSORS: 0})
    accumulator.Reload()
    return accumulator


def tensors(log, tag, plugin):
    equal(f"plugin of {tag}", log.SummaryMetadata(tag).plugin_data.plugin_name, plugin)
    return [(event.step, tensor_util.make_ndarray(event.tensor_proto)) for event in log.Tensors(tag)]


def scalars(log):
    found = [(step, float(value)) for step, value in tensors(log, "loss", "scalars")]
    equal("loss", found, [(step, float(numpy.float32(2 / (step + 1)))) for step in range(STEPS)])
    equal("description", log.SummaryMetadata("loss").summary_description, "falls")
    equal("accuracy", len(tensors(log, "group/accuracy", "scalars")), STEPS)
    return f"{len(found)} steps"


def histograms(log):
    for step, buckets in tensors(log, "weights", "histograms"):
        equal("shape", buckets.shape, (10, 3))
        equal("elements", buckets[:, 2].sum(), 100)
        equal("ends", (buckets[0, 0], buckets[-1, 1]), (0, 99 * (step + 1)))


def images(log):
    (step, picture), = tensors(log, "picture", "images")
    equal("step and size", (step, picture[0], picture[1]), (3, b"32", b"24"))
    y, x, c = numpy.ogrid[:24, :32, :3]
    pixels = tf.io.decode_image(picture[2]).numpy()
    equal("pixels", pixels.tolist(), (y * 4 + x * 3 + c * 20).astype("uint8").tolist())
    (_, two), = tensors(log, "two", "images")
    equal("images", [int(tf.io.decode_image(image).numpy().max()) for image in two[2:]], [0, 255])


def texts(log):
    (step, note), = tensors(log, "note", "text")
    equal("note", (step, note.reshape(-1).tolist()), (5, ["some **markdown** text, ü".encode()]))
    (_, table), = tensors(log, "table", "text")
    equal("table", table.tolist(), [[b"a", b"b"], [b"c", b"d"]])


def hparams(log):
    content = log.SummaryMetadata(hparams_metadata.SESSION_START_INFO_TAG).plugin_data.content
    start = hparams_metadata.parse_session_start_info_plugin_data(content)
    found = {name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()}
    equal("values", found, {"rate": 0.5, "optimizer": "adam", "units": 16, "bias": True})
    equal("trial", start.group_name, "first")


def graph(log):
    nodes = log.Graph().node
    names = {node.name for node in nodes}
    inputs = {name.split(":")[0] for node in nodes for name in node.input}
    if not nodes or not inputs <= names:
        raise AssertionError(f"inputs {inputs - names} are no nodes")
    return f"{len(nodes)} nodes: {', '.join(sorted({node.op for node in nodes}))}"


def embedding(folder):
    text = (folder / "projector_config.pbtxt").read_text()
    config = text_format.Parse(text, projector_config_pb2.ProjectorConfig())
    (one,) = config.embeddings
    rows = numpy.loadtxt(folder / one.tensor_path, delimiter="\t")
    equal("rows", rows.tolist(), (numpy.arange(100).reshape(20, 5) / 8).tolist())
    equal("labels", (folder / one.metadata_path).read_text().splitlines(), ["a word"] * 20)


def training(folder):
    history = numpy.load(folder / "logs/training.npz")
    log = accumulated(folder / "logs/training/train")
    for name in ("loss", "mae"):
        found = [float(value) for _, value in tensors(log, f"epoch_{name}", "scalars")]
        equal(name, found, numpy.float32(history[name]).tolist())
    tags = log.Tags()["tensors"]
    for tag in ("batch_loss", "epoch_learning_rate"):
        if tag not in tags:
            raise AssertionError(f"{tag} is none of {tags}")
    with_histograms = [tag for tag in tags if tag.endswith("/histogram")]
    equal("histograms", len(with_histograms), 4)
    (_, model), = tensors(log, "keras", "graph_keras_model")
    nodes = keras_util.keras_model_to_graph_def(json.loads(model.item())).node
    equal("layers", [node.name for node in nodes], ["sequential/dense", "sequential/dense_1"])
    return f"{len(tags)} tags"


def runs(folder):
    """What the pages ask: the multiplexer finds the runs and their plugins."""
    multiplexer = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    found = sorted(multiplexer.Runs())
    equal("runs", found, ["all", "training/train"])
    for plugin in ("scalars", "histograms", "images", "text"):
        if "all" not in multiplexer.PluginRunToTagToContent(plugin):
            raise AssertionError(f"no {plugin}")


def read(folder, cases):
    log = accumulated(folder / "logs/all")
    for case in (scalars, histograms, images, texts, hparams, graph):
        cases.run(case.__name__, case, log)
    cases.run("embedding", embedding, folder / "logs/all")
    cases.run("training", training, folder)
    cases.run("runs", runs, folder / "logs")


PAGES = ["timeseries", "scalars", "images", "graphs", "histograms", "distributions", "text", "hparams", "projector"]


def look(folder, port=16006):
    """Keeps TensorBoard's pages as images."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise FileNotFoundError("chromium is missing: apt-get install chromium")
    address = f"http://127.0.0.1:{port}/"
    server = subprocess.Popen([sys.executable, "-m", "tensorboard.main", "--logdir", str(folder / "logs"), "--host",
                               "127.0.0.1", "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        inactive = PAGES
        for _ in range(60):  # some pages look for their data when they are first asked
            try:
                found = json.load(urllib.request.urlopen(address + "data/plugins_listing", timeout=10))
                inactive = [name for name in PAGES if name in found and not found[name]["enabled"]]
            except OSError:
                pass
            if not inactive:
                break
            time.sleep(1)
        equal("pages without data", inactive, [])
        for page in PAGES:
            subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                            "--window-size=1400,1000", "--virtual-time-budget=30000",
                            f"--user-data-dir={folder / 'browser'}", f"--screenshot={folder / page}.png",
                            f"{address}#{page}"], check=True, timeout=300, stderr=subprocess.DEVNULL)
    finally:
        server.terminate()
        server.wait()
    return f"{len(PAGES)} pages in {folder}"


def main(program, folder, browser=None):
    folder = pathlib.Path(folder).resolve()
    subprocess.run([program, "write", folder], check=True)
    cases = Cases()
    read(folder, cases)
    if browser == "--browser":
        cases.run("pages in a browser", look, folder)
    cases.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])

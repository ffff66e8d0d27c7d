"""Keras's own tests, run on the backend of this package.

    python keras_conformance.py SOURCE [FILE...]            compares what becomes of each case with conformance/keras.txt
    python keras_conformance.py SOURCE --write              writes the list anew and keeps the reasons that are there
    python keras_conformance.py SOURCE --against numpy      also runs another backend: how many of its passes pass here?

SOURCE is a tree of Keras 3.15.1 (a clone of its repository); FILEs are named from keras/src in it. The interpreter needs
what keras_requirements.txt names: many of the tests are written with TensorFlow's datasets and with JAX. Some files share
a process, because TensorFlow takes seconds to import; as many processes run as there are processors.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

LIST = pathlib.Path(__file__).parent / "conformance" / "keras.txt"
# Files about what another backend, or nothing of a backend, does; networks whose weights have to be downloaded.
LEFT_OUT = ("backend/jax", "backend/tensorflow", "backend/torch", "backend/openvino", "backend/numpy", "distribution",
            "quantizers", "utils/torch_utils_test.py", "utils/jax_layer_test.py", "export", "dtype_policies",
            "distillation", "applications/applications_test.py", "wrappers")
# Runs files and prints one line for each case. The test of the trainer knows its backends by name and takes no other one;
# it gets this one in the place of the error.
PROGRAM = r"""
import os, pathlib, sys
import pytest
if os.environ["KERAS_BACKEND"] == "capstan":
    import _capstan_keras
    _capstan_keras.install()

class Collector:
    def __init__(self):
        self.words = {}

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.note(report.nodeid, "fails", report.longrepr)
        elif report.skipped:
            self.words.setdefault(report.nodeid, ("skips", ""))
        elif report.when == "call":
            self.words.setdefault(report.nodeid, ("passes", ""))

    def pytest_collectreport(self, report):
        if report.failed:
            self.note(report.nodeid + "::", "fails", report.longrepr)

    def pytest_runtest_logfinish(self, nodeid):
        if nodeid in self.words:
            self.show(nodeid)

    def show(self, name):
        word, reason = self.words[name]
        file, _, case = name.partition("::")
        print("\n@case", word, file.removeprefix("keras/src/").replace("capstan_trainer", "trainer"), case, reason,
              sep="\t", flush=True)

    def note(self, name, word, error):
        crash = getattr(error, "reprcrash", None)
        text = crash.message if crash else str(error).strip().splitlines()[-1]
        self.words[name] = (word, " ".join(text.split())[:160])

paths = [pathlib.Path("keras/src") / file for file in sys.argv[1:]]
for i, path in enumerate(paths):
    if path.name == "trainer_test.py" and os.environ["KERAS_BACKEND"] == "capstan":
        text = path.read_text()
        text = text.replace('raise ImportError(f"Invalid backend: {backend.backend()}")',
                            "from capstan.keras_backend.trainer import CapstanTrainer as Trainer")
        text = text.replace('"tensorflow": "CPU:0",', '"tensorflow": "CPU:0", "capstan": "cpu:0",')
        paths[i] = path.with_name("capstan_trainer_test.py")
        paths[i].write_text(text)
collector = Collector()
pytest.main([*map(str, paths), "-q", "-s", "--timeout=120", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short"],
            plugins=[collector])
for name in collector.words:
    if name.endswith("::"):
        collector.show(name)
print("\n@end")
"""
# Files with thousands of cases, which get a process of their own, and how many of the others share one.
LARGE = ("ops/numpy_test.py", "ops/nn_test.py", "ops/math_test.py", "backend/common/variables_test.py",
         "trainers/trainer_test.py")
TOGETHER = 12


def run_files(source, backend, files):
    """{file: {case: (word, reason)}} of some files. If their process dies, each runs in one of its own."""
    environment = dict(os.environ, KERAS_BACKEND=backend, TF_CPP_MIN_LOG_LEVEL="3", OMP_NUM_THREADS="1",
                       CUDA_VISIBLE_DEVICES="")
    environment["PYTHONPATH"] = os.pathsep.join([str(source)] + environment.get("PYTHONPATH", "").split(os.pathsep))
    try:
        run = subprocess.run([sys.executable, "-c", PROGRAM, *files], cwd=source, env=environment, capture_output=True,
                             text=True, timeout=2400, errors="replace")
        output, end = run.stdout, f"the process ended with {run.returncode}"
    except subprocess.TimeoutExpired as error:
        output, end = (error.stdout or b"").decode(errors="replace"), "the tests did not end in 40 minutes"
    ended = "@end" in output
    if not ended and len(files) > 1:
        return {file: cases for one in files for file, cases in run_files(source, backend, [one]).items()}
    found = {file: {} for file in files}
    for line in output.splitlines():
        if line.startswith("@case\t"):
            _, word, file, case, reason = line.split("\t")
            found[file][case] = (word, reason)
    if ended and not any(found.values()):
        raise RuntimeError(f"no case of {', '.join(files)} ran\n{run.stderr[-2000:]}")
    if not ended:
        found[files[0]]["(the end of the file)"] = ("fails", end)
    return found


def run_all(source, backend, files):
    """{file: {case: (word, reason)}}, with a line of progress for each file."""
    small = [file for file in files if file not in LARGE]
    groups = [[file] for file in files if file in LARGE]
    groups += [small[i:i + TOGETHER] for i in range(0, len(small), TOGETHER)]
    found = {}
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for done in concurrent.futures.as_completed(pool.submit(run_files, source, backend, group) for group in groups):
            for file, cases in done.result().items():
                found[file] = cases
                words = [word for word, _ in cases.values()]
                print(f"[{len(found)}/{len(files)}] {backend} {file}: {words.count('passes')} pass, "
                      f"{words.count('fails')} fail, {words.count('skips')} are skipped", flush=True)
    return found


def test_files(source):
    root = source / "keras" / "src"
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*_test.py"))
    return [file for file in files if not file.startswith(LEFT_OUT) and "capstan_trainer" not in file]


def listed():
    """({file: passes}, {file::case: reason}) of the list."""
    passes, reasons = {}, {}
    for line in LIST.read_text().splitlines() if LIST.exists() else []:
        word, _, rest = line.partition("\t")
        name, _, reason = rest.partition("\t")
        if word == "passes":
            passes[name] = int(reason)
        elif word == "differs":
            reasons[name] = reason
    return passes, reasons


def summary(found):
    """What stands in the list, of what was found."""
    passes = {file: sum(word == "passes" for word, _ in cases.values()) for file, cases in found.items()}
    reasons = {f"{file}::{case}": re.sub("0x[0-9a-f]+", "0x", reason) for file, cases in found.items()
               for case, (word, reason) in cases.items() if word == "fails"}
    return passes, reasons


def write(passes, reasons):
    """The list with what was found; lines of files that did not run stay."""
    known_passes, known = listed()
    reasons = {name: known.get(name, reason) for name, reason in reasons.items()}
    reasons |= {name: reason for name, reason in known.items() if name.partition("::")[0] not in passes}
    passes = known_passes | passes
    lines = ["# Keras 3.15.1's tests on the backend: how many cases of each file pass, and which differ, and why."]
    lines += [f"passes\t{file}\t{count}" for file, count in sorted(passes.items()) if count]
    lines += [f"differs\t{name}\t{reason}" for name, reason in sorted(reasons.items())]
    LIST.write_text("\n".join(lines) + "\n")


def compare(passes, reasons):
    """The differences from the list, as text, for the files that ran."""
    expected_passes, expected_reasons = listed()
    lines = [f"{name} fails and is not listed: {reason}" for name, reason in reasons.items()
             if name not in expected_reasons]
    lines += [f"{name} is listed and does not fail" for name in expected_reasons
              if name.partition("::")[0] in passes and name not in reasons]
    lines += [f"{file}: {passes[file]} cases pass, {expected_passes.get(file, 0)} are listed" for file in passes
              if passes[file] != expected_passes.get(file, 0)]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--against")
    arguments = parser.parse_args()
    source = arguments.source.resolve()
    files = arguments.files or test_files(source)
    found = run_all(source, "capstan", files)
    passes, reasons = summary(found)
    print(f"{sum(passes.values())} cases pass, {len(reasons)} fail")
    if arguments.against:
        other = run_all(source, arguments.against, files)
        there = [(file, case) for file, cases in other.items() for case, (word, _) in cases.items() if word == "passes"]
        both = sum(found[file].get(case, ("",))[0] == "passes" for file, case in there)
        print(f"{len(there)} pass on {arguments.against}, of which {both} pass here ({100 * both / len(there):.1f} %)")
    if arguments.write:
        write(passes, reasons)
        return 0
    lines = compare(passes, reasons)
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

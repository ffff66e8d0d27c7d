"""TensorFlow's own tests of tapes and forward mode, run on this package.

They lie in a tree of TensorFlow 2.21 that CAPSTAN_TENSORFLOW_SOURCE names; without one the tests are skipped. What
becomes of each case stands in a list in conformance/: it passes, does not apply (and why), or differs (and why). A case
that is not listed, and one that is listed otherwise, is a failure. `python test_tensorflow.py --write` writes the lists
anew and keeps the reasons that are there.
"""
import os
import pathlib
import re
import subprocess
import sys

import pytest

SOURCE = os.environ.get("CAPSTAN_TENSORFLOW_SOURCE")
LISTS = pathlib.Path(__file__).parent / "conformance"
FILES = {"backprop_test": "tensorflow/python/eager/backprop_test.py",
         "forwardprop_test": "tensorflow/python/eager/forwardprop_test.py",
         "record_test": "tensorflow/python/eager/record_test.py",
         "function_gradients_test": "tensorflow/python/eager/polymorphic_function/gradients_test.py",
         "polymorphic_function_test": "tensorflow/python/eager/polymorphic_function/polymorphic_function_test.py"}
# In a process of its own, because the shim takes the name tensorflow.
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import tensorflow_shim
for name, (word, reason) in tensorflow_shim.run(sys.argv[2]).items():
    print(word, name, reason.replace(chr(10), " "), sep=chr(9))
"""


def outcomes(name):
    path = pathlib.Path(SOURCE) / FILES[name]
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM, str(pathlib.Path(__file__).parent), str(path)],
                         capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr[-2000:]
    lines = [line.split("\t") for line in run.stdout.splitlines() if line.count("\t") == 2]
    return {case: (word, reason) for word, case, reason in lines}


def listed(name):
    path = LISTS / f"{name}.txt"
    lines = [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {line[1]: (line[0], line[2] if len(line) > 2 else "") for line in lines}


@pytest.mark.skipif(SOURCE is None, reason="CAPSTAN_TENSORFLOW_SOURCE names no tree of TensorFlow")
@pytest.mark.parametrize("name", FILES)
def test_cases_are_as_listed(name):
    found, expected = outcomes(name), listed(name)
    changed = {case: (expected.get(case, ("not listed",))[0], word, reason)
               for case, (word, reason) in found.items() if expected.get(case, ("",))[0] != word}
    assert not changed
    assert set(expected) == set(found)


@pytest.mark.parametrize("name", FILES)
def test_lists_say_why(name):
    for case, (word, reason) in listed(name).items():
        assert word in ("passes", "differs", "not applicable")
        assert (word == "passes") == (reason == ""), case


def write():
    for name in FILES:
        path = LISTS / f"{name}.txt"
        known = listed(name) if path.exists() else {}
        lines = [f"# {FILES[name]} of TensorFlow 2.21: what becomes of each case, separated by tabs."]
        for case, (word, reason) in sorted(outcomes(name).items()):
            if case in known and known[case][0] == word:
                reason = known[case][1]
            reason = re.sub("0x[0-9a-f]+", "0x", reason)  # an address
            lines.append("\t".join([word, case] + ([reason] if reason else [])))
        path.write_text("\n".join(lines) + "\n")
        print(name, {w: sum(line.startswith(w + "\t") for line in lines) for w in ("passes", "differs",
                                                                                   "not applicable")})


if __name__ == "__main__" and "--write" in sys.argv:
    write()

"""Exported ONNX files in onnxruntime: the checker accepts them, and they give what Capstan gives.

onnx_export.py PROGRAM FOLDER    PROGRAM is onnx_export_check
"""
import pathlib
import subprocess
import sys

import numpy
import onnx
import onnxruntime

TOLERANCE = 1e-5  # of the largest number of an output, at least 1e-3


def arrays_of(path):
    arrays = numpy.load(path)
    return ([arrays[f"{kind}{i}"] for i in range(sum(name[0] == kind for name in arrays))] for kind in "xy")


def difference(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return numpy.inf
    if a.size == 0:
        return 0.0
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
    largest = max(1e-3, numpy.abs(b[numpy.isfinite(b)]).max(initial=0.0))
    return float((numpy.where(same, 0.0, numpy.abs(a - b)) / largest).max())


def check(path):
    """The largest difference, and nothing; or nothing, and why there is none."""
    try:
        onnx.checker.check_model(str(path), full_check=True)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        worst = 0.0
        runs = sorted(path.parent.glob(path.stem + ".npz")) + sorted(path.parent.glob(path.stem + ".?.npz"))
        if not runs:
            return numpy.nan, "there are no numbers to compare with"
        for arrays in runs:
            x, y = arrays_of(arrays)
            outputs = session.run(None, {put.name: value for put, value in zip(session.get_inputs(), x, strict=True)})
            worst = max([worst] + [difference(a, b) for a, b in zip(outputs, y, strict=True)])
        return worst, ""
    except Exception as error:  # the message says which runtime refuses what
        return numpy.nan, str(error).strip().splitlines()[0][:160]


def main(program, folder):
    subprocess.run([program, folder], check=True)
    wrong, refused = [], []
    files = sorted(pathlib.Path(folder).glob("*/*.onnx"))
    for path in files:
        worst, why = check(path)
        if "NOT_IMPLEMENTED" in why and path.parent.name.startswith("ops"):
            refused.append(path.stem)  # a kernel that onnxruntime does not have, such as one for whole numbers
        elif not worst <= TOLERANCE:
            wrong.append(path.stem)
            print(f"{path.stem:24} {worst:.1e} WRONG {why}")
        elif path.parent.name == "models":
            print(f"{path.stem:24} {worst:.1e}")
    print(f"onnxruntime has no kernel for {len(refused)}: {', '.join(refused)}")
    passed = len(files) - len(wrong) - len(refused)
    print(f"{passed} passed, {len(wrong)} failed")
    sys.exit(1 if wrong or passed == 0 else 0)


main(*sys.argv[1:])

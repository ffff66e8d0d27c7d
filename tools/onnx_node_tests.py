#!/usr/bin/env python3
"""Runs the node tests of the `onnx` package (`onnx.backend.test`) and prints, op by op, how many pass.

    python3 -m venv V && V/bin/pip install 'onnx==1.*'
    V/bin/python tools/onnx_node_tests.py --folder /tmp/node_tests build/release/tests/onnx_node_check
    V/bin/python tools/onnx_node_tests.py --folder /tmp/node_tests --page docs/onnx.md build/release/tests/onnx_node_check

The tests are written as files (a model and its tensors, in folders of their own) and run by onnx_node_check. A test is of
"floating and integer tensors" if its inputs and outputs are all float32, float64, bfloat16, int32, int64, uint8 or bool.
`--page` writes the table between the two marks of the page anew. The exit status is 1 if a test fails wrongly.
"""
import argparse
import collections
import pathlib
import subprocess
import sys

import onnx
from onnx import TensorProto, numpy_helper

TENSORS = {
    TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BFLOAT16, TensorProto.INT32, TensorProto.INT64,
    TensorProto.UINT8, TensorProto.BOOL
}
BEGIN, END = "<!-- node tests: begin -->", "<!-- node tests: end -->"


def write_tests(folder):
    """One folder for each test; returns for each name its op and whether it counts."""
    from onnx.backend.test.loader import load_model_tests  # noqa: F401  (the package has to be whole)
    from onnx.backend.test.case.node import collect_testcases

    tests = {}
    for case in collect_testcases(""):
        model = case.model
        op = case.name.removeprefix("test_").removesuffix("_expanded")
        ops = [node.op_type for node in model.graph.node]
        op = ops[0] if len(set(ops)) == 1 else op.split("_")[0]
        values = list(model.graph.input) + list(model.graph.output)
        counts = all(v.type.HasField("tensor_type") and v.type.tensor_type.elem_type in TENSORS for v in values)
        counts = counts and all(n.domain in ("", "ai.onnx") for n in model.graph.node)
        path = folder / case.name
        tests[case.name] = (op, counts)
        if path.exists():
            continue
        path.mkdir(parents=True)
        (path / "model.onnx").write_bytes(model.SerializeToString())
        (path / "tolerance.txt").write_text(f"{case.rtol} {case.atol}\n")
        for number, (inputs, outputs) in enumerate(case.data_sets):
            data = path / f"test_data_set_{number}"
            data.mkdir()
            for kind, tensors, infos in (("input", inputs, model.graph.input), ("output", outputs, model.graph.output)):
                for i, (tensor, info) in enumerate(zip(tensors, infos)):
                    file = data / f"{kind}_{i}.pb"
                    try:
                        proto = tensor if isinstance(tensor, TensorProto) else numpy_helper.from_array(tensor, info.name)
                        file.write_bytes(proto.SerializeToString())
                    except Exception:  # a sequence, a map, nothing
                        (data / f"{kind}_{i}.other").write_text(str(type(tensor)))
    return tests


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="onnx_node_check")
    parser.add_argument("--folder", required=True, type=pathlib.Path, help="where the tests are written")
    parser.add_argument("--page", type=pathlib.Path, help="a page whose table is written anew")
    parser.add_argument("--verbose", action="store_true", help="print what each test says that does not pass")
    options = parser.parse_args()
    tests = write_tests(options.folder)
    run = subprocess.run([options.program, str(options.folder)], capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"onnx_node_check ends with {run.returncode}: {run.stderr}")
    rows = collections.defaultdict(collections.Counter)
    of_all, of_counted = collections.Counter(), collections.Counter()
    for line in run.stdout.splitlines():
        result, name, *why = line.split("\t")
        if name not in tests:
            continue
        op, counts = tests[name]
        of_all[result] += 1
        if counts:
            of_counted[result] += 1
            rows[op][result] += 1
        if options.verbose and result != "passed" and (counts or result == "failed"):
            print(result, name, *why, sep="  ")
    text = ["| op | passed | not supported | failed |", "|---|---:|---:|---:|"]
    for op in sorted(rows, key=str.lower):
        text.append(f"| {op} | {rows[op]['passed']} | {rows[op]['not supported']} | {rows[op]['failed']} |")
    share = 100 * of_counted["passed"] / max(1, sum(of_counted.values()))
    summary = (f"onnx {onnx.__version__}: of {sum(of_counted.values())} tests of tensors of the library's dtypes "
               f"{of_counted['passed']} pass ({share:.1f} %), {of_counted['not supported']} are not supported, "
               f"{of_counted['failed']} fail; of all {sum(of_all.values())} tests {of_all['passed']} pass, "
               f"{of_all['not supported']} are not supported, {of_all['failed']} fail.")
    print("\n".join(text), summary, sep="\n\n")
    if options.page:
        page = options.page.read_text()
        head, rest = page.split(BEGIN)
        tail = rest.split(END)[1]
        options.page.write_text(head + BEGIN + "\n" + summary + "\n\n" + "\n".join(text) + "\n" + END + tail)
    return 1 if of_all["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())

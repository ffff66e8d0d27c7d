#!/usr/bin/env python3
"""Selects the golden values that the tests need from a larger collection of the same format.

    tools/select_golden.py COLLECTION build/release/tests/golden_check

Writes tests/golden/ops/*.json: the files listed below, without cases of ops or dtypes that the library does not have.
Every kept line is copied as it is.
"""

import json
import pathlib
import subprocess
import sys

FILES = ("math activation reduce array linalg conv pool normalize loss image fuzz programs").split()
CASE = '{"name"'


def known_ops(program, directory):
    lines = subprocess.run([program, "--list", directory], check=True, capture_output=True, text=True).stdout
    return {line.split()[1] for line in lines.splitlines() if line.endswith(" known")}


def main():
    source, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    target = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "ops"
    target.mkdir(parents=True, exist_ok=True)
    known = known_ops(program, source)
    for name in FILES:
        lines = (source / f"{name}.json").read_text().splitlines()
        kept = []
        for line in lines:
            # One case per line; the last has no comma.
            if not line.startswith(CASE):
                kept.append(line)
                continue
            text = line.rstrip(",")
            if '"complex' in text or json.loads(text).get("op", next(iter(known))) not in known:
                continue
            kept.append(text)
        cases = [line.startswith(CASE) for line in kept]
        last = max((i for i, case in enumerate(cases) if case), default=-1)
        kept = [line + "," if case and i != last else line for i, (line, case) in enumerate(zip(kept, cases))]
        text = "\n".join(kept) + "\n"
        json.loads(text)
        (target / f"{name}.json").write_text(text)
        print(f"{name}: {sum(cases)} of {sum(line.startswith(CASE) for line in lines)} cases")


if __name__ == "__main__":
    main()

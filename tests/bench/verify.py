#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The read-back with every block judged beside plain reads of the same extent, in turn: fio, our own requests with
nothing looked at, and the same with one byte of each cache line looked at, which is what any use of the data costs.
Medians of the rounds and the ratios to the better plain read and to the touched one; asserts nothing. A loop device over
memory is copied by a processor that then can't judge; places like sim:7000 are drives of so many MB/s that cost none.
Usage: DRIVESOAK_BUILD=BUILD verify.py [--rounds 5] [--places loop,disk,sim:3500,sim:7000] [--depths 8] [--mib 2048]
[--engines io_uring]"""

import argparse
import contextlib
import json
import pathlib
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import BUILD, MIB, loop_filesystem, run  # noqa: E402


def fio(path, size, engine, depth):
    out = run("fio", "--name=b", f"--filename={path}", "--rw=read", "--bs=1m", "--direct=1", f"--ioengine={engine}",
              f"--iodepth={depth}", "--thread", "--output-format=json", f"--size={size}")
    job = json.loads(out[out.index("{"):])["jobs"][0]
    runtime = job["job_runtime"] / 1000
    # io_bytes over runtime in whole milliseconds: bw would be rounded to its own averaging.
    return {"bytes_per_s": job["read"]["io_bytes"] / (job["read"]["runtime"] / 1000),
            "user_s": job["usr_cpu"] / 100 * runtime, "system_s": job["sys_cpu"] / 100 * runtime}


def ours(path, size, engine, depth, mode):
    out = run(str(BUILD / "tests/bench/verify_bench"), str(path), str(size), str(depth), engine, mode)
    return json.loads(out or "{}")


@contextlib.contextmanager
def place(kind, size):
    base = pathlib.Path(tempfile.mkdtemp(prefix="drivesoak-bench-", dir=BUILD if kind == "disk" else "/dev/shm"))
    try:
        with contextlib.ExitStack() as stack:
            folder = base
            if kind == "loop":
                folder, _ = stack.enter_context(loop_filesystem(base, size * 5 // 4))
            path = folder / "extent"
            ours(path, size, kind if kind.startswith("sim:") else "io_uring", 8, "fill")
            yield path
    finally:
        shutil.rmtree(base, ignore_errors=True)


def cell(options, path, size, engine, depth):
    tools = {
        "plain": lambda: ours(path, size, engine, depth, "plain"),
        "touched": lambda: ours(path, size, engine, depth, "touched"),
        "judged": lambda: ours(path, size, engine, depth, "verify"),
    }
    if not engine.startswith("sim:"):
        tools[f"fio {engine}"] = lambda: fio(path, size, engine, depth)
    results = {name: [] for name in tools}
    for number in range(options.rounds):
        order = list(tools)
        for name in order[number % len(order):] + order[:number % len(order)]:
            results[name].append(tools[name]())
    return {name: {key: statistics.median(r[key] for r in rounds) for key in ("bytes_per_s", "user_s", "system_s")}
            for name, rounds in results.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--places", default="loop,disk,sim:3500,sim:7000")
    parser.add_argument("--depths", default="8")
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--engines", default="io_uring")
    options = parser.parse_args()
    size = options.mib * MIB
    print("| place | engine | depth | read | MB/s | user s | system s | to the better plain read | to the touched read |")
    print("|---|---|---|---|---|---|---|---|---|")
    for kind in options.places.split(","):
        with place(kind, size) as path:
            for engine in [kind] if kind.startswith("sim:") else options.engines.split(","):
                for depth in map(int, options.depths.split(",")):
                    medians = cell(options, path, size, engine, depth)
                    best = max(m["bytes_per_s"] for name, m in medians.items() if name not in ("judged", "touched"))
                    for name, m in medians.items():
                        print(f"| {kind} | {engine} | {depth} | {name} | {m['bytes_per_s'] / 1e6:.0f} | "
                              f"{m['user_s']:.2f} | {m['system_s']:.2f} | {m['bytes_per_s'] / best:.2f} | "
                              f"{m['bytes_per_s'] / medians['touched']['bytes_per_s']:.2f} |", flush=True)


if __name__ == "__main__":
    main()

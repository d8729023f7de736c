#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine beside fio on the same file, in turn: IOPS and CPU time a request, stamping and latency on.

16 KiB random direct writes at several depths with one thread and two. Medians of the rounds and ratios to the better
fio of each cell; asserts nothing. At depth 1 most of the time is the wake-up of the loop device's kernel thread and of
the waiting thread, and whether these share a CPU is the scheduler's luck (a factor of 8 was seen on a virtual machine).
The place loop-one-cpu takes that luck out: the tools and the kernel's unbound work queues are kept on CPU 0 while it is
measured. The tool pwrite, at depth 1, is a bare loop of pwrite() that stamps, times and counts nothing: what the kernel
takes from any tool. Usage: DRIVESOAK_BUILD=BUILD engine.py [--rounds 5] [--seconds 3] [--places loop,loop-one-cpu,disk]
[--depths 1,32,128] [--threads 1,2]"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import BUILD, MIB, loop_filesystem, run  # noqa: E402

SIZE = 1024 * MIB
UNBOUND_CPUS = pathlib.Path("/sys/devices/virtual/workqueue/cpumask")


def fio(path, engine, threads, depth, seconds):
    out = run("fio", "--name=b", f"--filename={path}", "--rw=randwrite", "--bs=16k", "--direct=1", f"--ioengine={engine}",
              f"--iodepth={depth}", f"--numjobs={threads}", "--thread", "--norandommap", "--time_based",
              f"--runtime={seconds}", "--group_reporting", "--output-format=json", f"--size={SIZE}")
    job = json.loads(out[out.index("{"):])["jobs"][0]
    total = job["write"]["total_ios"]
    runtime = job["job_runtime"] / 1000  # of all threads
    return {"iops": job["write"]["iops"], "user_us": job["usr_cpu"] / 100 * runtime * 1e6 / total,
            "system_us": job["sys_cpu"] / 100 * runtime * 1e6 / total}


def ours(path, engine, threads, depth, seconds):
    return json.loads(run(str(BUILD / "tests/bench/engine_bench"), str(path), str(SIZE), str(threads), str(depth),
                          str(seconds), engine))


@contextlib.contextmanager
def one_cpu():
    """Keep this process, its children and the kernel's unbound work queues on CPU 0."""
    allowed, unbound = os.sched_getaffinity(0), UNBOUND_CPUS.read_text()
    try:
        UNBOUND_CPUS.write_text("1")
        os.sched_setaffinity(0, {0})
        yield
    finally:
        os.sched_setaffinity(0, allowed)
        UNBOUND_CPUS.write_text(unbound)


@contextlib.contextmanager
def place(kind):
    base = pathlib.Path(tempfile.mkdtemp(prefix="drivesoak-bench-", dir=BUILD if kind == "disk" else "/dev/shm"))
    try:
        with contextlib.ExitStack() as stack:
            folder = base
            if kind == "loop-one-cpu":
                stack.enter_context(one_cpu())
            if kind != "disk":
                folder, _ = stack.enter_context(loop_filesystem(base, SIZE * 5 // 4))
            path = folder / "extent"
            run("dd", "if=/dev/urandom", f"of={path}", "bs=1M", f"count={SIZE // MIB}", "oflag=direct")
            yield path
    finally:
        shutil.rmtree(base, ignore_errors=True)


def cell(options, path, threads, depth):
    tools = {
        "fio io_uring": lambda: fio(path, "io_uring", threads, depth, options.seconds),
        "fio libaio": lambda: fio(path, "libaio", threads, depth, options.seconds),
        "drivesoak": lambda: ours(path, "io_uring", threads, depth, options.seconds),
        "drivesoak libaio": lambda: ours(path, "libaio", threads, depth, options.seconds),
    }
    if depth == 1:
        tools["pwrite"] = lambda: ours(path, "pwrite", threads, depth, options.seconds)
    results = {name: [] for name in tools}
    for number in range(options.rounds):
        order = list(tools)
        for name in order[number % len(order):] + order[:number % len(order)]:
            results[name].append(tools[name]())
    return {name: {key: statistics.median(r[key] for r in rounds) for key in ("iops", "user_us", "system_us")}
            for name, rounds in results.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--places", default="loop,loop-one-cpu,disk")
    parser.add_argument("--depths", default="1,32,128")
    parser.add_argument("--threads", default="1,2")
    options = parser.parse_args()
    print("| place | threads x depth | tool | kIOPS | user us/IO | user + system us/IO | IOPS, user, total to the better fio |")
    print("|---|---|---|---|---|---|---|")
    for kind in options.places.split(","):
        with place(kind) as path:
            for threads in map(int, options.threads.split(",")):
                for depth in map(int, options.depths.split(",")):
                    medians = cell(options, path, threads, depth)
                    fios = [medians["fio io_uring"], medians["fio libaio"]]
                    best = max(f["iops"] for f in fios)
                    user = min(f["user_us"] for f in fios)
                    total = min(f["user_us"] + f["system_us"] for f in fios)
                    for name, m in medians.items():
                        both = m["user_us"] + m["system_us"]
                        print(f"| {kind} | {threads} x {depth} | {name} | {m['iops'] / 1000:.1f} | {m['user_us']:.2f} | "
                              f"{both:.2f} | {m['iops'] / best:.2f}, {m['user_us'] / user:.2f}, {both / total:.2f} |",
                              flush=True)


if __name__ == "__main__":
    main()

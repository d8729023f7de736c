#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The host is blamed when it keeps the threads from a CPU, and the drive when only the drive is slow.

Other work on the machine is no mistake of the program: what must not be flagged is looked at in samples in which the
kernel saw no steal and hardly any waiting for a CPU. Then nothing but a wrong decision can flag one."""

import contextlib
import os
import pathlib
import subprocess
import sys
import time

from harness import MIB, Service, Skip, loop_filesystem, main, wait_for, work_folder

CGROUPS = pathlib.Path("/sys/fs/cgroup")
STEAL_MAX, DELAY_MAX = 0.01, 0.05
BUSY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
end = time.monotonic() + 60
while time.monotonic() < end:
    pass
"""


@contextlib.contextmanager
def group_of(controller, file, service):
    """A control group of version 1 with the service in it."""
    base = CGROUPS / controller
    group = base / f"drivesoak-test-{os.getpid()}"
    if os.geteuid() != 0 or not (base / "cgroup.procs").exists():
        raise Skip(f"no {controller} controller of cgroup v1")
    before = home_of(controller)
    group.mkdir()
    try:
        if not (group / file).exists():
            raise Skip(f"the {controller} controller has no {file}")
        (group / "cgroup.procs").write_text(str(service.process.pid))
        yield group
    finally:
        if service.process.poll() is None:
            (before / "cgroup.procs").write_text(str(service.process.pid))
        wait_for(lambda: not (group / "cgroup.procs").read_text(), 10, "the group to empty")
        group.rmdir()


def home_of(controller):
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            return CGROUPS / controller / path.lstrip("/")
    raise Skip(f"not in a group of the {controller} controller")


@contextlib.contextmanager
def throttled(device, service, iops):
    """Let the device do no more than that; the requests beyond it wait above the device."""
    file = "blkio.throttle.write_iops_device"
    with group_of("blkio", file, service) as group:
        number = os.stat(device).st_rdev
        name = f"{os.major(number)}:{os.minor(number)}"
        (group / file).write_text(f"{name} {iops}")
        try:
            yield
        finally:
            (group / file).write_text(f"{name} 0")


@contextlib.contextmanager
def busy_loops(count, cpu):
    loops = [subprocess.Popen([sys.executable, "-c", BUSY, str(cpu)]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def pin(service, cpu):
    for thread in os.listdir(f"/proc/{service.process.pid}/task"):
        os.sched_setaffinity(int(thread), {cpu})


def next_samples(service, count):
    """The next whole samples, without the one in which something was changed and one that is on its way here."""
    seen = len(service.samples()) + 2
    samples = service.wait_samples(seen + count)[seen:]
    return [s for s in samples if "partial" not in s["flags"]]


def is_flagged(sample):
    return "host-limit" in sample["flags"].split("|")


def flagged_share(samples):
    assert samples, "no sample to look at"
    return sum(map(is_flagged, samples)) / len(samples)


def calm(samples, least):
    """Those in which nobody else wanted the CPUs; skips when the machine is too busy to have enough."""
    kept = [s for s in samples if (s["steal_share"] or 0) <= STEAL_MAX and s["run_delay_share"] <= DELAY_MAX]
    if len(kept) < least:
        raise Skip(f"the machine is busy: {len(kept)} of {len(samples)} samples were calm")
    return kept


def median(values):
    return sorted(values)[len(values) // 2]


def limit_notes(service):
    return [e["text"] for e in service.events() if e["kind"] == "note" and e["text"].startswith("the host is the limit")]


def test_busy_loops_on_the_same_cpu_are_the_host():
    cpu = min(os.sched_getaffinity(0))
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, _):
        # Threads that work most of the time: a single request's thread is woken before any busy loop.
        with Service(folder, mount, threads=2, queue_depth=32) as service:
            service.start()
            service.wait_phase("soak")
            quiet = next_samples(service, 4)
            pin(service, cpu)
            with busy_loops(3, cpu):
                busy = next_samples(service, 6)
            before, after = (median([s["run_delay_share"] for s in samples]) for samples in (quiet, busy))
            assert after > 0.1, (before, after)
            assert flagged_share(busy) >= 0.8, busy
            if before <= DELAY_MAX:  # else others were as busy before
                assert after > 2 * before, (before, after)
            notes = limit_notes(service)
            assert notes and "of the last 6 samples: " in notes[0], service.events()
            service.stop()


def test_a_cpu_quota_is_the_host():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, _):
        with Service(folder, mount, threads=2, queue_depth=32) as service:
            service.start()
            service.wait_phase("soak")
            with group_of("cpu", "cpu.cfs_quota_us", service) as group:
                before = next_samples(service, 2)
                assert all(s["throttled_ns"] == 0 for s in before), before
                (group / "cpu.cfs_quota_us").write_text("5000")
                held = next_samples(service, 6)
                (group / "cpu.cfs_quota_us").write_text("-1")
                assert flagged_share(held) >= 0.8, held
                assert sum(s["throttled_ns"] > 0.1e9 for s in held) >= 0.8 * len(held), held
            assert limit_notes(service), service.events()
            # The journal has the same, digit for digit as far as the API prints them.
            rows = service.journal_rows("select flags & 8, throttled_ns, lat_mean_ns, device_lat_mean_ns, run_delay_share"
                                        " from samples order by t_ms")
            for row, sample in zip(rows, service.samples()):
                names = ("throttled_ns", "lat_mean_ns", "device_lat_mean_ns", "run_delay_share")
                delay = None if row[4] is None else float(f"{row[4]:.10g}")
                assert (*row[:4], delay) == (8 * is_flagged(sample), *(sample[name] for name in names)), (row, sample)
            service.stop()


def test_a_throttled_device_is_not_the_host_though_requests_wait_above_it():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, device):
        with Service(folder, mount, threads=2, queue_depth=32) as service:
            service.start()
            service.wait_phase("soak")
            with throttled(device, service, 2000):
                samples = next_samples(service, 9)
            for sample in samples:
                assert 1500 <= sample["write_ios"] <= 2500, sample
                # The trap: by latency alone the host would be to blame.
                assert sample["lat_mean_ns"] > 1.5 * sample["device_lat_mean_ns"], sample
            assert flagged_share(calm(samples, 3)) == 0, samples
            service.stop()


def test_an_undisturbed_run_on_a_slow_drive_has_its_figures():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, device):
        with Service(folder, mount, size="32MiB", threads=8, queue_depth="auto") as service:
            service.start()
            with throttled(device, service, 1000):
                service.wait_phase("soak")
                kept = calm(next_samples(service, 12), 3)
                assert flagged_share(kept) == 0, kept
                assert all(s["throttled_ns"] is not None for s in kept[1:]), kept
                time.sleep(0.3)  # the summary and the samples of one moment
                samples, summary = service.samples(), service.runs()[0]["summary"]
            soak = [s for s in samples if s["phase"] == "soak"]
            assert summary["samples"] == sum(s["flags"] == "" for s in soak) > 0, (summary, soak)
            assert 900 <= summary["median_write_bytes_per_s"] / 16384 <= 1100, summary
            limited = sum(is_flagged(s) for s in soak) / sum(s["elapsed_s"] for s in soak) * 100
            assert abs(summary["host_limited_pct"] - limited) < 5, (summary, soak)
            service.stop()


if __name__ == "__main__":
    main(globals())

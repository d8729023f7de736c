#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A fall of throughput tells its cause: errors, a command that hangs, a controller that is reset, a host without CPU time.
One guest, one service, one drive for each; what happens to one is no cause for the others."""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import main  # noqa: E402
from rig import Drive, machine  # noqa: E402
from service import Service  # noqa: E402

TOP = 'alerts { collapse-for = "3s" stall-after = "4s" }'
FALLS = ("collapse", "stall", "cliff", "level-shift")
IO_TIMEOUT_MS = 5000
IOPS = 100  # far less than the guest can do: the drives are the limit

BUSY = """
import os, time
os.sched_setaffinity(0, {0})
os.nice(-15)
end = time.monotonic() + %d
while time.monotonic() < end:
    pass
"""


def falls(service, name, since_s):
    return [e for e in service.events(name) if e["kind"] in FALLS and e["t_s"] >= since_s]


def wait_cause(service, name, since_s, cause, seconds=120):
    """The first fall since then, once it is over, with that cause; causes become known while a fall lasts."""
    def look():
        events = sorted(falls(service, name, since_s), key=lambda event: event["t_s"])
        return events[0] if events and events[0]["until_s"] is not None else None

    event = service.wait_for(look, seconds, f"{name}: a fall that is over")
    assert event["cause"] == cause, (cause, event, service.events(name)[:10], service.guest.run("dmesg | tail -n 30"))
    return event


def wait_recovered(service, name):
    def look():
        drive = service.drive(name)
        return drive["baseline_bytes_per_s"] and drive["percent_of_baseline"] and drive["percent_of_baseline"] > 70

    service.wait_for(look, 90, f"{name} at its baseline")


def errors_are_the_cause(service, drive):
    since_s = service.now_s() - 2
    drive.fail_writes()
    time.sleep(8)
    drive.mend()
    event = wait_cause(service, drive.name, since_s, "io-errors")
    assert event["evidence"].startswith("measured: the kernel at "), event
    assert drive.kernel_name() in event["evidence"] and "rror" in event["evidence"], event


def a_command_that_hangs_is_the_cause(service, drive):
    """The kernel gives up after its time; thawed before it resets the controller, which QEMU would not survive."""
    service.guest.run(f"echo {IO_TIMEOUT_MS} >/sys/block/{drive.kernel_name()}/queue/io_timeout")
    since_s = service.now_s() - 2
    drive.freeze()
    time.sleep(IO_TIMEOUT_MS / 1000 * 1.6)
    drive.thaw()
    event = wait_cause(service, drive.name, since_s, "reset")
    assert "timeout" in event["evidence"] and event["evidence"].startswith("measured: the kernel at "), event
    told = [e for e in service.events(drive.name, "error") if e["cause"] == "reset" and e["t_s"] >= since_s]
    assert told and "timeout" in told[0]["text"], service.events(drive.name)


def a_controller_that_is_reset_is_the_cause(service, drive):
    since_s = service.now_s() - 2
    controller = f"/sys/block/{drive.kernel_name()}/device/reset_controller"
    # One after the other without a pause: with one alone hardly a sample is slow.
    service.guest.try_run(f"end=$((SECONDS + 10)); while [ $SECONDS -lt $end ]; do echo 1 >{controller}; done", 60)
    event = wait_cause(service, drive.name, since_s, "reset")
    assert "queues" in event["evidence"] or "reset" in event["evidence"], event
    told = [e for e in service.events(drive.name, "error") if e["cause"] == "reset" and e["t_s"] >= since_s]
    assert told and told[-1]["severity"] == "warning" and "so far in the run: " in told[-1]["text"], told


def a_host_without_cpu_time_is_the_cause(service, names):
    since_s = service.now_s() - 2
    service.guest.run(f"for thread in /proc/{service.pid}/task/*; do thread=${{thread##*/}}; "
                      f"[ $thread = {service.pid} ] || taskset -p 1 $thread; done")
    loops = [service.guest.ask("spawn", command=["python3", "-c", BUSY % 15], log="/dev/null")["pid"] for _ in range(6)]
    for pid in loops:
        service.guest.ask("poll", 60, pid=pid, wait=50)
    for name in names:
        event = wait_cause(service, name, since_s, "host")
        assert event["evidence"].startswith("measured: the host took "), event


def assert_no_fall(service, name, since_s):
    assert not falls(service, name, since_s), falls(service, name, since_s)
    assert not [e for e in service.events(name, "error") if e["t_s"] >= since_s], service.events(name, "error")


def test_each_fall_has_its_own_cause():
    errors, hangs, resets, quiet = (Drive("errors", "nvme", "RIGNVME0001"), Drive("hangs", "nvme", "RIGNVME0002", backing="nbd"),
                                    Drive("resets", "nvme", "RIGNVME0003"), Drive("quiet", "sata", "RIGSATA0001"))
    drives = (errors, hangs, resets, quiet)
    with machine(*drives) as (guest, prefix):
        keys = {"settle-rule": "off", "max-errors": 1000000000, "threads": 1, "size": "16MiB"}
        sections = {drive.name: {"drive": drive, **keys} for drive in drives}
        # Of a full queue too many requests come back between two resets.
        sections["resets"]["queue-depth"] = 1
        service = Service(guest, prefix, sections, top=TOP)
        service.write_config().arm(*(drive.name for drive in drives))
        service.start()
        for drive in drives:
            service.wait_phase(drive.name, "soak")
            drive.throttle(IOPS)
        assert "can't be heard" not in service.log(), service.log()
        for drive in drives:
            service.wait_drive(drive.name, lambda d: d["baseline_bytes_per_s"], 240, "a baseline")
        start_s = service.now_s()
        errors_are_the_cause(service, errors)
        a_command_that_hangs_is_the_cause(service, hangs)
        a_controller_that_is_reset_is_the_cause(service, resets)
        assert_no_fall(service, "quiet", start_s)
        for drive in drives:
            wait_recovered(service, drive.name)
        # The sums outlive the service.
        before = [e for e in service.events("resets", "error") if e["cause"] == "reset"][0]["text"].rpartition(": ")[2]
        service.kill()
        service.start()
        service.wait_drive("resets", lambda d: d["phase"] == "soak" and d["write_bytes_per_s"], 60, "the soak again")
        guest.run(f"echo 1 >/sys/block/{resets.kernel_name()}/device/reset_controller")
        count = int(before.split()[0])
        service.wait_for(lambda: any(f"so far in the run: {count + 1} resets" in e["text"]
                                     for e in service.events("resets", "error")), 30, f"one more than {before}")
        for drive in drives:
            wait_recovered(service, drive.name)
        a_host_without_cpu_time_is_the_cause(service, ("quiet",))
        assert service.stop() == 0


if __name__ == "__main__":
    main(globals())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A fall of throughput tells its cause: errors, a command that hangs, a host without CPU time; of a drive that is only slow
it is unknown, and all the same told to a program, a webhook, a mail server and an Alertmanager. What happens to one drive is no cause for the
others, and a controller that is reset is an event also without a fall."""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import main, wait_for  # noqa: E402
from receivers import told  # noqa: E402
from rig import Drive, machine  # noqa: E402
from service import Service  # noqa: E402

TOP = 'alerts { collapse-for = "3s" stall-after = "4s" }'
PAGES = "/run/pages"
RECEIVERS = str(pathlib.Path(__file__).resolve().parents[1] / "integration/receivers.py")
ALERT = "DrivesoakThroughputCollapse"
PROGRAM = "/run/page"
NOTIFY = f'notify "program" {{ command = {{ "/bin/sh", "{PROGRAM}" }} }}'
TOLD_S = 5  # from the event to the program
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


def pages(service, drive):
    """(rule, status) of each time the program was run for it."""
    lines = service.guest.run(f"cat {PAGES} 2>/dev/null || true").splitlines()
    return [tuple(line.split()[1:]) for line in lines if line.split()[0] == drive.name]


def start_receivers(guest):
    """In the guest, which has no other network than its loopback. What they know, as text, by a function."""
    status = guest.share / "receivers"
    guest.run("mkdir -p /run/receivers")
    guest.ask("spawn", command=["python3", RECEIVERS, "/run/receivers", "/run/share/receivers"], log="/run/share/receivers.log")
    wait_for(status.exists, 120 * guest.patience, f"the receivers: {guest.tail('share/receivers.log')}")
    return lambda: json.loads(status.read_text())


def a_slow_drive_is_told(service, drive, receivers):
    def are_told(statuses):
        hook, mails, active = told(receivers(), drive.name, ALERT)
        return (pages(service, drive) == [("collapse", status) for status in statuses] and hook == statuses and
                len(mails) == len(statuses) and active == (statuses[-1] == "firing"))

    assert told(receivers(), drive.name, ALERT) == ([], [], 0), receivers()
    drive.throttle(IOPS // 20)
    event = service.wait_event(drive.name, "collapse", 60)
    service.wait_for(lambda: are_told(["firing"]), TOLD_S, "all to be told")
    drive.throttle(IOPS)
    service.wait_for(lambda: service.events(drive.name, "collapse")[0]["until_s"], 60, "the end of the collapse")
    # What follows within the digest of 30 s waits for it.
    service.wait_for(lambda: are_told(["firing", "resolved"]), 30 + TOLD_S, "all to be told of the end")
    over = service.events(drive.name, "collapse")
    assert len(over) == 1 and over[0]["t_s"] == event["t_s"] and over[0]["cause"] == "unknown", over


def reset_controller(service, drive):
    service.guest.run(f"echo 1 >/sys/block/{drive.kernel_name()}/device/reset_controller")


def wait_resets(service, name, count):
    """An event with the sum; severity and words are those of a reset."""
    def look():
        return [e for e in service.events(name, "error") if f"so far in the run: {count} resets" in e["text"]]

    event = service.wait_for(look, 30, f"{name}: {count} resets")[0]
    assert event["cause"] == "reset" and event["severity"] == "warning", event
    assert "default/read/poll queues" in event["evidence"], event


def soak(service, drives):
    """Until each has a baseline; the drives are the limit."""
    service.write_config().arm(*(drive.name for drive in drives))
    service.start()
    for drive in drives:
        service.wait_phase(drive.name, "soak")
        drive.throttle(IOPS)
    assert "can't be heard" not in service.log(), service.log()
    for drive in drives:
        service.wait_drive(drive.name, lambda d: d["baseline_bytes_per_s"], 240, "a baseline")


def sections_of(drives):
    keys = {"settle-rule": "off", "max-errors": 1000000000, "threads": 1, "size": "16MiB"}
    return {drive.name: {"drive": drive, **keys} for drive in drives}


def test_a_host_without_cpu_time():
    drive = Drive("quiet", "sata", "RIGSATA0001")
    with machine(drive) as (guest, prefix):
        service = Service(guest, prefix, sections_of([drive]), top=TOP)
        soak(service, [drive])
        since_s = service.now_s() - 2
        # The thread that takes the samples keeps its time.
        guest.run(f"for thread in /proc/{service.pid}/task/*; do thread=${{thread##*/}}; "
                  f"[ $thread = {service.pid} ] || taskset -p 1 $thread; done")
        loops = [guest.ask("spawn", command=["python3", "-c", BUSY % 15], log="/dev/null")["pid"] for _ in range(6)]
        for pid in loops:
            guest.ask("poll", 60, pid=pid, wait=50)
        event = wait_cause(service, "quiet", since_s, "host")
        assert event["evidence"].startswith("measured: the host took "), event
        assert service.stop() == 0


def test_drives_that_fail_hang_and_are_reset():
    errors, hangs, resets, slow, quiet = (
        Drive("errors", "nvme", "RIGNVME0001"), Drive("hangs", "nvme", "RIGNVME0002", backing="nbd"),
        Drive("resets", "nvme", "RIGNVME0003"), Drive("slow", "nvme", "RIGNVME0004"), Drive("quiet", "sata", "RIGSATA0001"))
    drives = (errors, hangs, resets, slow, quiet)
    with machine(*drives) as (guest, prefix):
        guest.ask("write", path=PROGRAM, text=f'echo "$DRIVESOAK_DRIVE $DRIVESOAK_ALERT $DRIVESOAK_STATUS" >>{PAGES}\n')
        receivers = start_receivers(guest)
        service = Service(guest, prefix, sections_of(drives), top=f"{TOP}\n{NOTIFY}\n{receivers()['sections']}")
        soak(service, drives)
        start_s = service.now_s()
        a_slow_drive_is_told(service, slow, receivers)
        errors_are_the_cause(service, errors)
        a_command_that_hangs_is_the_cause(service, hangs)
        reset_controller(service, resets)
        wait_resets(service, "resets", 1)
        assert not falls(service, "quiet", start_s) and not service.events("quiet", "error"), service.events("quiet")
        assert not [e for e in service.events("errors", "error") if e["cause"] == "reset"], service.events("errors")
        # The sums outlive the service.
        service.kill()
        service.start()
        service.wait_drive("resets", lambda d: d["phase"] == "soak" and d["write_bytes_per_s"], 60, "the soak again")
        reset_controller(service, resets)
        wait_resets(service, "resets", 2)
        # What was found before the kill stands.
        assert wait_cause(service, "errors", start_s - 2, "io-errors") and service.stop() == 0


if __name__ == "__main__":
    main(globals())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Throughput that collapses while the service runs: one event, raised at the third bad sample, kept over a kill, and
closed when the drive has recovered; an alert that reaches a webhook, a mail server and Debian's Alertmanager within 5 s of
that; beside it what the run says of its steady state."""

import contextlib
import os
import pathlib
import time

from harness import CLIENT, MIB, Service, Skip, loop_filesystem, main, run, wait_for, work_folder
from receivers import Receivers, told

BLKIO = pathlib.Path("/sys/fs/cgroup/blkio")
FAST, SLOW = 1500, 50  # requests a second
TOP = 'alerts { collapse-for = "3s" stall-after = "8s" }'
ALERT = "DrivesoakThroughputCollapse"
TOLD_S = 5  # from the third bad sample to each receiver


class Throttle:
    """The kernel's own limit for what one device does for the service."""

    def __init__(self, device):
        """Each has a group of its own."""
        self.file = "blkio.throttle.write_iops_device"
        if os.geteuid() != 0 or not (BLKIO / "cgroup.procs").exists():
            raise Skip("no blkio controller of cgroup v1")
        number = os.stat(device).st_rdev
        self.name = f"{os.major(number)}:{os.minor(number)}"
        self.group = BLKIO / f"drivesoak-collapse-{os.getpid()}-{pathlib.Path(device).name}"
        self.group.mkdir()
        if not (self.group / self.file).exists():
            self.group.rmdir()
            raise Skip(f"the blkio controller has no {self.file}")

    def wrapper(self):
        """For a service that is in it from its start."""
        return ("sh", "-c", f'echo $$ >{self.group}/cgroup.procs; exec "$@"', "sh")

    def set_rate(self, direction, bytes_per_s):
        """0: no limit. A byte a second is a drive that hangs."""
        (self.group / f"blkio.throttle.{direction}_bps_device").write_text(f"{self.name} {bytes_per_s}")

    def take(self, service):
        (self.group / "cgroup.procs").write_text(str(service.process.pid))

    def set(self, iops):
        (self.group / self.file).write_text(f"{self.name} {iops}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        wait_for(lambda: not (self.group / "cgroup.procs").read_text(), 20, "the group to empty")
        self.group.rmdir()


@contextlib.contextmanager
def soaking_slowly(top="", **keys):
    """(service, throttle): a drive that does FAST requests a second."""
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, device), Throttle(device) as throttle:
        with Service(folder, mount, top=f"{TOP}\n{top}", threads=2, queue_depth=32, **keys) as service:
            service.start()
            service.wait_phase("soak")
            throttle.take(service)
            throttle.set(FAST)
            yield service, throttle


def wait_baseline(service):
    """After 60 samples that count."""
    service.wait_drive(lambda d: d["baseline_bytes_per_s"], 180, "a baseline")


def falls(service):
    kinds = ("collapse", "stall", "cliff", "periodic", "level-shift")
    return [event for event in reversed(service.events()) if event["kind"] in kinds]


def first_slow(service):
    """When the first whole sample below half of FAST ended; the samples after FAST was set."""
    soak = [s for s in service.samples() if s["phase"] == "soak" and s["state"] in ("measured", "zero")]
    return next(s["t_s"] for s in soak[10:] if s["write_ios"] / s["elapsed_s"] < FAST / 2 and "partial" not in s["flags"])


def check_one_length(service, fall):
    """The text of the alert that is over tells the numbers and the length of its event, and no other."""
    word = fall["text"].split(",")[0]
    assert " for " in word, fall
    last = [e["text"] for e in service.events() if e["kind"] == "alert" and " is over" in e["text"]][-1]
    assert last.startswith(f"collapse is over: {word},"), (last, fall)
    past = service.api("alerts")["history"][0]
    assert past["text"].startswith(word + ","), (past, fall)


def check_rules(service):
    """What each rule of throughput decides by, not what its neighbour does."""
    rules = {r["alert"]: r for r in service.api("alerts")["rules"] if r["drive"] == "cand"}
    assert rules["collapse"]["value"] and rules["collapse"]["threshold"] and rules["collapse"]["margin_pct"] > 0, rules
    for name in ("degraded", "saw-tooth"):
        assert [rules[name][key] for key in ("value", "threshold", "margin_pct")] == [None] * 3, rules[name]
    assert [rules["io-errors"][key] for key in ("value", "threshold", "margin_pct")] == [0, 1, 100], rules
    page = service.get("/alerts")[1].decode()
    assert "MiB/s" in page and "not known yet" in page and "no figure" in page and "<td class=\"num\" data-l=\"Threshold\">8 s" in page, page


def told_of(receivers):
    return told(receivers.known(), "cand", ALERT)


def wait_told(receivers, condition, seconds, what):
    """Until the three know; how long that took."""
    start = time.monotonic()
    try:
        wait_for(lambda: condition(*told_of(receivers)), seconds, what)
    except AssertionError as error:
        raise AssertionError(f"{error}: {receivers.known()}") from error
    return time.monotonic() - start


def check_collapse(receivers, service, throttle):
    """One event from its third bad sample to its end, also over a kill."""
    baseline = service.drive()["baseline_bytes_per_s"] / 16384
    assert 0.8 * FAST < baseline < 1.2 * FAST, baseline
    assert falls(service) == [], falls(service)
    assert told_of(receivers) == ([], [], 0), receivers.known()
    check_rules(service)
    throttle.set(SLOW)
    event = wait_for(lambda: next(iter(falls(service)), None), 20, "the collapse")
    told_s = time.time()
    wait_told(receivers, lambda hook, mails, active: hook == ["firing"] and len(mails) == 1 and active == 1, TOLD_S,
              "all to be told")
    assert "collapse" in told_of(receivers)[1][0], receivers.known()
    alert = service.api("alerts")["firing"][0]
    assert alert["alert"] == "collapse" and alert["value"] < alert["threshold"], alert
    assert [a["alert"] for a in service.drive()["alerts"]] == ["collapse"], service.drive()
    slow_s = first_slow(service)
    assert event["kind"] == "collapse" and event["severity"] == "critical", event
    assert event["until_s"] is None and event["run"] == service.run_id(), event
    # The sample before the first whole slow one may have been slow in part.
    assert slow_s - 2 <= event["t_s"] <= slow_s, (event, slow_s)
    # Three samples of a second, a tick, and what the journal and this look take.
    assert told_s - slow_s < 3 + 5, (told_s, slow_s)
    drive = service.wait_drive(lambda d: d["reason"], 5, "the reason")
    assert drive["reason"].startswith("collapse: ") and "of the baseline of" in drive["reason"], drive
    assert drive["state"] == "running" and drive["percent_of_baseline"] < 50, drive
    assert abs(drive["baseline_bytes_per_s"] / 16384 - baseline) < 0.05 * baseline, drive
    service.kill()
    service.start()
    service.wait_drive(lambda d: d["state"] == "running" and d["last_sample_s"], 30, "the run to go on")
    throttle.take(service)
    drive = service.wait_drive(lambda d: d["reason"], 10, "the reason after the kill")
    assert drive["reason"].startswith("collapse: "), drive
    assert [e["t_s"] for e in falls(service)] == [event["t_s"]], falls(service)
    # What was found of its cause before the kill is not lost.
    assert "not kept" not in falls(service)[0]["evidence"], falls(service)
    throttle.set(FAST)
    fast_s = time.time()
    over = wait_for(lambda: falls(service)[0]["until_s"] and falls(service), 60, "the end")
    assert len(over) == 1 and over[0]["t_s"] == event["t_s"] and over[0]["kind"] == "collapse", over
    assert abs(over[0]["until_s"] - fast_s) < 6, (over, fast_s)
    wait_told(receivers, lambda hook, mails, active: hook == ["firing", "resolved"] and len(mails) == 2 and active == 0,
              TOLD_S, "all to be told of the end")
    check_one_length(service, over[0])
    assert service.api("alerts")["firing"] == [], service.api("alerts")["firing"]
    service.wait_drive(lambda d: not d["reason"], 10, "the reason to go")
    summary = service.runs()[0]["summary"]
    assert summary["collapses_per_h"] > 0 and summary["window"]["settled"], summary
    assert any("1 collapse of throughput" in reason for reason in summary["verdict_reasons"]), summary
    assert summary["verdict"] == "FAIL", summary  # a tenth of this short window was spent far below its median
    # A second one soon after is told as well, with the digest of the first one's end.
    throttle.set(SLOW)
    wait_told(receivers, lambda hook, mails, active: hook == ["firing", "resolved", "firing"] and len(mails) == 3, 30 + 20,
              "the second to be told")
    firing = service.api("alerts")["firing"][0]
    assert firing["told"] and firing["held_until_s"] is None, firing
    service.stop()


def check_cliff(service, throttle):
    """Before a run has settled a lasting fall is no alert."""
    drive = service.drive()
    assert drive["settled_s"] is None and "of 5 rounds measured" in drive["why_not_settled"], drive
    throttle.set(FAST // 5)
    event = wait_for(lambda: next(iter(falls(service)), None), 20, "the cliff")
    assert event["kind"] == "cliff" and event["severity"] == "info", event
    summary = service.runs()[0]["summary"]
    assert summary["verdict"] == "NO VERDICT" and not summary["steady"]["reached"], summary
    assert any("of 5 rounds measured" in reason for reason in summary["verdict_reasons"]), summary
    assert summary["collapses_per_h"] == 0, summary
    # What lasts when the run ends, ends with it.
    assert falls(service)[0]["until_s"] is None, falls(service)
    run(CLIENT, "stop", "cand", "-c", str(service.config))
    wait_for(lambda: service.drive()["state"] == "done", 20, "the end of the run")
    wait_for(lambda: falls(service)[0]["until_s"], 5, "the end of the cliff")
    service.stop()


def test_a_collapse_is_told_once_and_a_cliff_is_none():
    # Beside each other: the wait for a baseline is a minute.
    with contextlib.ExitStack() as stack:
        receivers = Receivers(stack, stack.enter_context(work_folder()))
        settled = stack.enter_context(soaking_slowly(top=receivers.sections, settle_rule="off"))
        fresh = stack.enter_context(soaking_slowly())
        wait_baseline(settled[0])
        check_collapse(receivers, *settled)
        wait_baseline(fresh[0])
        check_cliff(*fresh)


def hang_and_recover(service, throttle, direction, rate):
    """The alert comes while nothing completes, and goes when something does."""
    phase = service.drive()["phase"]
    throttle.set_rate(direction, 1)
    try:
        drive = service.wait_drive(lambda d: d["state"] == "stalled", 30, "the stall")
        assert drive["phase"] == phase and drive["reason"].startswith("nothing has completed for "), drive
        firing = wait_for(lambda: [a for a in service.api("alerts")["firing"] if a["alert"] == "stall"], 5, "the alert")
        assert firing[0]["value"] >= 3 and firing[0]["threshold"] == 3, firing
    finally:  # a process whose requests hang does not end
        throttle.set_rate(direction, rate)
    service.wait_drive(lambda d: d["state"] == "running", 30, "the recovery")
    wait_for(lambda: not [a for a in service.api("alerts")["firing"] if a["alert"] == "stall"], 5, "the end of the alert")


def test_a_fill_and_a_read_back_that_hang_are_alerts():
    with work_folder() as folder, loop_filesystem(folder, 512 * MIB) as (mount, device), Throttle(device) as throttle:
        throttle.set_rate("write", 16 * MIB)
        throttle.set_rate("read", 8 * MIB)
        with Service(folder, mount, top='alerts { stall-after = "3s" }', wrapper=throttle.wrapper(), size="192MiB",
                     duration="3s", verify="end", threads=2, queue_depth=32) as service:
            service.start()
            service.wait_phase("fill")
            service.wait_samples(2)
            hang_and_recover(service, throttle, "write", 32 * MIB)
            service.wait_phase("verify")
            service.wait_drive(lambda d: d["read_bytes_per_s"], 20, "the read-back")
            hang_and_recover(service, throttle, "read", 24 * MIB)
            service.wait_drive(lambda d: d["state"] == "done", 30, "the end")
            assert service.runs()[0]["verify"]["corrupt"] == 0, service.runs()
            service.stop()


if __name__ == "__main__":
    main(globals())

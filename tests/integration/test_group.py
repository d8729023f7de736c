#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives that share a path: each fills alone first, then they fill together, and what they lose is a badge.

The service of these tests differs from the installed one in one number: 4 s alone instead of 60."""

import contextlib
import os
import pathlib
import time

from harness import BUILD, MIB, Service, Skip, cpu_pressure, loop_device, loop_filesystem, main, wait_for, work_folder
from test_device import DeviceService

BLKIO = pathlib.Path("/sys/fs/cgroup/blkio")
ALONE_S = 4
# The kernel hands out a tenth of it at a time: that must be more than a request of the fill.
RATE = 16 * MIB


class GroupService(DeviceService):
    """Two drives, a and b; keys are of both. Either directories, or devices with the images behind them."""

    daemon = str(BUILD / "tests/integration/drivesoakd-brief")

    def __init__(self, folder, targets, images=None, group="one", wrapper=(), b_keys=None, **keys):
        values = {"directory": None, "files": None, "device": None, "serial": None, "threads": 2, "group": group, **keys}
        self.targets, self.images = dict(zip("ab", targets)), dict(zip("ab", images or ()))

        def of(name):
            if images:
                return {**values, "device": self.targets[name], "serial": f"loop:{self.images[name]}"}
            return {**values, "directory": str(self.targets[name]), "files": 8}

        # The section of the second is the first one's with other words.
        Service.__init__(self, folder, targets[1], name="b", wrapper=wrapper, **{**of("b"), **(b_keys or {})})
        second = self.config.read_text()
        Service.__init__(self, folder, targets[0], name="a", wrapper=wrapper, **of("a"))
        self.config.write_text(self.config.read_text() + second[second.index('drive "b"'):])

    def arm_both(self):
        for name, image in self.images.items():
            answer = self.client("arm", name, "--serial-tail", str(image)[-6:])
            assert answer.returncode == 0, answer

    def drive_of(self, name):
        return next(drive for drive in self.api("status")["drives"] if drive["name"] == name)

    def run_of(self, name):
        return next((run for run in self.runs() if run["drive"] == name), None)

    def figures_of(self, name):
        """What the record says of the path, None before it does."""
        record = self.run_of(name)
        return record and record["host"].get("shared_path")

    def wait_turn(self, seconds=20):
        """(who fills alone, who waits for that); either may be the first."""
        def look():
            for name, other in (("a", "b"), ("b", "a")):
                if self.drive_of(name)["reason"] == f"waits while {other} fills alone (shared one)":
                    return other, name
            return None

        try:
            return wait_for(look, seconds, "one to wait")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.api('status')['drives']}\n{self.log()}") from error

    def samples_of(self, name):
        return self.samples(self.run_of(name)["id"])

    def notes_of(self, name):
        return [event["text"] for event in reversed(self.events()) if event["drive"] == name and event["kind"] == "note"]

    def wait_of(self, name, condition, seconds, what):
        try:
            return wait_for(lambda: condition(self.drive_of(name)), seconds, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()}") from error


@contextlib.contextmanager
def slow(limits):
    """A wrapper for the service that lets it write no more than that to these devices: {device: bytes a second}."""
    file = "blkio.throttle.write_bps_device"
    if os.geteuid() != 0 or not (BLKIO / file).exists() and not (BLKIO / "cgroup.procs").exists():
        raise Skip("no blkio controller of cgroup v1")
    group = BLKIO / f"drivesoak-group-{os.getpid()}"
    group.mkdir()
    try:
        if not (group / file).exists():
            raise Skip(f"the blkio controller has no {file}")
        for device, bytes_per_s in limits.items():
            number = os.stat(device).st_rdev
            (group / file).write_text(f"{os.major(number)}:{os.minor(number)} {bytes_per_s}")
        yield ("sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh")
    finally:
        wait_for(lambda: not (group / "cgroup.procs").read_text(), 20, "the group to empty")
        group.rmdir()


@contextlib.contextmanager
def two_directories(folder):
    """On one device."""
    with loop_filesystem(folder, 768 * MIB) as (mount, device):
        for name in "ab":
            (mount / name).mkdir()
        yield (mount / "a", mount / "b"), device


@contextlib.contextmanager
def two_devices(folder):
    with contextlib.ExitStack() as stack:
        for name in "ab":
            (folder / name).mkdir()
        devices = [stack.enter_context(loop_device(folder / name, 384 * MIB)) for name in "ab"]
        yield devices, [folder / name / "disk.img" for name in "ab"]


def fills(sample):
    return sample["state"] == "filling" and sample["write_bytes"] > 0 and "partial" not in sample["flags"]


def course(service):
    """Who filled in each whole interval, in order: [("a", times), ("b", times), ("ab", times)]."""
    by_time = {}
    for name in "ab":
        for sample in service.samples_of(name):
            if fills(sample):
                by_time[sample["t_s"]] = by_time.get(sample["t_s"], "") + name
    steps = []
    for t_s, who in sorted(by_time.items()):
        if not steps or steps[-1][0] != who:
            steps.append((who, []))
        steps[-1][1].append(t_s)
    return steps


def check_turns(service):
    """First one alone while the other waits, then that one, then both."""
    steps = course(service)
    assert [who for who, _ in steps[:3]] in (["a", "b", "ab"], ["b", "a", "ab"]), steps
    for who, times in steps[:2]:
        alone = [s for s in service.samples_of(who) if s["t_s"] in times]
        assert sum(s["elapsed_s"] for s in alone) >= ALONE_S * 0.9, times
        beside = [s for s in service.samples_of("ab".replace(who, "")) if s["t_s"] in times]
        assert len(beside) >= len(times) - 1, (times, beside)
        # The last of them may be the one in which the other was let go on.
        idle = [s for s in beside if s["write_bytes"] == 0]
        assert len(idle) >= len(beside) - 1 and all(s["state"] == "paused" for s in idle), beside


def huge_page_fallbacks():
    """How often the kernel gave small pages for want of huge ones; None where it gives none at all."""
    try:
        if "[never]" in pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text():
            return None
        counts = dict(line.split() for line in pathlib.Path("/proc/vmstat").read_text().splitlines())
        return int(counts["thp_fault_fallback"])
    except (OSError, KeyError):
        return None


FALLBACKS_BEFORE = huge_page_fallbacks()


def check_not_slowed(service, name, record):
    """A machine that is busy with other things takes some of the rate too; of one that is too busy nothing is asked.
    Nor of one without huge pages: the kernel splits a request of small pages, and the throttle charges each piece."""
    share = record["together_bytes_per_s"] / record["alone_bytes_per_s"]
    if share <= 0.75 and (FALLBACKS_BEFORE is None or huge_page_fallbacks() != FALLBACKS_BEFORE):
        raise Skip(f"no huge pages for the buffers: together {share * 100:.0f} % of alone")
    if share <= 0.75 and cpu_pressure() > 20:
        raise Skip(f"the machine is busy: together {share * 100:.0f} % of alone")
    assert share > 0.75, record
    if share >= 0.95:
        assert record["badge"] is None, record
        assert any("which takes nothing from it" in text for text in service.notes_of(name)), service.notes_of(name)
        assert not service.drive_of(name)["reason"], service.drive_of(name)


def test_a_shared_limit_is_a_badge():
    with work_folder() as folder, two_directories(folder) as (targets, device), slow({device: RATE}) as wrapper:
        with GroupService(folder, targets, wrapper=wrapper, size="192MiB") as service:
            service.start()
            first, second = service.wait_turn()
            assert service.drive_of(second)["state"] == "running", service.drive_of(second)
            wait_for(lambda: service.wait_turn() == (second, first), 20, "the other's turn")
            for name, other in (("a", "b"), ("b", "a")):
                badge = service.wait_of(
                    name, lambda d: d["reason"] if "shares one" in (d["reason"] or "") else None, 40, "the badge")
                assert badge.startswith(f"shares one with {other}: fills at "), badge
                assert [text for text in service.notes_of(name) if text == badge], service.notes_of(name)
                record = service.figures_of(name)
                assert record["port"] == "one" and record["with"] == [other] and record["badge"] == badge, record
                assert record["link_bytes_per_s"] is None, record
                assert 0.3 * RATE < record["alone_bytes_per_s"] < 1.3 * RATE, record
                share = record["together_bytes_per_s"] / record["alone_bytes_per_s"]
                assert 0.2 < share < 0.8 and f"fills at {share * 100:.0f} % of" in badge, record
                status, page = service.get(f"/run/{service.run_of(name)['id']}")
                assert status == 200 and b"fills at" in page, page
            check_turns(service)
            # The record outlives the service, and so does the badge; nobody fills alone again.
            service.wait_of("b", lambda d: d["phase"] == "fill", 1, "the fill to last")
            service.stop()
            service.start()
            for name in "ab":
                service.wait_of(name, lambda d: "shares one" in (d["reason"] or ""), 20, "the badge after a restart")
                assert service.figures_of(name)["badge"]
            assert "waits" not in service.log(service.log_from)
            service.stop()


def test_devices_of_their_own_have_none():
    with work_folder() as folder, two_devices(folder) as (devices, images):
        with slow({device: RATE for device in devices}) as wrapper:
            with GroupService(folder, devices, images, wrapper=wrapper, size="192MiB") as service:
                service.arm_both()
                service.start()
                for name, other in (("a", "b"), ("b", "a")):
                    record = wait_for(lambda: service.figures_of(name), 60, "the figures")
                    assert record["with"] == [other], record
                    check_not_slowed(service, name, record)
                check_turns(service)
                for name in "ab":
                    service.wait_of(name, lambda d: d["phase"] == "soak", 30, "the soak")
                    assert service.run_of(name)["fill_done_bytes"] == 192 * MIB
                service.stop()


def test_drives_without_a_group_fill_at_once():
    with work_folder() as folder, two_devices(folder) as (devices, images):
        with slow({device: RATE for device in devices}) as wrapper:
            with GroupService(folder, devices, images, group="", wrapper=wrapper, size="64MiB") as service:
                service.arm_both()
                service.start()
                for name in "ab":
                    service.wait_of(name, lambda d: d["phase"] == "soak", 30, "the soak")
                assert [who for who, _ in course(service)] == ["ab"], course(service)
                assert all(service.figures_of(name) is None for name in "ab")
                service.stop()


def test_a_short_fill_is_measured_and_the_soak_waits():
    with work_folder() as folder, two_devices(folder) as (devices, images):
        with slow({device: RATE for device in devices}) as wrapper:
            with GroupService(folder, devices, images, wrapper=wrapper, size="40MiB") as service:
                service.arm_both()
                service.start()
                for name in "ab":
                    service.wait_of(name, lambda d: d["phase"] == "soak" and not d["reason"], 30, "the soak")
                time.sleep(2.5)
                first, second = sorted((service.samples_of(name) for name in "ab"),
                                       key=lambda samples: max(s["t_s"] for s in samples if s["state"] == "filling"))
                fill_end = max(s["t_s"] for s in second if s["state"] == "filling")
                soak_begin = min(s["t_s"] for s in first if s["phase"] == "soak" and s["write_bytes"])
                assert soak_begin >= fill_end, (first, second)
                assert [s for s in first if s["phase"] == "soak" and s["state"] == "paused"], first
                for name in "ab":
                    assert not any("not measured" in text for text in service.notes_of(name)), service.notes_of(name)
                    record = service.figures_of(name)
                    assert record["together_bytes_per_s"] is None and record["badge"] is None, record
                    assert 0.3 * RATE < record["alone_bytes_per_s"] < 1.3 * RATE, record
                service.stop()


def test_one_that_comes_late_is_not_measured():
    with work_folder() as folder, two_devices(folder) as (devices, images):
        with GroupService(folder, devices, images, size="16MiB", b_keys={"start": "manual"}) as service:
            service.arm_both()
            service.start()
            service.wait_of("a", lambda d: d["phase"] == "soak", 20, "the soak")
            answer = service.client("start", "b")
            assert answer.returncode == 0, answer
            service.wait_of("b", lambda d: d["phase"] == "soak", 20, "the soak")
            told = "not measured alone: a is in its phase soak already (shared one)"
            wait_for(lambda: [text for text in service.notes_of("b") if "alone" in text] == [told], 5, "the note")
            assert service.figures_of("b")["alone_bytes_per_s"] is None
            assert not any("alone" in text for text in service.notes_of("a")), service.notes_of("a")
            service.stop()


def test_a_pause_or_a_restart_holds_nobody():
    with work_folder() as folder, two_devices(folder) as (devices, images):
        with slow({device: RATE for device in devices}) as wrapper:
            with GroupService(folder, devices, images, wrapper=wrapper, size="320MiB") as service:
                service.arm_both()
                service.start()
                service.wait_turn()
                for name in "ab":  # the journal knows both
                    wait_for(lambda: service.run_of(name) and service.samples_of(name), 10, "a sample")
                service.kill()
                service.start()
                first, second = service.wait_turn()
                answer = service.client("pause", first)
                assert answer.returncode == 0, answer
                service.wait_of(second, lambda d: not d["reason"] and d["phase"] == "fill", 5, "the other to go on")
                service.wait_of(second, lambda d: d["write_bytes_per_s"], 5, "the other to write")
                assert service.drive_of(first)["state"] == "paused", service.drive_of(first)
                answer = service.client("resume", first)
                assert answer.returncode == 0, answer
                for name in "ab":
                    record = wait_for(lambda: service.figures_of(name), 40, "the figures")
                    check_not_slowed(service, name, record)
                service.stop()


if __name__ == "__main__":
    main({name: item for name, item in globals().items() if getattr(item, "__module__", "") == "__main__"})

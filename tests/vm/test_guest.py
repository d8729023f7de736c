#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The installed service on NVMe, AHCI SATA and PIIX IDE drives behind the kernel's real drivers: all at once, slowed,
broken, frozen, pulled and given back, and the machine switched off under it."""

import atexit
import contextlib
import functools
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import MIB, assert_stamps_grow_on_the_interval, main  # noqa: E402
from rig import Drive, machine  # noqa: E402
from service import Service  # noqa: E402

EXTENT = 48 * MIB
CAP = 160 * MIB
STALL_AFTER_S = 20  # the only one there is so far


def nvme(name="nvme", serial="RIGNVME0001", **options):
    return Drive(name, "nvme", serial, **options)


def sata(name="sata", serial="RIGSATA0001", **options):
    return Drive(name, "sata", serial, **options)


def wait_soaking(service, *names, samples=3):
    """So many samples of soak on each."""
    for name in names:
        service.wait_phase(name, "soak")
    for name in names:
        service.wait_samples(name, samples, phase="soak", state="measured")


BENCH = {}


def bench_close():
    stack = BENCH.pop("stack", None)
    if stack:
        stack.close()


def on_the_bench(scenario):
    """A scenario on the machine of the one before it, where all drives soak and "ide" is left in peace; on a fresh one after
    a failure."""
    @functools.wraps(scenario)
    def run():
        if "stack" not in BENCH:
            BENCH["stack"] = contextlib.ExitStack()
            try:
                BENCH["arguments"] = bench_open(BENCH["stack"])
            except BaseException:
                bench_close()
                raise
        try:
            scenario(*BENCH["arguments"])
        except BaseException:
            bench_close()
            raise

    return run


def bench_open(stack):
    """(guest, service, {name: drive})."""
    drives = {drive.name: drive for drive in (
        nvme(backing="nbd"), sata(), nvme("beside", "RIGNVME0002"), nvme("capped", "RIGNVME0003"),
        Drive("ide", "ide", "RIGPIIX0001"), nvme("stranger", "RIGNVME0009", is_plugged=False),
        sata("blank", "RIGSATA0009", is_plugged=False))}
    names = [drive.name for drive in drives.values() if drive.is_plugged]
    guest, prefix = stack.enter_context(machine(*drives.values()))
    sections = {name: {"drive": drives[name]} for name in names}
    sections["beside"]["max-errors"] = 50
    sections["capped"]["write-budget"] = f"{CAP // MIB}MiB"
    service = Service(guest, prefix, sections)
    service.write_config().arm(*names)
    drives["capped"].throttle(10, "iops-write")
    service.start()
    wait_soaking(service, *[name for name in names if name != "capped"])
    return guest, service, drives


def filled_bytes(service, name):
    return sum(s["write_bytes"] for s in service.samples(name) if s["phase"] == "fill" and s["state"] != "down")


def after(samples, t_s):
    return [sample for sample in samples if sample["t_s"] > t_s]


def assert_on_time(service, name, from_s):
    """A sample each second since then, none missing, none idle."""
    samples = after(service.samples(name), from_s)
    stamps = [sample["t_s"] for sample in samples]
    assert len(stamps) >= 3 and stamps == [stamps[0] + i for i in range(len(stamps))], (name, stamps)
    for sample in samples:
        assert sample["state"] == "measured" and sample["write_ios"] > 0 and sample["phase"] == "soak", (name, sample)
        assert sample["elapsed_s"] < 2, (name, sample)


def test_nvme_sata_ide_and_a_directory_at_once():
    drives = [nvme(), sata(), Drive("ide", "ide", "RIGPIIX0001"), Drive("files", "virtio", "RIGFILES01")]
    with machine(*drives) as (guest, prefix):
        guest.run(f"mkfs.ext4 -q /dev/{drives[3].kernel_name()} && mkdir /run/files && "
                  f"mount /dev/{drives[3].kernel_name()} /run/files")
        sections = {drive.name: {"drive": drive, "duration": "6s", "verify": "end"} for drive in drives[:3]}
        service = Service(guest, prefix, {**sections, "files": {"directory": "/run/files", "duration": "6s"}})
        service.write_config()
        listed = {disk["serial"]: disk for disk in json.loads(service.command("drives", "--json"))["drives"]}
        for drive, transports in zip(drives, (("nvme",), ("sata",), ("ata", "sata"))):
            disk = listed[drive.serial]
            assert disk["usable"] and disk["capacity_bytes"] == drive.size, disk
            assert disk["transport"] in transports, disk
            assert disk["path"] == f"/dev/{drive.kernel_name()}", disk
            assert ("QEMU NVMe Ctrl" if drive.kind == "nvme" else drive.model_text()) in disk["model"], disk
        for serial in ("RIGSTATE", "RIGFILES01"):
            assert not listed[serial]["usable"] and "mounted" in " ".join(listed[serial]["reasons"]), listed[serial]
        # Without consent nothing is written.
        assert service.check()[0] == 78, service.check()
        service.arm(*sections)
        assert service.check()[0] == 0, service.check()
        service.start()
        names = [*sections, "files"]
        for name in names:
            service.wait_state(name, "done", 90)
        for name in names:
            samples, [record] = service.samples(name), service.runs(name)
            assert_stamps_grow_on_the_interval(samples, 1)
            assert record["state"] == "done" and record["extent_bytes"] == record["fill_done_bytes"] == EXTENT, record
            assert record["written_bytes"] == sum(s["write_bytes"] for s in samples), record
            soak = [s for s in samples if s["phase"] == "soak"]
            assert sum(s["state"] == "measured" and s["write_bytes"] > 0 for s in soak) >= 5, soak
            assert not [s for s in samples if s["errors"]], samples
            phases = [e["text"] for e in sorted(service.events(name, "phase"), key=lambda e: e["t_s"])]
            for step in ("prepare -> fill", "fill -> soak", "-> done"):
                assert [text for text in phases if step in text], (step, phases)
        for drive in drives[:3]:
            [record] = service.runs(drive.name)
            assert record["serial"] == drive.serial and record["capacity_bytes"] == drive.size, record
            assert record["verify"]["blocks"] > 0, record["verify"]
            assert not [k for k in ("corrupt", "torn", "misdirected", "stale") if record["verify"][k]], record["verify"]
            # Ours is the extent, the rest was discarded and left so.
            assert drive.written(EXTENT // 2, 65536).count(0) < 4096, drive.name
            assert not any(drive.written(drive.size * 3 // 4, MIB)), drive.name
        assert service.stop() == 0


@on_the_bench
def test_one_drive_is_throttled_and_released(_, service, drives):
    start_s = service.now_s()
    for slow, other in ((drives["nvme"], drives["sata"]), (drives["sata"], drives["nvme"])):
        slow.throttle(50)
        from_s = service.now_s()
        service.wait_for(lambda name=slow.name, t_s=from_s: len(after(service.samples(name), t_s)) >= 6, 30, "six samples")
        till_s = service.samples(slow.name)[-1]["t_s"]
        slow.throttle(0)
        # The first second is from before, the bucket of the throttle holds a burst.
        held = [s for s in after(service.samples(slow.name), from_s + 2) if s["t_s"] <= till_s]
        assert held and all(30 <= s["write_ios"] <= 70 for s in held), (slow.name, held)
        assert all(s["lat_p50_ns"] > 50e6 for s in held), held
        free = [s for s in after(service.samples(other.name), from_s) if s["t_s"] <= till_s]
        assert min(s["write_ios"] for s in free) > 150, (other.name, free)
        service.wait_for(lambda name=slow.name: service.samples(name)[-1]["write_ios"] > 200, 15, f"{slow.name} at speed")
    for name in ("nvme", "sata"):
        assert service.drive(name)["state"] == "running" and not service.events(name, "error"), service.events(name)
    assert_on_time(service, "ide", start_s)


@on_the_bench
def test_a_frozen_drive_stalls_alone(_, service, drives):
    from_s = service.now_s()
    drives["nvme"].freeze()
    frozen_at = time.monotonic()
    service.wait_state("nvme", "stalled", STALL_AFTER_S + 10)
    stalled_after = time.monotonic() - frozen_at
    time.sleep(1)
    thawed_after = time.monotonic() - frozen_at
    drives["nvme"].thaw()
    service.wait_drive("nvme", lambda d: d["state"] == "running" and d["write_bytes_per_s"], 30, "the soak again")
    service.wait_samples("nvme", len(service.samples("nvme")) + 2)
    assert STALL_AFTER_S - 1 < stalled_after < STALL_AFTER_S + 5, stalled_after
    samples = after(service.samples("nvme"), from_s)
    zeros = [s for s in samples if s["state"] == "zero"]
    assert len(zeros) >= STALL_AFTER_S - 2 and all(s["write_bytes"] == 0 for s in zeros), samples
    longest = max(s["stall_ns"] for s in samples) / 1e9
    assert thawed_after - 1.5 < longest < thawed_after + 2, (longest, thawed_after)
    stamps = [s["t_s"] for s in samples]
    assert stamps == [stamps[0] + i for i in range(len(stamps))], stamps
    assert not [s for s in samples if s["errors"]], samples
    for name in ("sata", "ide"):
        assert_on_time(service, name, from_s)
        assert service.drive(name)["state"] == "running", service.drive(name)


def assert_not_called_full(service, name):
    for text in [event["text"] for event in service.events(name)] + [service.drive(name)["reason"] or ""]:
        assert "full" not in text and "No space" not in text, (name, text)


@on_the_bench
def test_write_errors_are_the_drives_and_end_or_not(_, service, drives):
    from_s = service.now_s()
    # On NVMe a write error is ENODATA at once, on SATA EIO after seconds of the kernel's own attempts.
    drives["beside"].fail_writes()
    failed = service.wait_state("beside", "failed", 40)
    assert "max-errors" in failed["reason"], failed
    drives["sata"].fail_writes()
    # The kernel's own attempts are told before the first request has failed.
    service.wait_for(lambda: sum(s["errors"] for s in service.samples("sata")) > 0, 60, "counted errors")
    drives["sata"].mend()
    service.wait_for(lambda: service.samples("sata")[-1]["write_ios"] > 50, 40, "the SATA drive to go on")
    assert service.drive("sata")["state"] == "running", service.drive("sata")
    assert sum(s["errors"] for s in service.samples("beside")) > 50, service.samples("beside")
    for name in ("beside", "sata"):
        assert service.events(name, "error"), name
        assert_not_called_full(service, name)
    assert not service.events("ide", "error"), service.events("ide")
    assert_on_time(service, "ide", from_s)


@on_the_bench
def test_the_budget_holds_over_kills(_, service, drives):
    capped = drives["capped"]
    capped.throttle(30, "iops-write")
    # While the drives are checked, when some have begun, and in the soak of all.
    for wait in (lambda: time.sleep(1), lambda: service.wait_event("capped", "resumed", 40),
                 lambda: service.wait_samples("capped", len(service.samples("capped")) + 2)):
        wait()
        service.kill()
        service.start()
    capped.throttle(0)
    service.wait_event("capped", "budget", 60)
    ended = service.wait_drive("capped", lambda d: d["state"] not in ("running", "stalled"), 20, "its end")
    assert "budget" in (ended["reason"] or ""), ended
    written = capped.written_bytes()
    assert written <= CAP, written
    # Kills lose the shares that were taken and not written, never the other way round.
    assert written > CAP // 2, written
    [record] = service.runs("capped")
    assert record["written_bytes"] <= written, (record, written)
    wait_soaking(service, "nvme", "sata", "ide")


def gone_and_back(service, name, gone, back, others):
    """The drive goes away and comes back as it was; the run is the same and fills nothing again."""
    filled, [record] = filled_bytes(service, name), service.runs(name)
    from_s = service.now_s()
    gone()
    service.wait_state(name, "absent", 30)
    event = service.wait_event(name, "absent", 10)
    assert abs(event["t_s"] - service.now_s()) < 30, event
    service.wait_samples(name, 1, state="absent")
    back()
    service.wait_event(name, "returned", 60)
    service.wait_drive(name, lambda d: d["state"] == "running" and d["phase"] == "soak", 30, "the soak again")
    measured = len([s for s in service.samples(name) if s["state"] == "measured"])
    service.wait_samples(name, measured + 2, state="measured")
    assert [run["id"] for run in service.runs(name)] == [record["id"]], service.runs(name)
    assert filled_bytes(service, name) == filled, "filled again"
    assert len(service.events(name, "absent")) == len(service.events(name, "returned")) == 1, service.events(name)
    for other in others:
        assert_on_time(service, other, from_s)
        assert not service.events(other, "absent"), service.events(other)


def assert_not_taken(service, drive, back, blank):
    """What comes back says that it is the drive, and holds something else: it is refused, and not written to."""
    service.wait_state(drive.name, "absent", 30)
    back()
    service.wait_for(drive.kernel_name, 20, "the kernel to see it")
    service.wait_drive(drive.name, lambda d: d["state"] == "failed" and "arm" in (d["reason"] or ""), 40, "the refusal")
    time.sleep(2)
    assert service.drive(drive.name)["state"] == "failed", service.drive(drive.name)
    assert len(service.events(drive.name, "returned")) == 1, service.events(drive.name)
    assert not any(blank.written(0, blank.size)), "a drive with other contents was written to"


@on_the_bench
def test_sata_is_deleted_and_found_again(guest, service, drives):
    gone_and_back(service, "sata", drives["sata"].delete, guest.rescan, ("nvme", "ide"))
    assert_not_called_full(service, "sata")
    drives["sata"].delete()
    drives["sata"].swap(drives["blank"])
    assert_not_taken(service, drives["sata"], guest.rescan, drives["blank"])


@on_the_bench
def test_nvme_is_pulled_and_put_back(guest, service, drives):
    pulled, stranger = drives["nvme"], drives["stranger"]
    name_before = pulled.kernel_name()

    def back():
        # Another drive takes the slot and the name while ours is away.
        stranger.plug(bus=pulled.bus)
        service.wait_for(stranger.kernel_name, 20, "the other drive")
        time.sleep(3)
        assert service.drive("nvme")["state"] == "absent", service.drive("nvme")
        pulled.plug(bus="rp3")

    gone_and_back(service, "nvme", pulled.unplug, back, ("ide",))
    assert pulled.kernel_name() != name_before and stranger.kernel_name() == name_before, guest.disks()
    assert not any(stranger.written(0, stranger.size)), "another drive was written to"
    assert_not_called_full(service, "nvme")
    stranger.unplug()
    pulled.unplug()
    assert_not_taken(service, pulled, lambda: pulled.plug(contents=stranger), stranger)
    assert service.stop() == 0


def switched_off(guest, service, names):
    """The guest is killed and booted, the service started: all go on within 30 s, and the outage is one row."""
    before = {name: service.runs(name)[0] for name in names}
    downs = {name: len([s for s in service.samples(name) if s["state"] == "down"]) for name in names}
    guest.kill()
    guest.boot()
    service.write_config().start()
    for name in names:
        service.wait_event(name, "resumed", 30)
        service.wait_drive(name, lambda d: d["state"] == "running", 30, "the run again")
    assert time.monotonic() - service.started_s < 30 * guest.patience, "too late"
    for name in names:
        assert [run["id"] for run in service.runs(name)] == [before[name]["id"]], service.runs(name)
        service.wait_for(lambda name=name: len([s for s in service.samples(name) if s["state"] == "down"]) == downs[name] + 1, 10,
                 f"{name}: one row for the outage")
    return before


def test_the_machine_is_switched_off_in_fill_and_in_soak():
    size = 96 * MIB
    drives = [nvme(), sata(), Drive("ide", "ide", "RIGPIIX0001")]
    names = [drive.name for drive in drives]
    with machine(*drives) as (guest, prefix):
        service = Service(guest, prefix, {
            drive.name: {"drive": drive, "size": f"{size // MIB}MiB", "discard": False} for drive in drives})
        service.write_config().arm(*names)
        for drive in drives:
            drive.throttle(4 * MIB, "bps-write")  # a discard would be held by it until the guest loses patience
        service.start()
        for name in names:
            service.wait_for(lambda name=name: service.runs(name) and service.runs(name)[0]["fill_done_bytes"] > 8 * MIB, 60,
                     f"{name}: a part of the fill")
        assert {service.drive(name)["phase"] for name in names} == {"fill"}, service.api("status")
        switched_off(guest, service, names)
        wait_soaking(service, *names, samples=2)
        filled = {name: filled_bytes(service, name) for name in names}
        for name in names:
            assert service.runs(name)[0]["fill_done_bytes"] == size, service.runs(name)
            assert [e for e in service.events(name, "resumed") if "in phase fill" in e["text"]], service.events(name)
        switched_off(guest, service, names)
        wait_soaking(service, *names, samples=4)
        for name in names:
            assert filled_bytes(service, name) == filled[name], f"{name} was filled again"
        assert service.stop() == 0
        for name in names:
            found = json.loads(service.command("verify", name, "--json"))
            assert found["blocks"] == size // 16384, found
            assert not [k for k in ("corrupt", "torn", "misdirected", "stale", "unreadable") if found[k]], (name, found)


if __name__ == "__main__":
    atexit.register(bench_close)
    main(globals())

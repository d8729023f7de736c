#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The installed service on NVMe, AHCI SATA and PIIX IDE drives behind the kernel's real drivers: all at once, slowed,
broken, frozen, pulled and given back, and the machine switched off under it."""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import MIB, assert_stamps_grow_on_the_interval, main, wait_for  # noqa: E402
from rig import Drive, machine  # noqa: E402
from service import Service  # noqa: E402

EXTENT = 48 * MIB


def nvme(name="nvme", serial="RIGNVME0001", **options):
    return Drive(name, "nvme", serial, **options)


def sata(name="sata", serial="RIGSATA0001", **options):
    return Drive(name, "sata", serial, **options)


def soaking(service, *names, samples=3):
    """Armed, started, and so many samples of soak on each."""
    service.write_config().arm(*names)
    service.start()
    for name in names:
        service.wait_phase(name, "soak")
    for name in names:
        service.wait_samples(name, samples, phase="soak", state="measured")


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
        for drive, transport in zip(drives, ("nvme", "sata", "ata")):
            disk = listed[drive.serial]
            assert disk["usable"] and disk["capacity_bytes"] == drive.size, disk
            assert disk["transport"] == transport, disk
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


def test_one_drive_is_throttled_and_released():
    drives = [nvme(), sata()]
    with machine(*drives) as (guest, prefix):
        service = Service(guest, prefix, {drive.name: {"drive": drive} for drive in drives})
        soaking(service, "nvme", "sata")
        for slow, other in ((drives[0], drives[1]), (drives[1], drives[0])):
            from_s = service.samples(slow.name)[-1]["t_s"]
            slow.throttle(50)
            wait_for(lambda name=slow.name, t_s=from_s: len(after(service.samples(name), t_s)) >= 6, 30, "six samples")
            till_s = service.samples(slow.name)[-1]["t_s"]
            slow.throttle(0)
            # The first second is from before, the bucket of the throttle holds a burst.
            held = [s for s in after(service.samples(slow.name), from_s + 2) if s["t_s"] <= till_s]
            assert held and all(30 <= s["write_ios"] <= 70 for s in held), (slow.name, held)
            assert all(s["lat_p50_ns"] > 50e6 for s in held), held
            free = [s for s in after(service.samples(other.name), from_s) if s["t_s"] <= till_s]
            assert min(s["write_ios"] for s in free) > 200, (other.name, free)
            wait_for(lambda name=slow.name: service.samples(name)[-1]["write_ios"] > 300, 15, f"{slow.name} at speed")
        for name in ("nvme", "sata"):
            assert service.drive(name)["state"] == "running" and not service.events(name, "error"), service.events(name)
        assert service.stop() == 0


def test_write_errors_are_the_drives_and_end_or_not():
    drives = [nvme(), sata(), nvme("beside", "RIGNVME0002")]
    with machine(*drives) as (guest, prefix):
        service = Service(guest, prefix, {"nvme": {"drive": drives[0], "max-errors": 50}, "sata": {"drive": drives[1]},
                                          "beside": {"drive": drives[2]}})
        soaking(service, "nvme", "sata", "beside")
        from_s = service.samples("beside")[-1]["t_s"]
        # On NVMe a write error is ENODATA, on SATA EIO after seconds of the kernel's own attempts.
        drives[0].fail_writes()
        failed = service.wait_state("nvme", "failed", 40)
        drives[1].fail_writes()
        service.wait_event("sata", "error", 40)
        drives[1].mend()
        assert "max-errors" in failed["reason"], failed
        assert sum(s["errors"] for s in service.samples("nvme")) > 50, service.samples("nvme")
        wait_for(lambda: sum(s["errors"] for s in service.samples("sata")) > 0, 20, "counted errors")
        wait_for(lambda: service.samples("sata")[-1]["write_ios"] > 100, 40, "the SATA drive to go on")
        assert service.drive("sata")["state"] == "running", service.drive("sata")
        for name in ("nvme", "sata"):
            events = service.events(name, "error")
            assert events, name
            for text in [event["text"] for event in events] + [service.drive(name)["reason"] or ""]:
                assert "full" not in text and "No space" not in text, (name, text)
        assert not service.events("beside", "error"), service.events("beside")
        assert_on_time(service, "beside", from_s)
        assert service.stop() == 0


def test_a_frozen_drive_stalls_alone():
    drives = [nvme(backing="nbd"), sata()]
    with machine(*drives) as (guest, prefix):
        service = Service(guest, prefix, {drive.name: {"drive": drive} for drive in drives},
                          top='alerts { stall-after = "3s" }')
        soaking(service, "nvme", "sata")
        from_s = service.samples("sata")[-1]["t_s"]
        drives[0].freeze()
        frozen_at = time.monotonic()
        service.wait_state("nvme", "stalled", 15)
        stalled_after = time.monotonic() - frozen_at
        time.sleep(max(0.0, 7 - stalled_after))
        thawed_after = time.monotonic() - frozen_at
        drives[0].thaw()
        service.wait_drive("nvme", lambda d: d["state"] == "running" and d["write_bytes_per_s"], 30, "the soak again")
        service.wait_samples("nvme", len(service.samples("nvme")) + 2)
        assert 2.5 < stalled_after < 7, stalled_after
        samples = after(service.samples("nvme"), from_s)
        zeros = [s for s in samples if s["state"] == "zero"]
        assert len(zeros) >= 5 and all(s["write_bytes"] == 0 for s in zeros), samples
        longest = max(s["stall_ns"] for s in samples) / 1e9
        assert thawed_after - 1.5 < longest < thawed_after + 2, (longest, thawed_after)
        stamps = [s["t_s"] for s in samples]
        assert stamps == [stamps[0] + i for i in range(len(stamps))], stamps
        assert not [s for s in samples if s["errors"]], samples
        assert_on_time(service, "sata", from_s)
        assert service.drive("sata")["state"] == "running"
        assert service.stop() == 0


def gone_and_back(service, name, gone, back, others):
    """The drive goes away and comes back as it was; the run is the same and fills nothing again."""
    filled, [record] = filled_bytes(service, name), service.runs(name)
    from_s = service.samples(name)[-1]["t_s"]
    absents, returns = len(service.events(name, "absent")), len(service.events(name, "returned"))
    gone()
    service.wait_state(name, "absent", 30)
    event = service.wait_event(name, "absent", 10, absents + 1)
    assert abs(event["t_s"] - service.api("status")["now_s"]) < 30, event
    time.sleep(2)
    back()
    service.wait_event(name, "returned", 60, returns + 1)
    service.wait_drive(name, lambda d: d["state"] == "running" and d["phase"] == "soak", 30, "the soak again")
    count = len(service.samples(name))
    service.wait_samples(name, count + 3)
    assert [run["id"] for run in service.runs(name)] == [record["id"]], service.runs(name)
    assert filled_bytes(service, name) == filled, "filled again"
    samples = after(service.samples(name), from_s)
    assert [s for s in samples if s["state"] in ("absent", "down")], samples
    for other in others:
        assert_on_time(service, other, from_s)
        assert not service.events(other, "absent"), service.events(other)
    for event in service.events(name):
        assert "full" not in event["text"] and "No space" not in event["text"], event


def stays_away(service, drive, name, back, reason):
    """What comes back is not taken, and not written to."""
    returns = len(service.events(name, "returned"))
    back()
    wait_for(lambda: drive.kernel_name(), 20, "the kernel to see it")
    refused = service.wait_drive(name, lambda d: d["state"] in ("absent", "failed") and reason in (d["reason"] or ""), 30,
                                 f"a reason with {reason!r}")
    time.sleep(3)
    assert service.drive(name)["state"] == refused["state"], service.drive(name)
    assert len(service.events(name, "returned")) == returns, service.events(name)


def test_nvme_is_pulled_and_put_back():
    drives = [nvme(), sata(), nvme("beside", "RIGNVME0002"), nvme("other", "RIGNVME0009", is_plugged=False)]
    with machine(*drives) as (guest, prefix):
        service = Service(guest, prefix, {drive.name: {"drive": drive} for drive in drives[:3]})
        soaking(service, "nvme", "sata", "beside")
        others = ("sata", "beside")
        pulled, other = drives[0], drives[3]
        name_before = pulled.kernel_name()
        # Another drive takes the slot and the name while ours is away.
        gone_and_back(service, "nvme", pulled.unplug, lambda: (other.plug(bus=pulled.bus), wait_for(
            other.kernel_name, 20, "the other drive"), time.sleep(2), pulled.plug(bus="rp3")), others)
        assert pulled.kernel_name() != name_before and other.kernel_name() == name_before, guest.disks()
        assert not any(other.written(0, other.size)), "another drive was written to"
        other.unplug()
        # Same serial, other contents: the drive was replaced by a blank one that says the same of itself.
        pulled.unplug()
        service.wait_state("nvme", "absent", 30)
        stays_away(service, pulled, "nvme", lambda: pulled.plug(contents=other), "arm")
        assert not any(other.written(0, other.size)), "a drive with other contents was written to"
        assert_on_time(service, "sata", service.samples("sata")[-6]["t_s"])
        assert service.stop() == 0


def test_sata_is_deleted_and_found_again():
    drives = [sata(), nvme(), Drive("blank", "sata", "RIGSATA0009", is_plugged=False)]
    with machine(*drives) as (guest, prefix):
        service = Service(guest, prefix, {drive.name: {"drive": drive} for drive in drives[:2]})
        soaking(service, "sata", "nvme")
        gone_and_back(service, "sata", drives[0].delete, guest.rescan, ("nvme",))
        drives[0].delete()
        service.wait_state("sata", "absent", 30)
        drives[0].swap(drives[2])
        stays_away(service, drives[0], "sata", guest.rescan, "arm")
        assert not any(drives[2].written(0, drives[2].size)), "a drive with other contents was written to"
        assert service.stop() == 0


def switched_off(guest, service, names):
    """The guest is killed and booted, the service started: all go on within 30 s, and an outage is a row."""
    before = {name: service.runs(name)[0] for name in names}
    downs = {name: len([s for s in service.samples(name) if s["state"] == "down"]) for name in names}
    guest.kill()
    guest.boot()
    service.write_config().start()
    for name in names:
        service.wait_event(name, "resumed", 30)
        service.wait_drive(name, lambda d: d["state"] == "running", 30, "the run again")
    assert time.monotonic() - service.started_s < 30, "too late"
    for name in names:
        assert [run["id"] for run in service.runs(name)] == [before[name]["id"]], service.runs(name)
        wait_for(lambda name=name: len([s for s in service.samples(name) if s["state"] == "down"]) == downs[name] + 1, 10,
                 f"{name}: one row for the outage")
    return before


def test_the_machine_is_switched_off_in_fill_and_in_soak():
    size = 128 * MIB
    drives = [nvme(), sata(), Drive("ide", "ide", "RIGPIIX0001")]
    names = [drive.name for drive in drives]
    with machine(*drives) as (guest, prefix):
        service = Service(guest, prefix, {drive.name: {"drive": drive, "size": "128MiB", "duration": "8s", "verify": "end"}
                                          for drive in drives})
        service.write_config().arm(*names)
        for drive in drives:
            drive.throttle(50)
        service.start()
        for name in names:
            wait_for(lambda name=name: service.runs(name) and service.runs(name)[0]["fill_done_bytes"] > 16 * MIB, 60,
                     f"{name}: a part of the fill")
            assert service.drive(name)["phase"] == "fill", service.drive(name)
        before = switched_off(guest, service, names)
        for name in names:
            service.wait_phase(name, "soak", 60)
            assert service.runs(name)[0]["fill_done_bytes"] == size, service.runs(name)
            # What was recorded as filled is not filled again; the last sample before the end may be.
            filled = filled_bytes(service, name)
            assert filled < size * 2 - before[name]["fill_done_bytes"] / 2, (name, filled, before[name])
        for name in names:
            service.wait_samples(name, 2, phase="soak", state="measured")
        filled = {name: filled_bytes(service, name) for name in names}
        switched_off(guest, service, names)
        for name in names:
            service.wait_state(name, "done", 90)
            assert filled_bytes(service, name) == filled[name], f"{name} was filled again"
            found = service.runs(name)[0]["verify"]
            assert found["blocks"] > 0, found
            assert not [k for k in ("corrupt", "torn", "misdirected", "stale") if found[k]], (name, found)
        assert service.stop() == 0


def test_the_budget_holds_over_kills():
    drives = [nvme(), sata()]
    budget = 192 * MIB
    with machine(*drives) as (guest, prefix):
        service = Service(guest, prefix, {drive.name: {"drive": drive, "write-budget": "192MiB"} for drive in drives})
        service.write_config().arm("nvme", "sata")
        for drive in drives:
            drive.throttle(600)
        for _ in range(3):
            service.start()
            time.sleep(2.5)
            service.kill()
        service.start()
        for drive in drives:
            service.wait_event(drive.name, "budget", 90)
            stopped = service.wait_drive(drive.name, lambda d: d["state"] not in ("running", "stalled"), 20, "its end")
            assert "budget" in (stopped["reason"] or ""), stopped
        for drive in drives:
            written = drive.written_bytes()
            assert written <= budget, (drive.name, written)
            # Kills lose the shares that were taken and not written, never the other way round.
            assert written > budget // 2, (drive.name, written)
            assert service.runs(drive.name)[0]["written_bytes"] <= written, (service.runs(drive.name), written)
        assert service.stop() == 0


if __name__ == "__main__":
    main(globals())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Health of SATA and IDE drives behind the kernel's real drivers: libatasmart where it works, another way where not, and
smartctl as a child; the same numbers by each."""

import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import BUILD, MIB, main  # noqa: E402
from rig import Drive, machine  # noqa: E402

# What QEMU's disks tell, of ids 1, 3, 4, 5, 9, 12 and 190.
KNOWN = {"temp_c": 31, "reallocated": 0, "smart_failed": 0, "rotation_rpm": 0, "failed_thresholds": 0}
IDS = [1, 3, 4, 5, 9, 12, 190]


def readings(guest, kind, drive, *words):
    # The build folder may lie where the guest has a folder of its own.
    shutil.copy2(BUILD / "tests/vm/read-health", guest.share)
    output = guest.run(["/run/share/read-health", kind, f"/dev/{drive.kernel_name()}", *words], 60)
    return [json.loads(line) for line in output.splitlines()]


def assert_is(reading, drive):
    assert reading["rc"] == 0 and reading["serial"] == drive.serial and reading["model"] == drive.model_text(), reading
    assert reading["firmware"] == "RIG1" and reading["family"] is None, reading
    assert {key: reading[key] for key in KNOWN} == KNOWN, reading
    assert [attribute["id"] for attribute in reading["attributes"]] == IDS, reading
    # Nothing is made of what such a drive does not tell.
    for key in ("percent_used", "host_written_bytes", "host_written_raw", "media_errors", "crc_errors", "spare_pct"):
        assert reading[key] is None, (key, reading)
    assert reading["power_cycles"] == 0 and reading["t_s"] > 1.6e9, reading


def test_libatasmart_on_piix_and_another_way_on_ahci():
    drives = [Drive("ide", "ide", "RIGPIIX0001"), Drive("sata", "sata", "RIGSATA0001")]
    with machine(*drives) as (guest, prefix):
        found = {}
        for drive in drives:
            found[drive.name] = first, again = readings(guest, "ata", drive)
            for reading in (first, again):
                assert_is(reading, drive)
                assert reading["pages"] == 2, reading
            assert again["source"] == first["source"] and again["took_ms"] < 2000, (first, again)
            # QEMU has no statistics, and says so without being asked.
            assert "device statistics: the drive has none" in first["notes"] and again["notes"] is None, (first, again)
        assert found["ide"][0]["source"] == "ata: libatasmart", found["ide"]
        assert found["sata"][0]["source"] == "ata: linux-ide", found["sata"]
        for way in ("ata: libatasmart: ", "ata: libatasmart sat16: ", "ata: libatasmart sat12: "):
            assert way in found["sata"][0]["notes"], found["sata"]
        # While it works: the commands drain the queue, and nothing is lost by it.
        writer = guest.ask("spawn", command=["dd", "if=/dev/zero", f"of=/dev/{drives[1].kernel_name()}", "bs=16k",
                                             "count=8192", "oflag=direct", "conv=notrunc"], log="/run/share/dd")["pid"]
        for reading in readings(guest, "ata", drives[1]):
            assert_is(reading, drives[1])
        assert guest.ask("poll", 90, pid=writer, wait=60)["code"] == 0, guest.run("cat /run/share/dd")
        # The product's own listing takes the same ways.
        listed = json.loads(guest.run(f"{prefix}/bin/drivesoak drives --health --json --state /run/none", 60))
        for drive in drives:
            disk = next(d for d in listed["drives"] if d["path"] == f"/dev/{drive.kernel_name()}")
            assert disk["health_error"] is None and disk["health"]["temp_c"] == 31, disk
            assert disk["health"]["source"] == found[drive.name][0]["source"], disk
        # No reset of a link by our doing.
        log = guest.run("dmesg")
        assert "hard resetting link" not in log and "exception Emask" not in log, log[-3000:]


def test_smartctl_tells_the_same():
    drives = [Drive("ide", "ide", "RIGPIIX0001"), Drive("sata", "sata", "RIGSATA0001"),
              Drive("nvme", "nvme", "RIGNVME0001")]
    with machine(*drives) as (guest, _):
        if not shutil.which("smartctl", path="/usr/sbin:/sbin"):
            for drive in drives:
                for reading in readings(guest, "smartctl", drive):
                    assert reading["rc"] < 0 and "apt install smartmontools" in reading["notes"], reading
            return
        for drive in drives[:2]:
            for reading in readings(guest, "smartctl", drive):
                assert_is(reading, drive)
                assert reading["source"] == "smartctl: sat" and reading["pages"] == 1, reading
        [typed, _] = readings(guest, "smartctl", drives[1], "sat")
        assert_is(typed, drives[1])
        node = f"/dev/{drives[2].kernel_name()}"
        before = readings(guest, "smartctl", drives[2])[-1]
        assert before["source"] == "smartctl: nvme" and before["temp_c"] == 50, before
        guest.run(f"dd if=/dev/zero of={node} bs=1M count=32 oflag=direct conv=notrunc")
        after, own = readings(guest, "smartctl", drives[2])[-1], readings(guest, "nvme", drives[2])[-1]
        units = after["host_written_raw"] - before["host_written_raw"]
        assert 32 * MIB <= units * 512000 <= 32 * MIB + 2 * 512000, (before, after)
        for key in ("host_written_raw", "host_written_unit_bytes", "temp_c", "percent_used", "spare_pct", "media_errors",
                    "critical_warning", "unsafe_shutdowns", "model", "serial"):
            assert after[key] == own[key], (key, after, own)


if __name__ == "__main__":
    main(globals())

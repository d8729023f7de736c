#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`drivesoak drives` and /api/v1/drives on this machine: our own loop devices, with and without something on them."""

import json
import os
import subprocess
import time

from harness import BUILD, CLIENT, MIB, Service, Skip, loop_device, loop_filesystem, main, run, wait_for, work_folder

KEYS = {"path", "by_id", "by_path", "model", "serial", "wwid", "firmware", "capacity_bytes", "logical_block_bytes",
        "physical_block_bytes", "transport", "link", "link_degraded", "shared_port", "configured", "usable", "reasons",
        "soft"}


def drives(*options):
    """By path, from the client; unless told otherwise without a configuration."""
    answer = json.loads(run(CLIENT, "drives", "--json", *(options or ("--state", str(BUILD)))))
    assert list(answer) == ["drives"], answer
    for drive in answer["drives"]:
        assert set(drive) == KEYS, drive
        assert drive["usable"] == (not drive["reasons"]), drive
    return {drive["path"]: drive for drive in answer["drives"]}


def test_a_free_loop_device_can_be_used():
    with work_folder() as folder:
        with loop_device(folder, 64 * MIB) as device:
            drive = drives()[device]
            assert drive["serial"] == f"loop:{folder}/disk.img", drive
            assert drive["capacity_bytes"] == 64 * MIB, drive
            assert drive["transport"] == "loop" and drive["link"] is None, drive
            assert drive["logical_block_bytes"] == 512, drive
            assert drive["usable"] and drive["configured"] is None, drive
        assert device not in drives(), "a loop device without a file is no disk"


def test_a_mounted_one_cannot_and_it_is_said_why():
    with work_folder() as folder, loop_filesystem(folder, 64 * MIB) as (mount, device):
        drive = drives()[device]
        assert not drive["usable"], drive
        assert any(str(mount) in reason for reason in drive["reasons"]), drive
        table = run(CLIENT, "drives", "--state", str(folder)).splitlines()
        assert table[0].split() == ["NODE", "NAME", "TRANSPORT", "LINK", "CAPACITY", "MODEL", "SERIAL", "FIRMWARE"]
        at = next(i for i, line in enumerate(table) if line.startswith(device + " "))
        assert "67.1 MB (64 MiB)" in table[at], table[at]
        assert table[at + 1].startswith("    can't be used: ") and str(mount) in table[at + 1], table


def test_the_disk_of_the_state_directory_cannot():
    with work_folder() as folder, loop_filesystem(folder, 64 * MIB) as (mount, device):
        reasons = drives("--state", str(mount / "state"))[device]["reasons"]
        assert any("the state directory" in reason for reason in reasons), reasons


def test_the_configured_name_is_told_and_a_bad_config_is_not_passed_over():
    with work_folder() as folder, loop_device(folder, 64 * MIB) as device:
        config = folder / "drives.conf"
        command = [CLIENT, "drives", "-c", str(config)]
        config.write_text("nonsense = 1\n")
        bad = subprocess.run(command, check=False, capture_output=True, text=True)
        assert bad.returncode == 78 and "drives.conf:1:" in bad.stderr and not bad.stdout, bad
        config.write_text(f'state-directory = "{folder}/state"\ndrive "evo840" {{\n    device = "{device}"\n'
                          f'    serial = "loop:{folder}/disk.img"\n}}\n')
        good = subprocess.run(command, check=False, capture_output=True, text=True)
        if "not in this version yet" in good.stderr:
            raise Skip("no device targets in the configuration")
        assert "    configured as evo840\n" in good.stdout, good
        assert drives("-c", str(config))[device]["configured"] == "evo840"


def test_the_service_tells_the_same():
    with work_folder() as folder, loop_device(folder, 64 * MIB) as device:
        target = folder / "target"
        target.mkdir()
        with Service(folder, target, size="16MiB") as service:
            service.start()
            answer = {drive["path"]: drive for drive in service.api("drives")["drives"]}
            assert answer[device] == drives("-c", str(service.config))[device], answer[device]
            start = time.monotonic()
            for _ in range(200):
                service.get("/api/v1/drives")
            assert time.monotonic() - start < 5, "looking is done once for many askers"
            with loop_device(folder / "target", 8 * MIB) as second:
                wait_for(lambda: second in {d["path"] for d in service.api("drives")["drives"]}, 8,
                         "the new disk to be listed")
            assert service.stop() == 0


def test_no_disk_is_opened():
    """Nothing below /dev is opened, and no command is sent: a hung drive can't hold the list."""
    if subprocess.run(["which", "strace"], check=False, capture_output=True).returncode:
        print("  (strace is not there)")
        return
    with work_folder() as folder:
        trace = folder / "trace"
        run("strace", "-f", "-e", "trace=open,openat,openat2,ioctl", "-o", str(trace), CLIENT, "drives", "--state",
            str(folder), env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})  # LeakSanitizer can't be traced
        for line in trace.read_text().splitlines():
            assert '"/dev/' not in line or "/dev/disk" in line or "O_PATH" in line, line
            assert "SG_IO" not in line and "NVME" not in line, line


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skip: needs root for loop devices")
        raise SystemExit(77)
    main(globals())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What drives say about themselves, behind the kernel's real drivers: counters, limits, warnings, a controller reset."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import MIB, main  # noqa: E402
from rig import Drive, machine  # noqa: E402


def health(guest, prefix, node):
    answer = json.loads(guest.run(f"{prefix}/bin/drivesoak drives --health --json --state /run/none"))
    return next(drive for drive in answer["drives"] if drive["path"] == node)


def test_nvme_counters_grow_and_warnings_show():
    drive = Drive("nvme", "nvme", "RIGNVME0001")
    with machine(drive) as (guest, prefix):
        node = f"/dev/{drive.kernel_name()}"
        before = health(guest, prefix, node)
        reading = before["health"]
        assert before["health_error"] is None and reading["source"] == "nvme", before
        assert reading["serial"] == "RIGNVME0001" and reading["temp_c"] == 50 and reading["percent_used"] == 0, reading
        assert reading["critical_warning"] == 0 and reading["notes"] is None and reading["t_s"] > 1.6e9, reading
        assert reading["sensor1_c"] is None and reading["media_written_bytes"] is None, reading
        assert reading["warning_temp_c"] == 70 and reading["critical_temp_c"] == 100, reading
        guest.run(f"dd if=/dev/zero of={node} bs=1M count=64 oflag=direct conv=notrunc")
        after = health(guest, prefix, node)["health"]
        units = after["host_written_raw"] - reading["host_written_raw"]
        assert 64 * MIB <= units * 512000 <= 64 * MIB + 2 * 512000, (reading, after)
        assert after["host_written_bytes"] == after["host_written_raw"] * 512000, after
        assert after["host_write_commands"] > reading["host_write_commands"], (reading, after)
        guest.qmp("qom-set", path="/machine/peripheral/nvme", property="smart_critical_warning", value=12)
        assert health(guest, prefix, node)["health"]["critical_warning"] == 12
        table = guest.run(f"{prefix}/bin/drivesoak drives --health --state /run/none")
        assert "    health: 50 C, 0 % used, 0 % spare, threshold 0 %, media errors 0, " in table, table
        assert "    health warning: reliability degraded, media read-only\n" in table, table
        # Nothing that this drive has not was asked for: refusals are entries in its error log.
        assert health(guest, prefix, node)["health"]["error_log_entries"] == 0
        assert "reset controller" not in guest.run("dmesg"), guest.run("dmesg")


if __name__ == "__main__":
    main(globals())

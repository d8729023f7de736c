#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What drives say about themselves, behind the kernel's real drivers: counters, limits, warnings, a controller reset."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import MIB, main  # noqa: E402
from rig import Drive, machine  # noqa: E402
from service import Service  # noqa: E402


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


def test_the_service_reads_health_while_it_soaks():
    drives = [Drive("nvme", "nvme", "RIGNVME0001", backing="nbd"), Drive("sata", "sata", "RIGSATA0001")]
    with machine(*drives) as (guest, prefix):
        keys = {"health-interval": "10s"}
        service = Service(guest, prefix, {drive.name: {"drive": drive, **keys} for drive in drives})
        service.write_config().arm("nvme", "sata")
        service.start()
        for drive in drives:
            service.wait_phase(drive.name, "soak")
        run = service.wait_for(lambda: service.runs("nvme"), 20, "the run in the journal")[0]["id"]

        def readings():
            return service.api(f"runs/{run}/health")["readings"]

        # Eight readings of a counter that grows with our writes tell its unit.
        service.wait_for(lambda: service.api(f"runs/{run}/health")["unit"]["host_written_unit_bytes"], 180, "the unit")
        answer = service.api(f"runs/{run}/health")
        assert answer["unit"]["host_written_unit_bytes"] == 512000 and not answer["unit"]["foreign"], answer["unit"]
        for reading in answer["readings"]:
            assert reading["source"] == "nvme" and reading["temp_c"] == 50 and reading["media_errors"] == 0, reading
            assert reading["media_written_bytes"] is None and reading["own_written_bytes"] is not None, reading
        assert answer["waf"]["value"] is None and answer["waf"]["how"], answer["waf"]
        polled = [s for s in service.samples("nvme") if "health-poll" in s["flags"]]
        assert len(answer["readings"]) - 2 <= len(polled) < len(service.samples("nvme")) / 2, len(polled)
        assert any(s["temp_c"] == 50 for s in service.samples("nvme"))
        live = service.drive("nvme")
        assert live["temp_c"] == 50 and live["percent_used"] == 0 and service.now_s() - live["health_read_s"] < 30, live
        # The drive of libata that libatasmart can't reach by itself is read all the same.
        [sata] = service.runs("sata")
        source = service.api(f"runs/{sata['id']}/health")["readings"][0]["source"]
        assert source == "ata: linux-ide", source
        # A warning is an event within one reading.
        guest.qmp("qom-set", path="/machine/peripheral/nvme", property="smart_critical_warning", value=4)
        service.wait_for(lambda: [e for e in service.events("nvme", "health") if "reliability degraded" in e["text"]], 30,
                         "the critical warning")
        # Health is read on while the writes hang.
        before = len(readings())
        drives[0].freeze()
        try:
            service.wait_for(lambda: len(readings()) >= before + 2, 60, "readings of a drive that hangs")
            assert service.samples("nvme")[-1]["write_ios"] == 0, service.samples("nvme")[-1]
        finally:
            drives[0].thaw()
        service.wait_for(lambda: service.samples("nvme")[-1]["write_ios"] > 0, 30, "the soak again")
        assert service.stop() == 0


if __name__ == "__main__":
    main(globals())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The service reads health while it soaks, finds the unit of a counter, and reads on when the writes hang."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import main  # noqa: E402
from rig import Drive, machine  # noqa: E402
from service import Service  # noqa: E402


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


def test_a_drive_above_its_temperature_pauses_across_restarts():
    drive = Drive("nvme", "nvme", "RIGNVME0001")
    with machine(drive) as (guest, prefix):
        # The drive of QEMU has 50 C.
        service = Service(guest, prefix, {"nvme": {"drive": drive, "health-interval": "10s", "max-temperature": "45C"}})
        service.write_config().arm("nvme")
        service.start()
        paused = service.wait_state("nvme", "paused", 30)
        assert "too hot" in paused["reason"] and "50" in paused["reason"], paused
        service.kill()
        service.start()
        paused = service.wait_state("nvme", "paused", 30)
        assert "too hot" in paused["reason"], paused
        assert len(service.runs("nvme")) == 1
        assert service.stop() == 0


if __name__ == "__main__":
    main(globals())

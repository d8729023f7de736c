#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks in use, as only a kernel of its own can have them: none is accepted, and none is changed. Each layout of the table
has a drive of its own, so that one look of the service at all of them is enough."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import MIB, main  # noqa: E402
from rig import Drive, machine  # noqa: E402
from service import STATE, Service  # noqa: E402

SIZE = 64 * MIB
PART = "echo 'start=2048, size=32768' | sfdisk -q --no-reread --no-tell-kernel {disk} && partx -u {disk}; test -b {part}"
# Name, driver, what makes it (bash), a word of the reason.
IN_USE = (
    ("whole-mounted", "nvme", "mkfs.ext4 -q {disk} && mkdir /run/{name} && mount {disk} /run/{name}", "mounted"),
    ("part-mounted", "nvme", PART + " && mkfs.ext4 -q {part} && mkdir /run/{name} && mount {part} /run/{name}", "mounted"),
    ("other-namespace", "sata", "mkfs.ext4 -q {disk} && mkdir /run/{name} && {{ unshare --mount --propagation private "
     "bash -c 'mount {disk} /run/{name} && touch /run/{name}.there && exec sleep 3600' >/run/{name}.log 2>&1 & }}; "
     "until [ -e /run/{name}.there ]; do sleep 0.1; done", "mounted"),
    ("part-swap", "nvme", PART + " && mkswap {part} && swapon {part}", "swap"),
    ("whole-swap", "sata", "mkswap {disk} && swapon {disk}", "swap"),
    ("md-member", "nvme", "mdadm --create /dev/md7 --run --level=1 --raid-devices=2 --metadata=1.2 {disk} missing", "md"),
    ("md-part", "sata", PART + " && mdadm --create /dev/md8 --run --level=1 --raid-devices=2 --metadata=1.0 {part} missing",
     "md"),
    ("dm-whole", "nvme", "dmsetup create --noudevsync --noudevrules {name} --table \"0 65536 linear {disk} 0\"", "dm"),
    ("dm-part", "nvme", PART + " && dmsetup create --noudevsync --noudevrules {name} --table \"0 16384 linear {part} 0\"",
     "dm"),
    ("dm-mounted", "nvme", "dmsetup create --noudevsync --noudevrules {name} --table \"0 65536 linear {disk} 4096\" && "
     "dm=/dev/$(dmsetup info -c --noheadings -o blkdevname {name}) && mkfs.ext4 -q $dm && mkdir /run/{name} && "
     "mount $dm /run/{name}", "mounted"),
    ("bcache", "nvme", "make-bcache -B {disk} && {{ echo {disk} >/sys/fs/bcache/register; "
     "until ls -d /sys/block/$(basename {disk})/bcache; do sleep 0.1; done; }}", "bcache"),
    ("loop-over-it", "nvme", "losetup --find {disk}", "loop"),
    ("open-elsewhere", "nvme", "exec 9<{disk}; sleep 3600 >/run/{name}.log 2>&1 & disown", "open"),
    ("part-open", "sata", PART + " && {{ exec 9<{part}; sleep 3600 >/run/{name}.log 2>&1 & disown; }}", "open"),
    ("generic-open", "ide", "exec 9<>/dev/$(basename /sys/block/$(basename {disk})/device/scsi_generic/sg*); "
     "sleep 3600 >/run/{name}.log 2>&1 & disown", "open"),
    ("in-fstab", "nvme", "mkfs.ext4 -q {disk} && echo UUID=$(blkid -p -s UUID -o value {disk}) /mnt ext4 noauto 0 0 "
     ">>/etc/fstab", "fstab"),
    ("part-in-fstab", "nvme", PART + " && mkfs.ext4 -q {part} && echo UUID=$(blkid -p -s UUID -o value {part}) /mnt ext4 "
     "noauto 0 0 >>/etc/fstab", "fstab"),
    ("in-crypttab", "nvme", "echo {name} {disk} none luks,noauto >>/etc/crypttab", "crypttab"),
    ("read-only", "nvme", "blockdev --setro {disk}", "read-only"),
)


def part_of(disk):
    return f"{disk}p1" if disk[-1].isdigit() else f"{disk}1"


def make(guest, drive, name, recipe):
    disk = f"/dev/{drive.kernel_name()}"
    guest.run(recipe.format(name=name, disk=disk, part=part_of(disk)), 60)


def contents(drive):
    """First and last MiB and the middle, as the host has them."""
    return [drive.written(offset, MIB) for offset in (0, drive.size // 2, drive.size - MIB)]


def test_disks_in_use_are_refused_and_unchanged():
    drives = {name: Drive(name, kind, f"RIG{number:08}", SIZE) for number, (name, kind, _, _) in enumerate(IN_USE)}
    with machine(*drives.values()) as (guest, prefix):
        for name, _, recipe, _ in IN_USE:
            make(guest, drives[name], name, recipe)
        state = Drive("state", "virtio", "RIGSTATE")
        service = Service(guest, prefix, {**{name: {"drive": drive, "size": "32MiB"} for name, drive in drives.items()},
                                          "state-disk": {"drive": state}})
        service.write_config()
        guest.run("sync")
        before = {name: contents(drive) for name, drive in drives.items()}
        code, said = service.check()
        assert code == 78, (code, said)
        armed = service.try_arm_all(service.sections)
        mistakes = []
        for name, _, _, word in (*IN_USE, ("state-disk", "", "", "mounted")):
            lines = [line for line in said.splitlines() if name in line]
            if not any(word in line for line in lines):
                mistakes.append(f"{name}: -t does not say {word!r}: {lines}")
            code, out, err = armed[name]
            if code == 0 or word not in out + err:
                mistakes.append(f"{name}: arm: exit {code}, no {word!r}: {out} {err}")
            if name in drives and contents(drives[name]) != before[name]:
                mistakes.append(f"{name}: was changed")
        assert not mistakes, "\n".join(mistakes)
        assert guest.run(f"ls {STATE}/claims 2>/dev/null || true").strip() == "", "a claim was written"


def test_two_drives_of_one_name_and_disks_that_are_free():
    twins = [Drive("twin", "sata", "RIGTWIN0001", SIZE), Drive("twin2", "sata", "RIGTWIN0001", SIZE)]
    stopped, blank, stale = (Drive("stopped", "sata", "RIGSATA0001", SIZE), Drive("blank", "ide", "RIGPIIX0001", SIZE),
                             Drive("stale", "nvme", "RIGNVME0001", SIZE))
    with machine(*twins, stopped, blank, stale) as (guest, prefix):
        disk = f"/dev/{stopped.kernel_name()}"
        guest.run(f"mdadm --create /dev/md7 --run --level=1 --raid-devices=2 {disk} missing && mdadm --stop /dev/md7")
        guest.run(f"mkfs.ext4 -q /dev/{stale.kernel_name()}")
        service = Service(guest, prefix, {drive.name: {"drive": drive, "size": "32MiB", "duration": "2s"} for drive in
                                          (twins[0], stopped, blank, stale)})
        service.write_config()
        code, out, err = service.try_arm("twin")
        assert code != 0 and "RIGTWIN0001" in out + err, (code, out, err)
        # What is only on the disk, and not in use, is shown and may be overwritten with consent.
        code, out, err = service.try_arm("stopped")
        assert code == 0 and "linux_raid_member" in out + err, (code, out, err)
        code, out, err = service.try_arm("stale")
        assert code == 0 and "ext4" in out + err, (code, out, err)
        service.arm("blank")
        heads = {drive.name: drive.written(0, MIB) for drive in (stopped, stale)}
        service.start()
        for name in ("stopped", "blank", "stale"):
            service.wait_state(name, "done", 60)
        assert service.drive("twin")["state"] in ("failed", "absent"), service.drive("twin")
        assert not any(twins[0].written(0, SIZE)) and not any(twins[1].written(0, SIZE)), "a twin was written to"
        for name, head in heads.items():
            assert guest.read(f"{STATE}/claims/{name}.head", 0, MIB, direct=False) == head, name
        assert service.stop() == 0


if __name__ == "__main__":
    main(globals())

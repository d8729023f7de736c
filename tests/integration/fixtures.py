# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines as trees of files below a root: /sys, /proc, /etc and links in /dev. A line is "PATH: TEXT" (| is a line
break), "PATH+: TEXT" appends, "PATH -> TARGET" is a link, "PATH/" a folder."""

import os
import pathlib

# sda carries the system, sdb is the candidate, nvme0n1 another one.
BASE = """
sys/block/sda/dev: 8:0
sys/block/sda/size: 1000000
sys/block/sda/ro: 0
sys/block/sda/device/model: System Disk
sys/block/sda/device/wwid: naa.5000000000000001
sys/block/sda/device/vpd_pg80: ....SERIAL-SDA
sys/block/sda/sda1/dev: 8:1
sys/block/sda/sda1/partition: 1
sys/block/sda/holders/
sys/block/sdb/dev: 8:16
sys/block/sdb/size: 2000000
sys/block/sdb/ro: 0
sys/block/sdb/removable: 0
sys/block/sdb/queue/zoned: none
sys/block/sdb/device/type: 0
sys/block/sdb/device/model: Candidate
sys/block/sdb/device/wwid: naa.5000000000000002
sys/block/sdb/device/vpd_pg80: ....SERIAL-SDB
sys/block/sdb/device/scsi_generic/sg1/dev: 21:1
sys/block/sdb/device/bsg/1:0:0:0/dev: 252:1
sys/block/sdb/holders/
sys/block/sdb/sdb1/dev: 8:17
sys/block/sdb/sdb1/partition: 1
sys/block/sdb/sdb1/holders/
sys/block/sdb/sdb2/dev: 8:18
sys/block/sdb/sdb2/partition: 2
sys/block/nvme0n1/dev: 259:0
sys/block/nvme0n1/size: 3000000
sys/block/nvme0n1/ro: 0
sys/block/nvme0n1/hidden: 0
sys/block/nvme0n1/wwid: eui.0025385000000001
sys/block/nvme0n1/device/serial: NVME-SERIAL-1
sys/block/nvme0n1/device/model: Quick Drive
sys/class/nvme-generic/ng0n1/dev: 237:0
sys/dev/block/8:0 -> ../../block/sda
sys/dev/block/8:1 -> ../../block/sda/sda1
sys/dev/block/8:16 -> ../../block/sdb
sys/dev/block/8:17 -> ../../block/sdb/sdb1
sys/dev/block/8:18 -> ../../block/sdb/sdb2
sys/dev/block/259:0 -> ../../block/nvme0n1
sys/class/block/sda -> ../../block/sda
sys/class/block/sda1 -> ../../block/sda/sda1
sys/class/block/sdb -> ../../block/sdb
sys/class/block/sdb1 -> ../../block/sdb/sdb1
sys/class/block/sdb2 -> ../../block/sdb/sdb2
dev/sda:
dev/sda1:
dev/sdb:
dev/sdb1:
dev/sdb2:
dev/nvme0n1:
dev/disk/by-id/ata-Candidate_SERIAL-SDB -> ../../sdb
dev/disk/by-uuid/aaaa-bbbb -> ../../sdb1
proc/1/ns/mnt -> mnt:[100]
proc/1/comm: systemd
proc/1/stat: 1 (systemd) S 0 1
proc/1/mountinfo: 20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw|21 20 0:5 / /proc rw - proc proc rw
proc/1/fd/
proc/swaps: Filename Type Size Used Priority
etc/fstab: UUID=1111-2222 / ext4 defaults 0 1
"""

DM = """
sys/block/sdb/holders/dm-0 -> ../../dm-0
sys/block/dm-0/dev: 253:0
sys/block/dm-0/size: 1000
sys/block/dm-0/ro: 0
sys/block/dm-0/slaves/sdb -> ../../sdb
sys/dev/block/253:0 -> ../../block/dm-0
sys/class/block/dm-0 -> ../../block/dm-0
dev/dm-0:
dev/mapper/vg-home -> ../dm-0
"""

MD = """
sys/block/sdb/sdb1/holders/md0 -> ../../../md0
sys/block/md0/dev: 9:0
sys/block/md0/size: 1000
sys/block/md0/ro: 0
sys/block/md0/md/level: raid1
sys/block/md0/slaves/sdb1 -> ../../sdb/sdb1
sys/dev/block/9:0 -> ../../block/md0
sys/class/block/md0 -> ../../block/md0
"""

PROCESS = """
proc/9000812/comm: mdadm
proc/9000812/stat: 9000812 (mdadm) S 1 1
proc/9000812/ns/mnt -> mnt:[100]
proc/9000812/mountinfo:
"""

OTHER_SPACE = """
proc/9000813/comm: container
proc/9000813/stat: 9000813 (container) S 1 1
proc/9000813/ns/mnt -> mnt:[200]
proc/9000813/fd/
"""

TWIN = """
sys/block/sdc/dev: 8:32
sys/block/sdc/size: 2000000
sys/block/sdc/ro: 0
sys/block/sdc/device/model: Candidate
"""

# What the head of a multipath NVMe drive looks like: its paths are hidden disks.
HEAD = """
sys/block/nvme1n1/dev: 259:10
sys/block/nvme1n1/size: 3000000
sys/block/nvme1n1/ro: 0
sys/block/nvme1n1/hidden: 0
sys/block/nvme1n1/wwid: eui.0025385000000002
sys/block/nvme1n1/device/model: Quick Drive
sys/block/nvme1n1/device/serial: NVME-SERIAL-2
sys/block/nvme1n1/multipath/nvme1c0n1 -> ../../nvme1c0n1
sys/block/nvme1c0n1/size: 3000000
sys/block/nvme1c0n1/dev:
sys/block/nvme1c0n1/ro: 0
sys/block/nvme1c0n1/hidden: 1
sys/block/nvme1c0n1/wwid: eui.0025385000000002
sys/block/nvme1c0n1/device/serial: NVME-SERIAL-2
sys/block/nvme1c1n1/size: 3000000
sys/block/nvme1c1n1/hidden: 1
sys/block/nvme1c1n1/ro: 0
sys/block/nvme1c1n1/wwid: eui.0025385000000002
"""

DANGEROUS = [
    # name, disk, lines beside BASE, words of the refusal
    ("mounted whole disk", "sdb", "proc/1/mountinfo+: 30 20 8:16 / /data rw - ext4 /dev/sdb rw",
     ["sdb is mounted on /data (ext4)"]),
    ("mounted partition", "sdb", "proc/1/mountinfo+: 30 20 8:18 / /data rw - ext4 /dev/sdb2 rw",
     ["sdb2 is mounted on /data"]),
    ("mount point with a blank", "sdb", "proc/1/mountinfo+: 30 20 8:18 / /my\\040data rw - ext4 /dev/sdb2 rw",
     ["sdb2 is mounted on /my data"]),
    ("mounted in a container", "sdb",
     OTHER_SPACE + "proc/9000813/mountinfo: 1 1 8:17 / /inner rw - xfs /dev/whatever rw",
     ["sdb1 is mounted on /inner (xfs) in the mount namespace of PID 9000813 (container)"]),
    ("root of the system", "sda", "", ["sda1 is mounted on / (ext4)", "sda carries /, /boot, ", "the state directory"]),
    ("only the state directory", "sdb",
     "proc/1/mountinfo+: 30 20 8:17 / /var/lib/drivesoak rw - ext4 /dev/sdb1 rw",
     ["sdb1 is mounted on /var/lib/drivesoak", "sdb carries the state directory"]),
    ("/boot/efi", "sdb", "proc/1/mountinfo+: 30 20 8:17 / /boot/efi rw - vfat /dev/sdb1 rw",
     ["sdb carries /boot/efi"]),
    ("/var through LVM", "sdb", DM + "sys/block/dm-0/dm/uuid: LVM-abc\nsys/block/dm-0/dm/name: vg-var\n"
     "proc/1/mountinfo+: 30 20 253:0 / /var rw - ext4 /dev/mapper/vg-var rw",
     ["sdb is in use by the LVM volume vg-var", "dm-0 is mounted on /var", "sdb carries /var, the state directory"]),
    ("btrfs by its own number", "sdb", "proc/1/mountinfo+: 30 20 0:44 /sub /data rw - btrfs /dev/sdb1 rw,subvol=/sub",
     ["sdb1 is mounted on /data (btrfs)"]),
    ("second device of a btrfs", "sdb",
     "proc/1/mountinfo+: 30 20 0:44 / /data rw - btrfs /dev/sda rw\nsys/fs/btrfs/6f3f/devices/sda -> ../\n"
     "sys/fs/btrfs/6f3f/devices/sdb2 -> ../", ["sdb2 is a member of the mounted btrfs 6f3f"]),
    ("bcachefs of several devices", "sdb",
     "proc/1/mountinfo+: 30 20 0:44 / /data rw - bcachefs /dev/sda:/dev/sdb:/dev/sdx rw",
     ["sdb is mounted on /data (bcachefs)"]),
    ("log of a mounted XFS", "sdb",
     "proc/1/mountinfo+: 30 20 8:1 / /data rw - xfs /dev/sda1 rw,attr2,logdev=/dev/sdb2,noquota",
     ["sdb2 is mounted on /data (xfs)"]),
    ("swap", "sdb", "proc/swaps+: /dev/sdb partition 1 0 -2", ["sdb is swap: swapoff /dev/sdb"]),
    ("swap on a partition", "sdb", "proc/swaps+: /dev/sdb2 partition 1 0 -2", ["sdb2 is swap"]),
    ("swap by a link", "sdb", "proc/swaps+: /dev/disk/by-uuid/aaaa-bbbb partition 1 0 -2", ["sdb1 is swap"]),
    ("swap whose node is gone", "sdb", "proc/swaps+: /dev/sdb2\\040(deleted) partition 1 0 -2", ["sdb2 is swap"]),
    ("swap on dm", "sdb", DM + "proc/swaps+: /dev/dm-0 partition 1 0 -2", ["dm-0 is swap"]),
    ("open LUKS", "sdb", DM + "sys/block/dm-0/dm/uuid: CRYPT-LUKS2-x\nsys/block/dm-0/dm/name: vault",
     ["sdb is open as the encrypted volume vault"]),
    ("multipath leg", "sdb", DM + "sys/block/dm-0/dm/uuid: mpath-36\nsys/block/dm-0/dm/name: mpatha",
     ["sdb is a leg of the multipath drive mpatha"]),
    ("kpartx", "sdb", DM + "sys/block/dm-0/dm/uuid: part1-x\nsys/block/dm-0/dm/name: sdb1x",
     ["sdb is in use by the partition sdb1x"]),
    ("dm of an unknown kind", "sdb", DM, ["sdb is in use by the device-mapper volume dm-0"]),
    ("md member", "sdb", MD, ["sdb1 is a member of the array md0, raid1"]),
    ("mounted LVM over md over a partition", "sdb",
     MD + "sys/block/md0/holders/dm-3 -> ../../dm-3\nsys/block/dm-3/dev: 253:3\nsys/block/dm-3/dm/uuid: LVM-q\n"
     "sys/block/dm-3/dm/name: vg-srv\nproc/1/mountinfo+: 30 20 253:3 / /srv rw - ext4 /dev/mapper/vg-srv rw",
     ["sdb1 is a member of the array md0", "md0 is in use by the LVM volume vg-srv", "dm-3 is mounted on /srv"]),
    ("mounted partition of an md", "sdb",
     MD + "sys/block/md0/md0p1/dev: 259:7\nsys/block/md0/md0p1/partition: 1\n"
     "proc/1/mountinfo+: 30 20 259:7 / /srv rw - ext4 /dev/md0p1 rw", ["md0p1 is mounted on /srv"]),
    ("bcache backing device", "sdb", "sys/block/sdb/holders/bcache0 -> ../../bcache0\nsys/block/bcache0/dev: 251:0",
     ["sdb is in use by bcache0"]),
    ("bcache cache, not attached", "sdb", "sys/block/sdb/sdb1/bcache/set -> nowhere",
     ["sdb1 is a member of bcache"]),
    ("a holder nobody knows", "sdb", "sys/block/sdb/holders/xyz0 -> ../../xyz0", ["sdb is in use by xyz0"]),
    ("loop device over it", "sdb", "sys/block/loop5/loop/backing_file: /dev/sdb2", ["sdb2 lies below a loop device"]),
    ("write-back device of zram", "sdb", "sys/block/zram0/backing_dev: /dev/sdb",
     ["sdb takes what zram writes back"]),
    ("exported by NVMe over fabrics", "sdb",
     "sys/kernel/config/nvmet/subsystems/nqn/namespaces/1/device_path: /dev/disk/by-id/ata-Candidate_SERIAL-SDB",
     ["sdb is exported to other machines"]),
    ("exported by iSCSI", "sdb", "sys/kernel/config/target/core/iblock_0/disk/udev_path: /dev/sdb1",
     ["sdb1 is exported to other machines"]),
    ("second path, same wwid", "sdb", TWIN + "sys/block/sdc/device/wwid: naa.5000000000000002",
     ["sdb and sdc have one wwid, naa.5000000000000002"]),
    ("same serial, no wwid", "sdb", TWIN + "sys/block/sdc/device/vpd_pg80: ....SERIAL-SDB",
     ["sdb and sdc have one serial, serial-sdb"]),
    ("two NVMe controllers without multipath", "nvme0n1",
     "sys/block/nvme9n1/size: 3000000\nsys/block/nvme9n1/wwid: eui.0025385000000001\nsys/block/nvme9n1/dev: 259:90",
     ["nvme0n1 and nvme9n1 have one wwid"]),
    ("two namespaces of one drive", "nvme0n1",
     "sys/block/nvme0n2/size: 3000000\nsys/block/nvme0n2/wwid: eui.0025385000000099\nsys/block/nvme0n2/dev: 259:90\n"
     "sys/block/nvme0n2/device/serial: NVME-SERIAL-1", ["nvme0n1 and nvme0n2 have one serial"]),
    ("hidden path of a multipath drive", "nvme1c0n1", HEAD, ["is one path of a multipath drive"]),
    ("read-only", "sdb", "sys/block/sdb/ro: 1", ["sdb is read-only"]),
    ("zoned", "sdb", "sys/block/sdb/queue/zoned: host-managed", ["sdb is zoned (host-managed)"]),
    ("card reader without a card", "sdb", "sys/block/sdb/size: 0\nsys/block/sdb/removable: 1", ["sdb has no medium"]),
    ("no capacity", "sdb", "sys/block/sdb/size: 0", ["sdb has a capacity of 0"]),
    ("an optical drive", "sdb", "sys/block/sdb/device/type: 5", ["SCSI device type 5"]),
    ("a partition", "sdb1", "", ["sdb1 is a partition of sdb"]),
    ("a dm volume", "dm-0", DM, ["dm-0 is a device-mapper volume"]),
    ("an array", "md0", MD, ["md0 is a RAID array", "made of sdb1"][:1]),
    ("a disk that is not there", "sdq", "", ["sdq is no disk"]),
    ("sysfs without its number", "sdb", "sys/block/sdb/dev:", ["does not tell all that is made of it"]),
    ("sysfs without its size", "sdb", "sys/block/sdb/size:", ["its size and ro in /sys can't be read"]),
    ("no mount table", "sdb", "proc/1/ns/mnt !", ["no mount table can be read"]),
    ("a mount table in another language", "sdb", "proc/1/mountinfo+: /dev/sdx on /mnt type ext4",
     ["1 lines of the mount tables can't be understood"]),
    ("open", "sdb", PROCESS + "proc/9000812/fd/7 -> /dev/sdb", ["sdb is open in PID 9000812 (mdadm)"]),
    ("partition open", "sdb", PROCESS + "proc/9000812/fd/7 -> /dev/sdb2", ["sdb2 is open in PID 9000812"]),
    ("sg node open", "sdb", PROCESS + "proc/9000812/fd/7 -> /dev/sg1", ["sg1 is open in PID 9000812"]),
    ("bsg node open", "sdb", PROCESS + "proc/9000812/fd/7 -> /dev/bsg/1:0:0:0", ["1:0:0:0 is open in PID 9000812"]),
    ("ng node open", "nvme0n1", PROCESS + "proc/9000812/fd/7 -> /dev/ng0n1", ["ng0n1 is open in PID 9000812"]),
    ("held by udev for good", "sdb", PROCESS + "proc/9000812/comm: (udev-worker)\nproc/9000812/fd/7 -> /dev/sdb",
     ["sdb is open in PID 9000812 ((udev-worker))"]),
    ("fstab, by path", "sdb", "etc/fstab+: /dev/sdb2 /data ext4 noauto 0 0", ["/etc/fstab (/dev/sdb2, /data)"]),
    ("fstab, by UUID", "sdb", "etc/fstab+: UUID=aaaa-bbbb /data ext4 noauto 0 0", ["/etc/fstab (UUID=aaaa-bbbb"]),
    ("fstab, quoted UUID", "sdb", "etc/fstab+: UUID=\"aaaa-bbbb\" none swap sw 0 0",
     ["/etc/fstab (UUID=", "aaaa-bbbb"]),
    ("fstab, by label with a blank", "sdb",
     "dev/disk/by-label/my\\x20data -> ../../sdb1\netc/fstab+: LABEL=my\\040data /data ext4 defaults 0 0",
     ["/etc/fstab (LABEL=my data"]),
    ("fstab, by a link that udev has not made", "sdb",
     "etc/fstab+: /dev/disk/by-id/wwn-0x5000000000000002-part1 /data ext4 defaults 0 0",
     ["/etc/fstab (/dev/disk/by-id/wwn-0x5000000000000002-part1"]),
    ("fstab, by serial in a link", "sdb", "etc/fstab+: /dev/disk/by-id/scsi-SATA_Cand_SERIAL-SDB-part2 /d ext4 d 0 0",
     ["/etc/fstab"]),
    ("fstab, a journal among the options", "sdb", "etc/fstab+: /dev/sda2 /d ext4 rw,journal_path=/dev/sdb1 0 0",
     ["/etc/fstab (journal_path=/dev/sdb1"]),
    ("fstab, a line with a mistake", "sdb", "etc/fstab+: /dev/sdb1", ["/etc/fstab (/dev/sdb1"]),
    ("fstab, through dm", "sdb", DM + "etc/fstab+: /dev/mapper/vg-home /home ext4 defaults 0 0",
     ["/etc/fstab (/dev/mapper/vg-home"]),
    ("crypttab, by path", "sdb", "etc/crypttab: vault /dev/sdb1 none luks", ["/etc/crypttab (/dev/sdb1, vault)"]),
    ("crypttab, by UUID", "sdb", "etc/crypttab: # comment|vault UUID=aaaa-bbbb none luks", ["/etc/crypttab (UUID="]),
    ("crypttab, detached header", "sdb", "etc/crypttab: vault /dev/sdq none luks,header=/dev/sdb1",
     ["/etc/crypttab (header=/dev/sdb1"]),
    ("crypttab, key on it", "sdb", "etc/crypttab: vault /dev/sdq /key:UUID=aaaa-bbbb luks", ["/etc/crypttab"]),
    ("mdadm.conf, devices", "sdb", "etc/mdadm/mdadm.conf: ARRAY /dev/md0 devices=/dev/sda2,/dev/sdb1",
     ["/etc/mdadm/mdadm.conf (devices="]),
    ("mdadm.conf, a pattern of devices", "sdb", "etc/mdadm/mdadm.conf: ARRAY /dev/md0|  devices=/dev/sdb*",
     ["/etc/mdadm/mdadm.conf (devices="]),
    ("mdadm.conf, literal DEVICE", "sdb", "etc/mdadm.conf: DEVICE /dev/sda1 /dev/sdb2",
     ["/etc/mdadm.conf (/dev/sdb2"]),
    ("mdadm.conf.d", "sdb", "etc/mdadm/mdadm.conf.d/x.conf: DEVICE /dev/sdb", ["/etc/mdadm/mdadm.conf.d/x.conf"]),
]

LEGITIMATE = [
    ("a plain candidate", "sdb", ""),
    ("NVMe", "nvme0n1", ""),
    ("NVMe head with hidden paths", "nvme1n1", HEAD),
    ("others in use everywhere", "nvme0n1",
     DM + MD + "proc/1/mountinfo+: 30 20 253:0 / /srv rw - ext4 /dev/dm-0 rw\nproc/swaps+: /dev/sdb2 partition 1 0 -2"),
    ("a name that begins alike", "sdb",
     "sys/block/sdba/dev: 67:0\nsys/block/sdba/size: 1\nproc/1/mountinfo+: 30 20 67:0 / /x rw - ext4 /dev/sdba rw\n"
     "dev/sdba:\netc/fstab+: /dev/sdba /x ext4 defaults 0 0"),
    ("tables of others", "sdb",
     "etc/crypttab: vault UUID=3333 none luks|swap /dev/sda3 /dev/urandom swap\n"
     "etc/mdadm/mdadm.conf: # mdadm|DEVICE partitions containers|HOMEHOST <system>|ARRAY /dev/md/0 UUID=aa:bb:cc:dd\n"
     "etc/fstab+: # /dev/sdb1 was here|tmpfs /tmp tmpfs defaults 0 0|server:/export /nfs nfs defaults 0 0|"
     "/swapfile none swap sw 0 0|/dev/disk/by-id/ata-Other_SERIAL-SDX /x ext4 defaults 0 0"),
    ("another drive whose link has this serial in it", "sdb",
     "dev/disk/by-id/ata-Twin_SERIAL-SDB2 -> ../../sda\netc/fstab+: /dev/disk/by-id/ata-Twin_SERIAL-SDB2 /x ext4 d 0 0"),
    ("a pattern of DEVICE", "sdb", "etc/mdadm/mdadm.conf: DEVICE /dev/sd* /dev/nvme*"),
    ("no fstab and no swap", "sdb", "etc/fstab !\nproc/swaps !"),
    ("open elsewhere", "sdb", PROCESS + "proc/9000812/fd/7 -> /dev/sda\nproc/9000812/fd/8 -> /dev/sg0\n"
     "proc/9000812/fd/9 -> socket:[1]\nproc/9000812/fd/10 -> /var/log/sdb"),
    ("a process that is gone", "sdb", "proc/9000900/comm: gone"),
    ("ZFS, NFS and overlay beside it", "sdb",
     "proc/1/mountinfo+: 30 20 0:50 / /tank rw - zfs tank rw|31 20 0:51 / /nfs rw - nfs4 server:/sdb rw|"
     "32 20 0:52 / /o rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/c|33 20 0:53 / /e rw -  tmpfs  rw"),
    ("another model with its serial", "sdb",
     TWIN.replace("Candidate", "Card Reader") + "sys/block/sdc/device/vpd_pg80: ....SERIAL-SDB"),
    ("wwids that say nothing", "nvme0n1",
     "sys/block/nvme0n1/wwid: eui.0000000000000000\nsys/block/nvme0n1/device/serial: 00000000\n"
     "sys/block/nvme9n1/size: 3\nsys/block/nvme9n1/wwid: eui.0000000000000000\n"
     "sys/block/nvme9n1/device/serial: 00000000"),
    ("a loop device over a file", "loop0",
     "sys/block/loop0/dev: 7:0\nsys/block/loop0/size: 100\nsys/block/loop0/ro: 0\n"
     "sys/block/loop0/loop/backing_file: /srv/disk.img\nsys/block/loop1/loop/backing_file: /srv/other.img"),
    ("/sys without the names of newer kernels", "sdb", "sys/block/sdb/queue/zoned !\nsys/block/sdb/removable !"),
]


def make(folder, lines):
    root = pathlib.Path(folder)
    for line in (BASE + "\n" + lines).splitlines():
        if not line.strip():
            continue
        if line.endswith(" !"):
            (root / line[:-2]).unlink()
        elif " -> " in line:
            path, target = line.split(" -> ")
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            os.symlink(target, root / path)
        elif line.endswith("/"):
            (root / line).mkdir(parents=True, exist_ok=True)
        else:
            # Names of SCSI devices have colons in them; text follows the first colon and blank.
            path, _, text = line.removesuffix(":").partition(": ") if ": " in line else (line[:-1], "", "")
            is_more = path.endswith("+")
            path = root / path.removesuffix("+")
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "a" if is_more else "w") as file:
                file.write(text.replace("|", "\n") + "\n" if text else "")

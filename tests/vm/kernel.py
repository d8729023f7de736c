# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's own kernel for the guest, without installing it: fetched once, unpacked, and an initramfs around it.

All of it lies in a cache folder below the build folder, or where DRIVESOAK_VM_CACHE says. Nothing here needs root."""

import contextlib
import fcntl
import lzma
import os
import pathlib
import platform
import shutil
import subprocess
import time

from harness import BUILD, Skip, run

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("DRIVESOAK_VM_CACHE", BUILD / "vm-cache")).resolve()
TOOLS = ("qemu-system-x86_64", "busybox", "cpio", "modprobe", "depmod", "dpkg-deb", "apt-get", "mke2fs", "setpriv")
# In the order in which they are loaded, each after what it needs. Checksums come first: filesystems ask for them by name.
MODULES = ("crc32c_generic", "crc32_generic", "virtio_pci", "virtio_blk", "virtio_console", "9pnet_virtio", "9p", "overlay",
           "ext4", "nvme", "ahci", "ata_piix", "sd_mod", "sg", "loop", "raid1", "dm-mod", "bcache")
# What is unpacked of the package; the whole of it is 400 MB.
PARTS = ("boot/vmlinuz-*", "lib/modules/*/modules.*", "lib/modules/*/kernel/crypto/*", "lib/modules/*/kernel/lib/*",
         "lib/modules/*/kernel/arch/*", "lib/modules/*/kernel/block/*", "lib/modules/*/kernel/net/9p/*",
         *(f"lib/modules/*/kernel/fs/{name}/*" for name in ("9p", "ext4", "fscache", "jbd2", "netfs", "overlayfs")),
         "lib/modules/*/kernel/fs/mbcache.ko",
         *(f"lib/modules/*/kernel/drivers/{name}/*" for name in ("ata", "block", "char", "dax", "md", "nvme", "scsi",
                                                                 "virtio")))


def need_tools():
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")]
    if missing:
        raise Skip(f"not installed: {' '.join(missing)}")
    if platform.machine() != "x86_64":
        raise Skip(f"the guest is an x86_64, this machine a {platform.machine()}")


@contextlib.contextmanager
def locked(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        end = time.monotonic() + 300
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > end:
                    raise Skip(f"{folder} is in use") from error
                time.sleep(0.2)
        yield


def fetch_package(folder):
    """The .deb of the kernel that linux-image-amd64 stands for now."""
    try:
        lines = run("apt-cache", "depends", "linux-image-amd64", timeout=60).splitlines()
        [package] = [line.split()[1] for line in lines if line.split()[:1] == ["Depends:"]]
        run("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", "-o", "APT::Sandbox::User=root", "download", package,
            cwd=folder, timeout=300)
        [deb] = folder.glob(f"{package}_*.deb")
    except (ValueError, OSError, subprocess.SubprocessError) as error:
        raise Skip(f"Debian's kernel package can't be had: {getattr(error, 'stderr', '') or error}".strip()) from error
    return deb


def unpack(deb, folder):
    unpacker = subprocess.Popen(("dpkg-deb", "--fsys-tarfile", str(deb)), stdout=subprocess.PIPE)
    run("tar", "-x", "-C", str(folder), "--wildcards", *(f"./{part}" for part in PARTS), stdin=unpacker.stdout)
    unpacker.stdout.close()
    assert unpacker.wait() == 0, deb


def extract_vmlinux(image, out):
    """The ELF in a bzImage: decompressed by QEMU's processor it would take three seconds of each boot."""
    data = image.read_bytes()
    start = data.find(b"\xfd7zXZ\0")
    if start < 0:
        shutil.copy(image, out)
        return
    out.write_bytes(lzma.LZMADecompressor().decompress(data[start:]))


def module_files(folder, version):
    """Paths of the modules in the order of loading."""
    files = []
    for module in MODULES:
        shown = subprocess.run(("modprobe", "-d", str(folder), "-S", version, "--show-depends", module), check=False,
                               capture_output=True, text=True).stdout
        for line in shown.splitlines():
            word, _, path = line.partition(" ")
            path = path.split()[0] if path else ""
            if word == "insmod" and path not in files:
                files.append(path)
    return files


def build_initramfs(folder, version, out):
    tree = folder / "initramfs"
    shutil.rmtree(tree, ignore_errors=True)
    for name in ("bin", "dev", "proc", "sys", "host", "install", "root", "upper", "modules"):
        (tree / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), tree / "bin/busybox")
    shutil.copy(HERE / "guest.sh", tree / "init")
    shutil.copy(HERE / "agent.py", tree / "agent.py")
    (tree / "init").chmod(0o755)
    names = []
    for path in module_files(folder, version):
        names.append(os.path.basename(path))
        shutil.copy(path, tree / "modules" / names[-1])
    (tree / "modules/list").write_text("\n".join(names) + "\n")
    listing = run("find", ".", cwd=tree)
    with open(out, "wb") as file:
        subprocess.run(("cpio", "--quiet", "-o", "-H", "newc"), cwd=tree, input=listing.encode(), stdout=file,
                       stderr=subprocess.PIPE, check=True)


def kernel():
    """(vmlinux, initramfs), made when they are not there."""
    need_tools()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    with locked(CACHE):
        vmlinux, initramfs = CACHE / "vmlinux", CACHE / "initramfs.cpio"
        if not vmlinux.exists():
            deb = fetch_package(CACHE)
            unpack(deb, CACHE)
            deb.unlink()
            [image] = (CACHE / "boot").glob("vmlinuz-*")
            version = image.name.removeprefix("vmlinuz-")
            run("depmod", "-b", str(CACHE), version)
            (CACHE / "version").write_text(version)
            extract_vmlinux(image, CACHE / "vmlinux.new")
            (CACHE / "vmlinux.new").rename(vmlinux)
        sources = [HERE / name for name in ("guest.sh", "agent.py", "kernel.py")]
        if not initramfs.exists() or initramfs.stat().st_mtime < max(source.stat().st_mtime for source in sources):
            build_initramfs(CACHE, (CACHE / "version").read_text(), CACHE / "initramfs.new")
            (CACHE / "initramfs.new").rename(initramfs)
    return vmlinux, initramfs

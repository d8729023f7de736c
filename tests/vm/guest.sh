#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# First process of the guest: modules, the host's files by 9p below a layer that forgets, then the agent for the host's
# commands. What make install made is a layer of its own, so that the programs are where an administrator has them.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
mount -t proc proc /proc
mount -t sysfs sysfs /sys
while read -r module; do
	insmod "/modules/$module" || echo "guest: $module is not loaded"
done </modules/list
share="trans=virtio,version=9p2000.L,msize=262144"
mount -t 9p -o "$share,ro,cache=loose" host /host || poweroff -f
mount -t 9p -o "$share,ro,cache=loose" install /install || poweroff -f
mount -t tmpfs tmpfs /upper
mkdir /upper/data /upper/work
mount -t overlay -o lowerdir=/install:/host,upperdir=/upper/data,workdir=/upper/work overlay /root || poweroff -f
for folder in dev proc sys; do
	mount --move "/$folder" "/root/$folder"
done
mount -t tmpfs tmpfs /root/run
mount -t tmpfs tmpfs /root/tmp
mkdir /root/run/share /root/run/lock
mount -t 9p -o "$share,cache=none" share /root/run/share
# The host's own tables name the host's disks.
for table in fstab crypttab mdadm/mdadm.conf; do
	rm -f "/root/etc/$table"
done
: >/root/etc/fstab
cp /agent.py /root/run/agent.py
ifconfig lo 127.0.0.1 up
hostname guest
chroot /root /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
	/usr/bin/python3 -IS /run/agent.py
sync
poweroff -f

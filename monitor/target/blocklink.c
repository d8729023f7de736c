/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/blocklink.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sysfs.h"

/* IDENTIFY DEVICE behind the 60 bytes of page 89h; word 76 tells the speeds of Serial ATA that the drive can do. */
#define PAGE_ATA_BYTES 572
#define SPEEDS_AT      (60 + 2 * 76)
#define SPEED_TEXT_MAX 32
#define WIDTH_UNKNOWN  255

struct pcie_link {
	char speed_text[SPEED_TEXT_MAX];
	unsigned speed; /* in tenths of a GT/s; 0: unknown */
	unsigned width; /* lanes; 0: unknown */
};

static bool is_pci_address(const char *name)
{
	return strlen(name) == 12 && name[4] == ':' && name[7] == ':' && name[10] == '.';
}

bool blocklink_cut_to_pci(const char *root, char *folder)
{
	for (char *slash = strrchr(folder, '/'); slash && slash > folder + strlen(root);
		slash = strrchr(folder, '/')) {
		if (is_pci_address(slash + 1))
			return true;
		*slash = '\0';
	}
	return false;
}

static bool is_nvme_controller(const char *name)
{
	return strncmp(name, "nvme", 4) == 0 && name[4] && name[4 + strspn(name + 4, "0123456789")] == '\0';
}

/* Of the controllers of a subsystem the first; with more than one the guard refuses the disk anyway. */
static void enter_subsystem(char *folder)
{
	char link[PATH_MAX], found[PATH_MAX];
	DIR *entries = opendir(folder);
	struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		if (!is_nvme_controller(entry->d_name))
			continue;
		(void)snprintf(link, sizeof(link), "%.3800s/%.255s", folder, entry->d_name);
		if (!realpath(link, found))
			continue;
		memcpy(folder, found, sizeof(found));
		break;
	}
	if (entries)
		(void)closedir(entries);
}

int blocklink_folder(const char *root, const char *name, char *out)
{
	char link[PATH_MAX];

	if (snprintf(link, sizeof(link), "%s/sys/block/%s/device", root, name) >= (int)sizeof(link))
		return -ENAMETOOLONG;
	if (!realpath(link, out))
		return -errno;
	if (strstr(out, "/nvme-subsystem/"))
		enter_subsystem(out);
	return 0;
}

/* "8.0 GT/s PCIe", "6.0 Gbps": the number in tenths; 0 for anything else. */
static unsigned tenths(const char *text)
{
	char *end;
	unsigned long whole = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || whole > 100000)
		return 0;
	return (unsigned)whole * 10 +
	       (*end == '.' && isdigit((unsigned char)end[1]) ? (unsigned)(end[1] - '0') : 0);
}

static struct pcie_link read_pcie(const char *pci, const char *which)
{
	struct pcie_link link = { .speed = 0 };
	uint64_t width = 0;

	(void)sysfs_read_text(link.speed_text, sizeof(link.speed_text), pci, "/%s_link_speed", which);
	link.speed = tenths(link.speed_text);
	if (sysfs_read_u64(&width, pci, "/%s_link_width", which) == 0 && width < WIDTH_UNKNOWN)
		link.width = (unsigned)width;
	return link;
}

uint64_t blocklink_pci_bytes_per_s(const char *folder)
{
	const struct pcie_link link = read_pcie(folder, "current");
	/* 8 bits in 10 up to 5 GT/s, 128 in 130 from 8 GT/s on. */
	const bool is_old = link.speed < 80;

	if (!link.speed || !link.width)
		return UINT64_MAX;
	return (uint64_t)link.speed * 100000000 / 8 * link.width * (is_old ? 8 : 128) / (is_old ? 10 : 130);
}

void blocklink_read_pci(const char *folder, struct blocklink_rates *out)
{
	const struct pcie_link now = read_pcie(folder, "current"), most = read_pcie(folder, "max");

	*out = (struct blocklink_rates){
		.speed = now.speed, .width = now.width, .speed_max = most.speed, .width_max = most.width
	};
}

static bool is_below(unsigned now, unsigned drive, unsigned port)
{
	unsigned can = port && port < drive ? port : drive;

	return now && can && now < can;
}

static void read_nvme(const char *root, char *folder, char *text, bool *is_degraded)
{
	struct pcie_link now, drive, port = { .speed = 0 };

	if (!blocklink_cut_to_pci(root, folder))
		return;
	now = read_pcie(folder, "current");
	drive = read_pcie(folder, "max");
	if (!now.speed || !now.width)
		return;
	if (drive.speed && drive.width)
		(void)snprintf(text, BLOCKLINK_TEXT_MAX, "%.20s x%u of %.20s x%u", now.speed_text, now.width,
			drive.speed_text, drive.width);
	else
		(void)snprintf(text, BLOCKLINK_TEXT_MAX, "%.20s x%u", now.speed_text, now.width);
	/* The folder above is the port that the drive hangs on, unless that is the root complex. */
	*strrchr(folder, '/') = '\0';
	if (is_pci_address(strrchr(folder, '/') + 1))
		port = read_pcie(folder, "max");
	*is_degraded = is_below(now.speed, drive.speed, port.speed) ||
		       is_below(now.width, drive.width, port.width);
}

/* The fastest of Serial ATA that the drive says it can do, in tenths of a Gbps; 0: not known. */
static unsigned sata_drive_speed(const char *root, const char *name)
{
	static const unsigned speeds[] = { 15, 30, 60 };
	unsigned char page[PAGE_ATA_BYTES];
	unsigned best = 0;
	char path[PATH_MAX];
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/sys/block/%s/device/vpd_pg89", root, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, page, sizeof(page));
	(void)close(fd);
	if (got < (ssize_t)sizeof(page) || page[1] != 0x89 || page[SPEEDS_AT] == 0xff)
		return 0;
	for (unsigned i = 0; i < 3; i++)
		if (page[SPEEDS_AT] & 2u << i)
			best = speeds[i];
	return best;
}

/* Behind a port multiplier each disk has a link of its own, numbered by the SCSI channel. */
void blocklink_sata_name(const char *root, const char *folder, char *out, size_t size)
{
	const char *address = strrchr(folder, '/') + 1;
	unsigned long port = strtoul(strstr(folder, "/ata") + 4, NULL, 10), channel = 0;
	const char *colon = strchr(address, ':');
	char path[PATH_MAX];

	if (colon)
		channel = strtoul(colon + 1, NULL, 10);
	(void)snprintf(out, size, "link%lu.%lu", port, channel);
	(void)snprintf(path, sizeof(path), "%s/sys/class/ata_link/%s", root, out);
	if (access(path, F_OK) < 0)
		(void)snprintf(out, size, "link%lu", port);
}

static unsigned sata_rate(const char *root, const char *link, const char *which)
{
	char text[SPEED_TEXT_MAX];

	(void)sysfs_read_text(text, sizeof(text), root, "/sys/class/ata_link/%s/%s", link, which);
	return tenths(text);
}

void blocklink_read_sata(const char *root, const char *link, struct blocklink_rates *out)
{
	*out = (struct blocklink_rates){
		.speed = sata_rate(root, link, "sata_spd"),
		.speed_max = sata_rate(root, link, "hw_sata_spd_limit"),
		.limit = sata_rate(root, link, "sata_spd_limit"),
	};
}

static void read_sata(const char *root, const char *folder, const char *name, char *text, bool *is_degraded)
{
	char link[64], now_text[SPEED_TEXT_MAX];
	unsigned now, port, limit, drive = sata_drive_speed(root, name), can;

	blocklink_sata_name(root, folder, link, sizeof(link));
	(void)sysfs_read_text(now_text, sizeof(now_text), root, "/sys/class/ata_link/%s/sata_spd", link);
	now = tenths(now_text);
	port = sata_rate(root, link, "hw_sata_spd_limit");
	limit = sata_rate(root, link, "sata_spd_limit");
	if (!now)
		return;
	/* Of a drive that does not tell only this is known: the kernel has lowered the limit after errors. */
	can = drive ? drive : limit && limit < port ? port : now;
	*is_degraded = is_below(now, can, port);
	if (can > now)
		(void)snprintf(text, BLOCKLINK_TEXT_MAX, "%.20s of %u.%u Gbps", now_text, can / 10, can % 10);
	else
		(void)snprintf(text, BLOCKLINK_TEXT_MAX, "%.20s", now_text);
}

/* The phys of the port that the end device hangs on. What the drive itself could do is not told. */
static void read_sas(const char *root, const char *folder, char *text)
{
	char port[PATH_MAX];
	char *at = NULL;
	struct dirent *entry;
	DIR *entries;

	(void)snprintf(port, sizeof(port), "%s", folder);
	for (char *next = strstr(port, "/port-"); next; next = strstr(next + 1, "/port-"))
		at = next;
	if (!at)
		return;
	at[1 + strcspn(at + 1, "/")] = '\0';
	entries = opendir(port);
	while (entries && !text[0] && (entry = readdir(entries))) {
		if (strncmp(entry->d_name, "phy-", 4) != 0)
			continue;
		(void)sysfs_read_text(text, BLOCKLINK_TEXT_MAX, root,
			"/sys/class/sas_phy/%s/negotiated_linkrate", entry->d_name);
		if (!tenths(text))
			text[0] = '\0';
	}
	if (entries)
		(void)closedir(entries);
}

/* The nearest folder above with a speed is the bridge's own. */
static void read_usb(char *folder, char *text)
{
	char speed[SPEED_TEXT_MAX];

	for (; strstr(folder, "/usb"); *strrchr(folder, '/') = '\0') {
		if (sysfs_read_text(speed, sizeof(speed), folder, "/speed") < 0 || !tenths(speed))
			continue;
		(void)snprintf(text, BLOCKLINK_TEXT_MAX, "%.20s Mbps USB", speed);
		return;
	}
}

void blocklink_read(const char *root, const char *folder, const char *name, char *text, bool *is_degraded)
{
	char path[PATH_MAX];

	text[0] = '\0';
	*is_degraded = false;
	(void)snprintf(path, sizeof(path), "%s", folder);
	if (strstr(path, "/nvme/"))
		read_nvme(root, path, text, is_degraded);
	else if (strstr(path, "/usb"))
		read_usb(path, text);
	else if (strstr(path, "/end_device-"))
		read_sas(root, path, text);
	else if (strstr(path, "/ata"))
		read_sata(root, path, name, text, is_degraded);
}

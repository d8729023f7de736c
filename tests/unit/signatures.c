/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signatures.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define UUID	  "6f3f1c2a-1b7d-4c5e-9a10-0123456789ab"
#define RAID_UUID "6f3f1c2a-1b7d-4c5e-9a10-0123456789ab"

static const unsigned char uuid[16] = { 0x6f, 0x3f, 0x1c, 0x2a, 0x1b, 0x7d, 0x4c, 0x5e, 0x9a, 0x10, 0x01,
	0x23, 0x45, 0x67, 0x89, 0xab };

static void put(int fd, uint64_t at, const void *bytes, size_t count)
{
	if (pwrite(fd, bytes, count, (off_t)at) != (ssize_t)count) {
		perror("signature");
		abort();
	}
}

static void put_text(int fd, uint64_t at, const char *text)
{
	put(fd, at, text, strlen(text));
}

static void put_number(int fd, uint64_t at, uint64_t value, unsigned bytes, bool is_big)
{
	unsigned char out[8];

	for (unsigned i = 0; i < bytes; i++)
		out[is_big ? bytes - 1 - i : i] = (unsigned char)(value >> (8 * i));
	put(fd, at, out, bytes);
}

static void put_le(int fd, uint64_t at, uint64_t value, unsigned bytes)
{
	put_number(fd, at, value, bytes, false);
}

struct number {
	unsigned at;
	uint64_t value;
	unsigned bytes;
};

static void put_numbers(int fd, uint64_t base, const struct number *numbers, size_t count, bool is_big)
{
	for (size_t i = 0; i < count; i++)
		put_number(fd, base + numbers[i].at, numbers[i].value, numbers[i].bytes, is_big);
}

#define PUT_NUMBERS(fd, base, is_big, ...)                                                                   \
	do {                                                                                                 \
		const struct number numbers_[] = { __VA_ARGS__ };                                            \
		put_numbers(fd, base, numbers_, sizeof(numbers_) / sizeof(numbers_[0]), is_big);             \
	} while (0)

static void put_ext2(int fd, uint64_t disk_bytes)
{
	PUT_NUMBERS(fd, 1024, false, { 4, disk_bytes / 1024, 4 }, { 56, 0xef53, 2 }, { 76, 1, 4 });
	put(fd, 1024 + 104, uuid, 16);
	put_text(fd, 1024 + 120, "holiday photos");
}

static void put_xfs(int fd, uint64_t disk_bytes)
{
	(void)disk_bytes;
	put_text(fd, 0, "XFSB");
	PUT_NUMBERS(fd, 0, true, { 4, 4096, 4 }, { 8, 4096, 8 }, { 80, 1, 4 }, { 84, 1024, 4 }, { 88, 4, 4 },
		{ 96, 1000, 4 }, { 100, 0x4, 2 }, { 102, 512, 2 }, { 104, 512, 2 }, { 106, 8, 2 },
		{ 120, 12, 1 }, { 121, 9, 1 }, { 122, 9, 1 }, { 123, 3, 1 }, { 124, 10, 1 }, { 127, 25, 1 });
	put(fd, 32, uuid, 16);
}

static void put_btrfs(int fd, uint64_t disk_bytes)
{
	(void)disk_bytes;
	put(fd, 65536 + 32, uuid, 16);
	put_text(fd, 65536 + 64, "_BHRfS_M");
	put_le(fd, 65536 + 144, 4096, 4); /* sector size */
}

static void put_swap(int fd, uint64_t disk_bytes)
{
	put_le(fd, 1024, 1, 4);
	put_le(fd, 1028, disk_bytes / 4096 - 1, 4);
	put(fd, 1024 + 12, uuid, 16);
	put_text(fd, 4086, "SWAPSPACE2");
}

static void put_luks(int fd, unsigned version)
{
	put(fd, 0, "LUKS\xba\xbe", 6);
	put_number(fd, 6, version, 2, true);
	if (version == 2)
		put_number(fd, 8, 16384, 8, true);
	put_text(fd, 168, UUID);
}

static void put_luks1(int fd, uint64_t disk_bytes)
{
	(void)disk_bytes;
	put_luks(fd, 1);
}

static void put_luks2(int fd, uint64_t disk_bytes)
{
	(void)disk_bytes;
	put_luks(fd, 2);
}

static void put_lvm2(int fd, uint64_t disk_bytes)
{
	(void)disk_bytes;
	put_text(fd, 512, "LABELONE");
	put_le(fd, 512 + 8, 1, 8);
	put_le(fd, 512 + 20, 32, 4);
	put_text(fd, 512 + 24, "LVM2 001");
	put_text(fd, 512 + 32, "AbCdEfGhIjKlMnOpQrStUvWxYz012345");
}

static void put_md_090(int fd, uint64_t disk_bytes)
{
	uint64_t at = (disk_bytes & ~65535ULL) - 65536;

	PUT_NUMBERS(fd, at, false, { 0, 0xa92b4efc, 4 }, { 8, 90, 4 }, { 20, 0x6f3f1c2a, 4 },
		{ 52, 0x1b7d4c5e, 4 }, { 56, 0x9a100123, 4 }, { 60, 0x456789ab, 4 });
}

static void put_md_1(int fd, uint64_t at)
{
	PUT_NUMBERS(fd, at, false, { 0, 0xa92b4efc, 4 }, { 4, 1, 4 }, { 128 + 16, at / 512, 8 });
	put(fd, at + 16, uuid, 16);
	put_text(fd, at + 32, "host:array");
}

static void put_md_10(int fd, uint64_t disk_bytes)
{
	put_md_1(fd, (disk_bytes - 8192) & ~4095ULL);
}

static void put_md_11(int fd, uint64_t disk_bytes)
{
	(void)disk_bytes;
	put_md_1(fd, 0);
}

static void put_md_12(int fd, uint64_t disk_bytes)
{
	(void)disk_bytes;
	put_md_1(fd, 4096);
}

static void put_zfs(int fd, uint64_t disk_bytes)
{
	uint64_t labels[] = { 0, 256 << 10, disk_bytes - (512 << 10), disk_bytes - (256 << 10) };

	for (size_t i = 0; i < 4; i++)
		for (unsigned block = 0; block < 8; block++)
			put_le(fd, labels[i] + (128 << 10) + block * 1024, 0x00bab10c, 8);
}

static void put_bcache(int fd, uint64_t disk_bytes)
{
	(void)disk_bytes;
	put_le(fd, 4096 + 8, 8, 8);
	put_le(fd, 4096 + 16, 1, 8); /* a backing device */
	put(fd, 4096 + 24, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81", 16);
	put(fd, 4096 + 40, uuid, 16);
}

static void put_vfat(int fd, uint64_t disk_bytes)
{
	put(fd, 0, "\xeb\x3c\x90mkfs.fat", 11);
	PUT_NUMBERS(fd, 0, false, { 11, 512, 2 }, { 13, 4, 1 }, { 14, 4, 2 }, { 16, 2, 1 }, { 17, 512, 2 },
		{ 21, 0xf8, 1 }, { 22, 32, 2 }, { 32, disk_bytes / 512, 4 }, { 38, 0x29, 1 },
		{ 39, 0x1234abcd, 4 }, { 510, 0xaa55, 2 });
	put_text(fd, 43, "CAMERA     FAT16   ");
	put_text(fd, (4 + 2 * 32) * 512, "CAMERA     \x08");
}

static void put_ntfs(int fd, uint64_t disk_bytes)
{
	put(fd, 0, "\xeb\x52\x90NTFS    ", 11);
	PUT_NUMBERS(fd, 0, false, { 11, 512, 2 }, { 13, 8, 1 }, { 21, 0xf8, 1 },
		{ 40, disk_bytes / 512 - 1, 8 }, { 48, 4, 8 }, { 56, 2, 8 }, { 64, 0xf6, 1 }, { 68, 1, 1 },
		{ 72, 0x0123456789abcdef, 8 }, { 510, 0xaa55, 2 });
	for (unsigned record = 0; record < 4; record++) {
		put_text(fd, 4 * 4096 + record * 1024, "FILE");
		put_text(fd, 2 * 4096 + record * 1024, "FILE");
	}
}

static void put_iso9660(int fd, uint64_t disk_bytes)
{
	(void)disk_bytes;
	put(fd, 32768, "\1CD001\1", 7);
	put_text(fd, 32768 + 40, "INSTALLER");
}

static void put_msdos(int fd, uint64_t disk_bytes)
{
	put_le(fd, 440, 0xdeadbeef, 4);
	PUT_NUMBERS(fd, 446, false, { 4, 0x83, 1 }, { 8, 2048, 4 }, { 12, disk_bytes / 512 - 2048, 4 });
	put_le(fd, 510, 0xaa55, 2);
}

static void put_bsd(int fd, uint64_t disk_bytes)
{
	(void)disk_bytes;
	put_le(fd, 512, 0x82564557, 4);
	put_le(fd, 512 + 132, 0x82564557, 4);
	put_le(fd, 512 + 136, 1, 2); /* checksum */
	put_le(fd, 512 + 138, 1, 2); /* partitions */
}

static void put_intel_raid(int fd, uint64_t disk_bytes)
{
	put_text(fd, disk_bytes - 1024, "Intel Raid ISM Cfg Sig. 1.0.00");
}

void signature_put_gpt(int fd, uint64_t disk_bytes, unsigned partitions, int is_primary)
{
	static unsigned char entries[128][128];
	static const unsigned char linux_data[16] = { 0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47, 0x8e,
		0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4 };
	uint64_t last = disk_bytes / 512 - 1, at = is_primary ? 1 : last, table = is_primary ? 2 : last - 32;
	unsigned char header[512] = "EFI PART";
	uint32_t sum;

	memset(entries, 0, sizeof(entries));
	for (unsigned i = 0; i < partitions; i++) {
		uint64_t first = 2048 + i * 128, end = first + 127;
		char name[24];

		memcpy(entries[i], linux_data, 16);
		memcpy(entries[i] + 16, uuid, 16);
		entries[i][16] = (unsigned char)i;
		memcpy(entries[i] + 32, &first, 8);
		memcpy(entries[i] + 40, &end, 8);
		(void)snprintf(name, sizeof(name), "part-%u", i + 1);
		for (size_t c = 0; name[c]; c++)
			entries[i][56 + 2 * c] = (unsigned char)name[c];
	}
	put(fd, table * 512, entries, sizeof(entries));
	sum = (uint32_t)crc32(0, entries[0], sizeof(entries));
	memcpy(header + 88, &sum, 4);
	memcpy(header + 8, "\0\0\1\0\x5c\0\0\0", 8);
	memcpy(header + 24, &at, 8);
	memcpy(header + 32, &(uint64_t){ is_primary ? last : 1 }, 8);
	memcpy(header + 40, &(uint64_t){ 34 }, 8);
	memcpy(header + 48, &(uint64_t){ last - 33 }, 8);
	memcpy(header + 56, uuid, 16);
	memcpy(header + 72, &table, 8);
	memcpy(header + 80, &(uint32_t){ 128 }, 4);
	memcpy(header + 84, &(uint32_t){ 128 }, 4);
	sum = (uint32_t)crc32(0, header, 92);
	memcpy(header + 16, &sum, 4);
	put(fd, at * 512, header, sizeof(header));
	if (is_primary) {
		PUT_NUMBERS(fd, 446, false, { 4, 0xee, 1 }, { 8, 1, 4 }, { 12, last, 4 });
		put_le(fd, 510, 0xaa55, 2);
	}
}

static void put_gpt(int fd, uint64_t disk_bytes)
{
	signature_put_gpt(fd, disk_bytes, 0, 0);
	signature_put_gpt(fd, disk_bytes, 0, 1);
}

static void put_gpt_partitions(int fd, uint64_t disk_bytes)
{
	signature_put_gpt(fd, disk_bytes, 3, 0);
	signature_put_gpt(fd, disk_bytes, 3, 1);
}

static void put_gpt_backup(int fd, uint64_t disk_bytes)
{
	signature_put_gpt(fd, disk_bytes, 3, 0);
}

const struct signature signatures[] = {
	{ "ext2", put_ext2, "holds ext2 filesystem \"holiday photos\", UUID " UUID, UUID },
	{ "xfs", put_xfs, "holds xfs filesystem, UUID " UUID, UUID },
	{ "btrfs", put_btrfs, "holds btrfs filesystem, UUID " UUID, UUID },
	{ "swap", put_swap, "holds swap other, UUID " UUID, UUID },
	{ "luks1", put_luks1, "holds crypto_LUKS crypto, UUID " UUID, UUID },
	{ "luks2", put_luks2, "holds crypto_LUKS crypto, UUID " UUID, UUID },
	{ "lvm2", put_lvm2, "holds LVM2_member raid, UUID AbCdEf-GhIj-KlMn-OpQr-StUv-WxYz-012345",
		"AbCdEf-GhIj-KlMn-OpQr-StUv-WxYz-012345" },
	{ "md-0.90", put_md_090, "holds linux_raid_member raid, UUID ", "" },
	{ "md-1.0", put_md_10, "holds linux_raid_member raid \"host:array\", UUID " RAID_UUID, RAID_UUID },
	{ "md-1.1", put_md_11, "holds linux_raid_member raid \"host:array\", UUID " RAID_UUID, RAID_UUID },
	{ "md-1.2", put_md_12, "holds linux_raid_member raid \"host:array\", UUID " RAID_UUID, RAID_UUID },
	{ "zfs", put_zfs, "holds zfs_member filesystem", "" },
	{ "bcache", put_bcache, "holds bcache other, UUID " UUID, UUID },
	{ "vfat", put_vfat, "holds vfat filesystem \"CAMERA\", UUID 1234-ABCD", "1234-ABCD" },
	{ "ntfs", put_ntfs, "holds ntfs filesystem, UUID 0123456789ABCDEF", "0123456789ABCDEF" },
	{ "iso9660", put_iso9660, "holds iso9660 filesystem \"INSTALLER\"", "INSTALLER" },
	{ "intel-raid", put_intel_raid, "holds isw_raid_member raid", "" },
	{ "gpt", put_gpt, "holds gpt partition table", "" },
	{ "gpt-partitions", put_gpt_partitions, "holds 3 partitions (gpt)", "part-3" },
	{ "gpt-backup-only", put_gpt_backup, "holds gpt partition table", "part-2" },
	{ "msdos", put_msdos, "holds dos partition table, UUID deadbeef", "deadbeef-01" },
	{ "bsd", put_bsd, "holds 0 partitions (bsd)", "" },
};

const size_t signature_count = sizeof(signatures) / sizeof(signatures[0]);

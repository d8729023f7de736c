/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a disk holds, on disks that are files in memory. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "signatures.h"
#include "target/guard.h"

#define MIB	   (1ULL << 20)
#define DISK_BYTES (64 * MIB)

static int disk_new(uint64_t bytes)
{
	int fd = memfd_create("disk", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	return fd;
}

static void disk_fill(int fd, uint64_t from, uint64_t bytes)
{
	static unsigned char block[4096];

	memset(block, 0x5a, sizeof(block));
	for (uint64_t at = from; at < from + bytes; at += sizeof(block))
		assert_int_equal(pwrite(fd, block, sizeof(block), (off_t)at), sizeof(block));
}

static const struct guard_finding *find(const struct guard_report *report, const char *words)
{
	for (unsigned i = 0; i < report->count; i++)
		if (strstr(report->findings[i].text, words))
			return &report->findings[i];
	return NULL;
}

static void expect(const struct guard_report *report, enum guard_severity severity, const char *words)
{
	const struct guard_finding *finding = find(report, words);
	char hard[2000], soft[2000];

	guard_report_text(report, GUARD_HARD, hard, sizeof(hard));
	guard_report_text(report, GUARD_SOFT, soft, sizeof(soft));
	if (!finding)
		fail_msg("no finding \"%s\" among hard: %s / soft: %s", words, hard, soft);
	else
		assert_int_equal(finding->severity, severity);
}

static bool is_known_by(const struct guard_contents *contents, const char *name)
{
	for (unsigned i = 0; i < contents->uuid_count; i++)
		if (strcmp(contents->uuids[i], name) == 0)
			return true;
	return false;
}

static void test_an_empty_disk_has_no_findings(void **state)
{
	static const uint64_t sizes[] = { DISK_BYTES, MIB, MIB / 2, 3 * MIB + 512, 5 * MIB + 4096 + 512 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct guard_report report = { .count = 0 };
		struct guard_contents contents = { .uuid_count = 7 };
		int fd = disk_new(sizes[i]);

		guard_check_contents(fd, sizes[i], &contents, &report);
		assert_int_equal(report.count, 0);
		assert_int_equal(contents.uuid_count, 0);
		assert_true(contents.nonzero_share <= 0);
		(void)close(fd);
	}
}

static void test_every_signature_is_named_and_never_refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < signature_count; i++) {
		struct guard_report report = { .count = 0 };
		struct guard_contents contents;
		int fd = disk_new(DISK_BYTES);

		signatures[i].put(fd, DISK_BYTES);
		guard_check_contents(fd, DISK_BYTES, &contents, &report);
		print_message("%s\n", signatures[i].name);
		expect(&report, GUARD_SOFT, signatures[i].words);
		expect(&report, GUARD_SOFT, "MiB not empty");
		assert_false(guard_report_is_refused(&report));
		if (signatures[i].uuid[0])
			assert_true(is_known_by(&contents, signatures[i].uuid));
		(void)close(fd);
	}
}

static const struct signature *signature_find(const char *name)
{
	for (size_t i = 0; i < signature_count; i++)
		if (strcmp(signatures[i].name, name) == 0)
			return &signatures[i];
	fail_msg("no signature %s", name);
	return NULL;
}

/* A disk with a history: the tools' first answer is not all of it. */
static void test_all_of_several_signatures_are_named(void **state)
{
	static const char *const names[] = { "ext2", "swap", "md-1.2", "gpt-backup-only", "zfs", "btrfs",
		"lvm2" };
	struct guard_report report = { .count = 0 };
	int fd = disk_new(DISK_BYTES);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		signature_find(names[i])->put(fd, DISK_BYTES);
	guard_check_contents(fd, DISK_BYTES, NULL, &report);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		expect(&report, GUARD_SOFT, signature_find(names[i])->words);
	assert_false(guard_report_is_refused(&report));
	(void)close(fd);
}

static void test_what_partitions_hold_is_named_with_its_uuids(void **state)
{
	struct guard_report report = { .count = 0 };
	struct guard_contents contents;
	int fd = disk_new(DISK_BYTES), part = disk_new(DISK_BYTES);
	unsigned char block[65536];

	(void)state;
	signature_put_gpt(fd, DISK_BYTES, 2, 1);
	signature_put_gpt(fd, DISK_BYTES, 2, 0);
	signature_find("luks1")->put(part, 65536);
	assert_int_equal(pread(part, block, sizeof(block), 0), sizeof(block));
	assert_int_equal(pwrite(fd, block, sizeof(block), MIB + 65536), sizeof(block));
	guard_check_contents(fd, DISK_BYTES, &contents, &report);
	expect(&report, GUARD_SOFT, "holds 2 partitions (gpt)");
	expect(&report, GUARD_SOFT,
		"holds in partition 2 (part-2) crypto_LUKS crypto, UUID "
		"6f3f1c2a-1b7d-4c5e-9a10-0123456789ab");
	assert_true(is_known_by(&contents, "part-1"));
	assert_true(is_known_by(&contents, "2a1c3f01-7d1b-5e4c-9a10-0123456789ab")); /* PARTUUID of 2 */
	assert_true(is_known_by(&contents, "6f3f1c2a-1b7d-4c5e-9a10-0123456789ab"));
	(void)close(part);
	(void)close(fd);
}

static void test_more_names_than_can_be_kept_refuse(void **state)
{
	struct guard_report report = { .count = 0 };
	int fd = disk_new(DISK_BYTES);

	(void)state;
	signature_put_gpt(fd, DISK_BYTES, 128, 1);
	signature_put_gpt(fd, DISK_BYTES, 128, 0);
	signature_find("ext2")->put(fd, DISK_BYTES);
	guard_check_contents(fd, DISK_BYTES, NULL, &report);
	expect(&report, GUARD_HARD, "more than 256 labels and UUIDs");
	(void)close(fd);
}

static void test_data_without_a_signature_is_found_where_it_lies(void **state)
{
	static const struct {
		uint64_t disk_bytes, from, bytes;
		const char *words;
		double share, tolerance;
	} rows[] = {
		{ DISK_BYTES, 0, 4096, "its first MiB not empty", 0, 0.001 },
		{ DISK_BYTES, DISK_BYTES - 4096, 4096, "its last MiB not empty", 0, 0.001 },
		{ DISK_BYTES, 32 * MIB, MIB, "sampled blocks", 1.0 / 64, 0.005 },
		{ DISK_BYTES, 8 * MIB, 32 * MIB, "holds data in 50.0 % of 4096 sampled blocks", 0.5, 0.001 },
		{ 16 * MIB, 8 * MIB, 5 * 4096ULL, "holds data in 0.1 % of 4096", 5.0 / 4096, 1e-9 },
		{ 16 * MIB, 8 * MIB, 4 * 4096ULL, NULL, 4.0 / 4096, 1e-9 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct guard_report report = { .count = 0 };
		struct guard_contents contents;
		int fd = disk_new(rows[i].disk_bytes);

		disk_fill(fd, rows[i].from, rows[i].bytes);
		guard_check_contents(fd, rows[i].disk_bytes, &contents, &report);
		if (rows[i].words)
			expect(&report, GUARD_SOFT, rows[i].words);
		assert_int_equal(report.count, rows[i].words != NULL);
		assert_true(contents.nonzero_share <= rows[i].share + rows[i].tolerance);
		assert_true(contents.nonzero_share >= rows[i].share - rows[i].tolerance);
		(void)close(fd);
	}
}

static uint64_t digest_of(int fd)
{
	struct guard_report report = { .count = 0 };
	struct guard_contents contents;

	guard_check_contents(fd, DISK_BYTES, &contents, &report);
	return contents.digest;
}

static void test_the_digest_is_of_both_edges(void **state)
{
	int fd = disk_new(DISK_BYTES);
	uint64_t empty = digest_of(fd), head, both;

	(void)state;
	disk_fill(fd, 32 * MIB, MIB);
	assert_true(digest_of(fd) == empty);
	disk_fill(fd, MIB - 4096, 4096);
	head = digest_of(fd);
	assert_true(head != empty);
	assert_true(digest_of(fd) == head);
	disk_fill(fd, DISK_BYTES - MIB, 4096);
	both = digest_of(fd);
	assert_true(both != head && both != empty);
	(void)close(fd);
}

static void test_what_can_not_be_read_refuses(void **state)
{
	struct guard_report report = { .count = 0 };
	int fd = disk_new(DISK_BYTES);

	(void)state;
	guard_check_contents(fd, DISK_BYTES + MIB, NULL, &report);
	expect(&report, GUARD_HARD, "it ends before its capacity");
	report.count = 0;
	guard_check_contents(-1, DISK_BYTES, NULL, &report);
	expect(&report, GUARD_HARD, "can't be read: Bad file descriptor");
	report.count = 0;
	guard_check_contents(fd, 512, NULL, &report);
	expect(&report, GUARD_HARD, "has only 512 bytes");
	(void)close(fd);
}

/* The run writes through the same descriptor afterwards. */
static void test_direct_io_is_on_again_afterwards(void **state)
{
	struct guard_report report = { .count = 0 };
	char name[] = "guard-direct-XXXXXX";
	int plain = mkstemp(name), fd = open(name, O_RDWR | O_DIRECT | O_CLOEXEC);

	(void)state;
	assert_int_equal(unlink(name), 0);
	if (fd < 0)
		skip();
	assert_int_equal(ftruncate(plain, 4 * MIB), 0);
	signature_find("ext2")->put(plain, 4 * MIB);
	assert_int_equal(fsync(plain), 0);
	guard_check_contents(fd, 4 * MIB, NULL, &report);
	expect(&report, GUARD_SOFT, signature_find("ext2")->words);
	assert_false(guard_report_is_refused(&report));
	assert_true(fcntl(fd, F_GETFL) & O_DIRECT);
	(void)close(fd);
	(void)close(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_disk_has_no_findings),
		cmocka_unit_test(test_every_signature_is_named_and_never_refuses),
		cmocka_unit_test(test_all_of_several_signatures_are_named),
		cmocka_unit_test(test_what_partitions_hold_is_named_with_its_uuids),
		cmocka_unit_test(test_more_names_than_can_be_kept_refuse),
		cmocka_unit_test(test_data_without_a_signature_is_found_where_it_lies),
		cmocka_unit_test(test_the_digest_is_of_both_edges),
		cmocka_unit_test(test_what_can_not_be_read_refuses),
		cmocka_unit_test(test_direct_io_is_on_again_afterwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

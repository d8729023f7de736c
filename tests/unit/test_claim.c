/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Consent: what is written is what is read, damage is no consent, and who may start or go on with it. */
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "target/claim.h"

/* The contents are known to be the run's own. */
#define OWN	 99
#define ARMED_MS 1796000000000LL

static char base[PATH_MAX];

static int folder_setup(void **state)
{
	char name[64];

	(void)state;
	(void)snprintf(name, sizeof(name), "claim-test-%d", (int)getpid());
	return mkdir(name, 0755) || !realpath(name, base);
}

static int folder_teardown(void **state)
{
	char command[PATH_MAX + 16];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

static struct claim claim_make(void)
{
	return (struct claim){
		.drive = "cand",
		.identity = {
			.serial = "S5H2NS0N123456K",
			.wwid = "eui.0025385b01234567",
			.model = "Some SSD 1TB",
			.capacity_bytes = 1000204886016,
			.backing_device = 65,
			.backing_inode = 4711,
		},
		.armed_ms = ARMED_MS,
		.expires_ms = ARMED_MS + CLAIM_TTL_MS,
		.taken_ms = ARMED_MS + 5,
		.contents = { .digest = 0xfedcba9876543210, .nonzero_ppm = 777777 },
		.by = "uid 0 (root)",
		.run = "cand-20261201T020636Z",
	};
}

static void test_what_is_written_is_read(void **state)
{
	struct claim claim = claim_make(), back;
	char why[CLAIM_WHY_MAX] = "", path[PATH_MAX + 64];
	struct stat st;

	(void)state;
	assert_int_equal(claim_read(base, "cand", &back, why), -ENOENT);
	assert_non_null(strstr(why, "drivesoak arm cand"));
	assert_int_equal(claim_write(base, &claim, why), 0);
	assert_int_equal(claim_read(base, "cand", &back, why), 0);
	assert_string_equal(back.drive, claim.drive);
	assert_string_equal(back.identity.serial, claim.identity.serial);
	assert_string_equal(back.identity.wwid, claim.identity.wwid);
	assert_string_equal(back.identity.model, claim.identity.model);
	assert_string_equal(back.by, claim.by);
	assert_string_equal(back.run, claim.run);
	assert_int_equal(back.identity.capacity_bytes, claim.identity.capacity_bytes);
	assert_int_equal(back.identity.backing_device, 65);
	assert_int_equal(back.identity.backing_inode, 4711);
	assert_int_equal(back.armed_ms, claim.armed_ms);
	assert_int_equal(back.expires_ms, claim.expires_ms);
	assert_int_equal(back.taken_ms, claim.taken_ms);
	assert_int_equal(back.contents.digest, claim.contents.digest);
	assert_int_equal(back.contents.nonzero_ppm, 777777);
	(void)snprintf(path, sizeof(path), "%s/claims/cand.claim", base);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(claim_remove(base, "cand", why), 0);
	assert_int_equal(claim_read(base, "cand", &back, why), -ENOENT);
}

/* Any byte changed, lost or added, and another drive's claim under this name. */
static void test_a_damaged_claim_is_none(void **state)
{
	struct claim claim = claim_make(), back = { .armed_ms = 1 };
	char why[CLAIM_WHY_MAX], path[PATH_MAX + 64], text[4096];
	size_t length;
	FILE *file;

	(void)state;
	assert_int_equal(claim_write(base, &claim, why), 0);
	(void)snprintf(path, sizeof(path), "%s/claims/cand.claim", base);
	file = fopen(path, "r");
	length = fread(text, 1, sizeof(text), file);
	(void)fclose(file);
	for (size_t at = 0; at < length; at++) {
		file = fopen(path, "w");
		text[at] ^= 1;
		assert_int_equal(fwrite(text, 1, length, file), length);
		text[at] ^= 1;
		(void)fclose(file);
		assert_int_equal(claim_read(base, "cand", &back, why), -EBADMSG);
		assert_non_null(strstr(why, "arm the drive again"));
		assert_int_equal(truncate(path, (off_t)at), 0);
		assert_int_equal(claim_read(base, "cand", &back, why), -EBADMSG);
	}
	assert_int_equal(back.armed_ms, 1);
	text_copy(claim.drive, sizeof(claim.drive), "other");
	assert_int_equal(claim_write(base, &claim, why), 0);
	(void)snprintf(text, sizeof(text), "%s/claims/other.claim", base);
	assert_int_equal(rename(text, path), 0);
	assert_int_equal(claim_read(base, "cand", &back, why), -EBADMSG);
	assert_int_equal(claim_remove(base, "cand", why), 0);
}

static void test_who_may_use_it(void **state)
{
	static const struct {
		const char *what, *claim_run, *run;
		int64_t after_ms;
		uint64_t digest_off, new_data_ppm, capacity_off;
		bool is_new;
		int rc;
		const char *why;
	} rows[] = {
		{ "a new run", "", "r1", 1000, 0, 0, 0, true, 0, NULL },
		{ "a moment before it expires", "", "r1", CLAIM_TTL_MS - 1, 0, 0, 0, true, 0, NULL },
		{ "expired", "", "r1", CLAIM_TTL_MS, 0, 0, 0, true, -EPERM, "expired" },
		{ "armed under a wrong clock", "", "r1", -CLAIM_TTL_MS - 1, 0, 0, 0, true, -EPERM,
			"expired" },
		{ "other contents", "", "r1", 1000, 1, 0, 0, true, -EPERM, "other data" },
		{ "data in the middle since", "", "r1", 1000, 0, CLAIM_NEW_DATA_PPM + 1, 0, true, -EPERM,
			"other data" },
		{ "a drive that answers differently for nothing", "", "r1", 1000, 0, CLAIM_NEW_DATA_PPM, 0,
			true, 0, NULL },
		{ "another size", "", "r1", 1000, 0, 0, 512, true, -EPERM, "another drive" },
		{ "used by another run", "r0", "r1", 1000, 0, 0, 0, true, -EPERM, "earlier run" },
		{ "its own run, begun and interrupted", "r1", "r1", 3 * CLAIM_TTL_MS, 0, 0, 0, true, 0,
			NULL },
		{ "its own run goes on, days later", "r1", "r1", 30 * CLAIM_TTL_MS, OWN, 0, 0, false, 0,
			NULL },
		{ "another run goes on", "r0", "r1", 1000, 0, 0, 0, false, -EPERM, "earlier run" },
		{ "a run goes on with a fresh claim", "", "r1", 1000, 0, 0, 0, false, -EPERM,
			"no claim of this run" },
		{ "its own run on another drive", "r1", "r1", 1000, 0, 0, 4096, false, -EPERM,
			"another drive" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct claim claim = claim_make();
		struct claim_contents contents = claim.contents;
		struct identity identity = claim.identity;
		char why[CLAIM_WHY_MAX] = "";

		text_copy(claim.run, sizeof(claim.run), rows[i].claim_run);
		identity.capacity_bytes += rows[i].capacity_off;
		contents.digest += rows[i].digest_off;
		contents.nonzero_ppm += rows[i].new_data_ppm;
		if (claim_judge(&claim, &identity, rows[i].digest_off == OWN ? NULL : &contents, rows[i].run,
			    rows[i].is_new, ARMED_MS + rows[i].after_ms, why) != rows[i].rc)
			fail_msg("%s: %s", rows[i].what, why);
		if (rows[i].why && !strstr(why, rows[i].why))
			fail_msg("%s: says %s", rows[i].what, why);
	}
}

static void test_the_edges_are_kept(void **state)
{
	const uint64_t size = 3 * (uint64_t)CLAIM_EDGE_BYTES + 512;
	char path[PATH_MAX + 64], why[CLAIM_WHY_MAX] = "", *edge = malloc(CLAIM_EDGE_BYTES);
	FILE *drive = tmpfile(), *saved;

	(void)state;
	for (uint64_t at = 0; at < size; at += 512) {
		char block[512];

		memset(block, (int)(at / 512 % 251) + 1, sizeof(block));
		assert_int_equal(fwrite(block, 1, sizeof(block), drive), sizeof(block));
	}
	(void)fflush(drive);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(claim_save_edges(base, "edge", fileno(drive), size, why), 0);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t from = i ? size - CLAIM_EDGE_BYTES : 0;

		(void)snprintf(path, sizeof(path), "%s/claims/edge.%s", base, i ? "tail" : "head");
		saved = fopen(path, "r");
		assert_int_equal(fread(edge, 1, CLAIM_EDGE_BYTES, saved), CLAIM_EDGE_BYTES);
		assert_int_equal(fgetc(saved), EOF);
		(void)fclose(saved);
		for (uint64_t at = 0; at < CLAIM_EDGE_BYTES; at++)
			if ((uint8_t)edge[at] != (from + at) / 512 % 251 + 1)
				fail_msg("byte %llu of %s", (unsigned long long)at, path);
	}
	free(edge);
	(void)fclose(drive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_read),
		cmocka_unit_test(test_a_damaged_claim_is_none),
		cmocka_unit_test(test_who_may_use_it),
		cmocka_unit_test(test_the_edges_are_kept),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}

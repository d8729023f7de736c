/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard-probe [--root TREE] [--state FOLDER] [--looks N] [--pause MS] NAME-OR-PATH: what the guard finds, a line each:
 * "hard TEXT" or "soft TEXT". With --root only a kernel name of the tree is looked at, and no contents. Opens for
 * reading only. Exits 0 without findings, 1 with soft ones, 2 with a hard one.
 * guard-probe --claim STATE DRIVE WHAT: make a good claim "expired", of an "other-drive", "other-contents", "other-run".
 * guard-probe --sign NAME PATH: put a signature on a disk of the test; with a wrong name, list them. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "target/claim.h"
#include "target/guard.h"
#include "tests/unit/signatures.h"

static const char *root = "", *state = "";
static unsigned looks = GUARD_LOOKS;
static uint64_t pause_ns = GUARD_PAUSE_NS;

static int name_of_path(const char *path, char *name, size_t size)
{
	char link[64], resolved[PATH_MAX];
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISBLK(st.st_mode))
		return -ENOTBLK;
	(void)snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(st.st_rdev), minor(st.st_rdev));
	if (!realpath(link, resolved))
		return -errno;
	(void)snprintf(name, size, "%s", strrchr(resolved, '/') + 1);
	return 0;
}

static void check_contents(const char *path, struct guard_contents *contents, struct guard_report *report)
{
	uint64_t bytes = 0;
	int fd = open(path, O_RDONLY | O_EXCL | O_DIRECT | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, BLKGETSIZE64, &bytes) < 0)
		guard_report_add(report, GUARD_HARD, "can't be opened exclusively: %s", strerror(errno));
	else
		guard_check_contents(fd, bytes, contents, report);
	if (fd >= 0)
		(void)close(fd);
}

static void check(const char *path, struct guard_report *report)
{
	static struct guard_contents contents;
	const char *uuids[GUARD_UUIDS_MAX + 1] = { NULL };
	char name[64];
	int rc = 0;

	if (root[0])
		(void)snprintf(name, sizeof(name), "%s", path);
	else
		rc = name_of_path(path, name, sizeof(name));
	if (rc < 0) {
		guard_report_add(report, GUARD_HARD, "%s: %s", path, strerror(-rc));
		return;
	}
	guard_check_use(root, name, state, report);
	if (!root[0])
		check_contents(path, &contents, report);
	for (unsigned i = 0; i < contents.uuid_count; i++)
		uuids[i] = contents.uuids[i];
	guard_check_tables(root, name, uuids, report);
	guard_check_openers(root, name, looks, pause_ns, report);
	(void)printf("digest %016llx\n", (unsigned long long)contents.digest);
}

static int sign(const char *name, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	off_t bytes = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	for (size_t i = 0; i < signature_count && bytes > 0; i++)
		if (strcmp(signatures[i].name, name) == 0) {
			signatures[i].put(fd, (uint64_t)bytes);
			return fsync(fd) < 0 || close(fd) < 0;
		}
	for (size_t i = 0; i < signature_count; i++)
		(void)printf("%s\t%s\n", signatures[i].name, signatures[i].words);
	return 64;
}

static int claim_change(const char *folder, const char *drive, const char *what)
{
	char why[CLAIM_WHY_MAX];
	struct claim claim;

	if (claim_read(folder, drive, &claim, why) < 0)
		return 1;
	if (strcmp(what, "expired") == 0)
		claim.expires_ms = claim.armed_ms + 1;
	else if (strcmp(what, "other-drive") == 0)
		(void)snprintf(claim.identity.serial, sizeof(claim.identity.serial), "loop:/other.img");
	else if (strcmp(what, "other-contents") == 0)
		claim.contents.digest ^= 1;
	else if (strcmp(what, "other-run") == 0)
		(void)snprintf(claim.run, sizeof(claim.run), "cand-of-yesterday");
	else
		return 64;
	return claim_write(folder, &claim, why) < 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "root", required_argument, NULL, 'r' },
		{ "state", required_argument, NULL, 's' },
		{ "looks", required_argument, NULL, 'l' },
		{ "pause", required_argument, NULL, 'p' },
		{ 0 },
	};
	static struct guard_report report;
	int c;

	if (argc == 4 && strcmp(argv[1], "--sign") == 0)
		return sign(argv[2], argv[3]);
	if (argc == 5 && strcmp(argv[1], "--claim") == 0)
		return claim_change(argv[2], argv[3], argv[4]);
	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (c == 'r')
			root = optarg;
		else if (c == 's')
			state = optarg;
		else if (c == 'l')
			looks = (unsigned)atoi(optarg);
		else if (c == 'p')
			pause_ns = (uint64_t)atoi(optarg) * 1000000;
		else
			return 64;
	}
	if (optind + 1 != argc)
		return 64;
	check(argv[optind], &report);
	for (unsigned i = 0; i < report.count; i++)
		(void)printf("%s %s\n", report.findings[i].severity == GUARD_HARD ? "hard" : "soft",
			report.findings[i].text);
	return guard_report_is_refused(&report) ? 2 : report.count ? 1 : 0;
}

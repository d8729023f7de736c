/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/text.h"

#define CLAIM_TITLE    "drivesoak claim: this drive may be overwritten"
#define CLAIM_TEXT_MAX 4096
#define PATH_LENGTH    700

/* The text fields of a claim: what is written is what is read. */
static const struct {
	const char *key;
	size_t offset, size;
} text_fields[] = {
	{ "drive", offsetof(struct claim, drive), sizeof(((struct claim *)NULL)->drive) },
	{ "serial", offsetof(struct claim, identity.serial), IDENTITY_TEXT_MAX },
	{ "wwid", offsetof(struct claim, identity.wwid), IDENTITY_TEXT_MAX },
	{ "model", offsetof(struct claim, identity.model), sizeof(((struct identity *)NULL)->model) },
	{ "by", offsetof(struct claim, by), sizeof(((struct claim *)NULL)->by) },
	{ "run", offsetof(struct claim, run), sizeof(((struct claim *)NULL)->run) },
};
static const struct {
	const char *key;
	size_t offset;
} number_fields[] = {
	{ "capacity_bytes", offsetof(struct claim, identity.capacity_bytes) },
	{ "backing_device", offsetof(struct claim, identity.backing_device) },
	{ "backing_inode", offsetof(struct claim, identity.backing_inode) },
	{ "armed_ms", offsetof(struct claim, armed_ms) },
	{ "expires_ms", offsetof(struct claim, expires_ms) },
	{ "taken_ms", offsetof(struct claim, taken_ms) },
	{ "digest", offsetof(struct claim, contents.digest) },
	{ "nonzero_ppm", offsetof(struct claim, contents.nonzero_ppm) },
};

#define TEXT_FIELDS   (sizeof(text_fields) / sizeof(text_fields[0]))
#define NUMBER_FIELDS (sizeof(number_fields) / sizeof(number_fields[0]))

static int fail(char *why, int rc, const char *path, const char *what)
{
	(void)snprintf(why, CLAIM_WHY_MAX, "%s: %s", path, what ? what : strerror(-rc));
	return rc;
}

static void path_make(const char *state_directory, const char *drive, const char *ending, char *path)
{
	(void)snprintf(path, PATH_LENGTH, "%s/claims/%s.%s", state_directory, drive, ending);
}

static void claim_print(const struct claim *claim, struct text *out)
{
	text_add(out, CLAIM_TITLE "\n");
	for (size_t i = 0; i < TEXT_FIELDS; i++)
		text_addf(out, "%s=%s\n", text_fields[i].key, (const char *)claim + text_fields[i].offset);
	for (size_t i = 0; i < NUMBER_FIELDS; i++) {
		uint64_t value;

		memcpy(&value, (const char *)claim + number_fields[i].offset, sizeof(value));
		text_addf(out, "%s=%" PRIu64 "\n", number_fields[i].key, value);
	}
	text_addf(out, "checksum=%016" PRIx64 "\n", (uint64_t)XXH3_64bits(text_string(out), out->length));
}

/* The value of the next line, which must be @key's; NULL when it is not. Cuts the line's end off. */
static char *line_take(char **at, const char *key)
{
	size_t length = strlen(key);
	char *line = *at, *end = strchr(line, '\n');

	if (!end || strncmp(line, key, length) != 0 || line[length] != '=')
		return NULL;
	*end = '\0';
	*at = end + 1;
	return line + length + 1;
}

static bool checksum_holds(const char *text)
{
	const char *last = strstr(text, "\nchecksum=");
	char expected[32];

	if (!last)
		return false;
	last++;
	(void)snprintf(expected, sizeof(expected), "checksum=%016" PRIx64 "\n",
		(uint64_t)XXH3_64bits(text, (size_t)(last - text)));
	return strcmp(last, expected) == 0;
}

static int claim_parse(char *text, struct claim *out)
{
	const size_t title = sizeof(CLAIM_TITLE);
	char *at = text + title, *value, *end;

	if (strncmp(text, CLAIM_TITLE "\n", title) != 0 || !checksum_holds(text))
		return -EBADMSG;
	*out = (struct claim){ 0 };
	for (size_t i = 0; i < TEXT_FIELDS; i++) {
		value = line_take(&at, text_fields[i].key);
		if (!value || strlen(value) >= text_fields[i].size)
			return -EBADMSG;
		text_copy((char *)out + text_fields[i].offset, text_fields[i].size, value);
	}
	for (size_t i = 0; i < NUMBER_FIELDS; i++) {
		uint64_t number;

		value = line_take(&at, number_fields[i].key);
		if (!value)
			return -EBADMSG;
		number = strtoull(value, &end, 10);
		if (end == value || *end)
			return -EBADMSG;
		memcpy((char *)out + number_fields[i].offset, &number, sizeof(number));
	}
	return 0;
}

int claim_read(const char *state_directory, const char *drive, struct claim *out, char *why)
{
	char path[PATH_LENGTH], text[CLAIM_TEXT_MAX];
	struct claim claim;
	ssize_t got;
	int fd, rc;

	path_make(state_directory, drive, "claim", path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		(void)snprintf(why, CLAIM_WHY_MAX,
			"is not armed: nothing is written to a device without consent; run: drivesoak arm %s",
			drive);
		return -ENOENT;
	}
	if (fd < 0)
		return fail(why, -errno, path, NULL);
	got = read(fd, text, sizeof(text) - 1);
	rc = -errno;
	(void)close(fd);
	if (got < 0)
		return fail(why, rc, path, NULL);
	text[got] = '\0';
	if (strlen(text) != (size_t)got || claim_parse(text, &claim) < 0 || strcmp(claim.drive, drive) != 0)
		return fail(why, -EBADMSG, path,
			"is damaged or of another drive, so it is no consent; arm the drive again");
	*out = claim;
	return 0;
}

static int folder_make(const char *state_directory, char *why)
{
	char path[PATH_LENGTH];

	(void)snprintf(path, sizeof(path), "%s/claims", state_directory);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return fail(why, -errno, path, NULL);
	return 0;
}

/* Make a name in the folder durable. */
static int folder_sync(const char *state_directory)
{
	char path[PATH_LENGTH];
	int fd, rc = 0;

	(void)snprintf(path, sizeof(path), "%s/claims", state_directory);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(fd) < 0)
		rc = -errno;
	(void)close(fd);
	return rc;
}

/* The whole file or none, durable. */
static int file_write(const char *path, const char *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600), rc = 0;

	if (fd < 0)
		return -errno;
	for (size_t done = 0; done < length && rc == 0;) {
		ssize_t some = write(fd, bytes + done, length - done);

		if (some < 0 && errno != EINTR)
			rc = -errno;
		else if (some > 0)
			done += (size_t)some;
	}
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

int claim_write(const char *state_directory, const struct claim *claim, char *why)
{
	char path[PATH_LENGTH], fresh[PATH_LENGTH];
	struct text text = TEXT_INIT;
	int rc = folder_make(state_directory, why);

	if (rc < 0)
		return rc;
	path_make(state_directory, claim->drive, "claim", path);
	path_make(state_directory, claim->drive, "claim.new", fresh);
	claim_print(claim, &text);
	rc = text_error(&text);
	if (rc == 0)
		rc = file_write(fresh, text_string(&text), text.length);
	if (rc == 0 && rename(fresh, path) < 0)
		rc = -errno;
	if (rc == 0)
		rc = folder_sync(state_directory);
	text_fini(&text);
	return rc < 0 ? fail(why, rc, path, NULL) : 0;
}

/* What an earlier arming saved may be the only copy of it. */
static int earlier_keep(const char *path)
{
	char kept[PATH_LENGTH + 32];
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	(void)snprintf(kept, sizeof(kept), "%s.%lld", path, (long long)st.st_mtime);
	return rename(path, kept) < 0 ? -errno : 0;
}

static int edge_save(const char *path, int fd, uint64_t offset, size_t length)
{
	char *edge = aligned_alloc(4096, CLAIM_EDGE_BYTES);
	int rc = edge ? 0 : -ENOMEM;

	for (size_t done = 0; done < length && rc == 0;) {
		ssize_t some = pread(fd, edge + done, length - done, (off_t)(offset + done));

		if (some <= 0)
			rc = some < 0 ? -errno : -EIO;
		else
			done += (size_t)some;
	}
	if (rc == 0)
		rc = earlier_keep(path);
	if (rc == 0)
		rc = file_write(path, edge, length);
	free(edge);
	return rc;
}

int claim_save_edges(
	const char *state_directory, const char *drive, int fd, uint64_t capacity_bytes, char *why)
{
	const char *const endings[] = { "head", "tail" };
	size_t length = capacity_bytes < CLAIM_EDGE_BYTES ? (size_t)capacity_bytes : CLAIM_EDGE_BYTES;
	int rc = folder_make(state_directory, why);

	for (unsigned i = 0; i < 2 && rc == 0; i++) {
		char path[PATH_LENGTH];

		path_make(state_directory, drive, endings[i], path);
		rc = edge_save(path, fd, i ? capacity_bytes - length : 0, length);
		if (rc < 0)
			return fail(why, rc, path, "the drive's first and last MiB could not be saved");
	}
	if (rc == 0)
		rc = folder_sync(state_directory);
	return rc;
}

int claim_remove(const char *state_directory, const char *drive, char *why)
{
	char path[PATH_LENGTH];

	path_make(state_directory, drive, "claim", path);
	if (unlink(path) < 0)
		return fail(why, -errno, path, NULL);
	return 0;
}

static int refuse(char *why, const char *what)
{
	(void)snprintf(why, CLAIM_WHY_MAX, "%s; run drivesoak arm again", what);
	return -EPERM;
}

int claim_judge(const struct claim *claim, const struct identity *identity,
	const struct claim_contents *contents, const char *run_id, bool is_new, int64_t now_ms, char *why)
{
	bool is_taken = claim->run[0] != '\0', is_own = is_taken && strcmp(claim->run, run_id) == 0;

	if (!identity_is_same(&claim->identity, identity))
		return refuse(why, "was armed as another drive (serial, wwid, model or size differ)");
	if (is_taken && !is_own)
		return refuse(why, "was armed for an earlier run, which has used that up");
	if (!is_new)
		return is_own ? 0 : refuse(why, "has no claim of this run");
	/* One from further ahead than its own life was made under a wrong clock: its age is not known. */
	if (!is_own && (now_ms >= claim->expires_ms || now_ms + CLAIM_TTL_MS < claim->armed_ms))
		return refuse(why, "was armed more than 24 h ago: the claim has expired");
	if (contents && (contents->digest != claim->contents.digest ||
				contents->nonzero_ppm > claim->contents.nonzero_ppm + CLAIM_NEW_DATA_PPM))
		return refuse(why, "holds other data than when it was armed");
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reading_private.h - what the parts of readings share: numbers as pages hold them, readings under a deadline, and the
 * boundary of commands behind which a test puts a drive of its own. */
#ifndef DRIVESOAK_READING_PRIVATE_H
#define DRIVESOAK_READING_PRIVATE_H

#include "probes/reading.h"

void reading_clear(struct reading *reading, enum reading_field field);
/* Little endian, up to 8 bytes. */
uint64_t reading_le(const uint8_t *bytes, size_t count);
unsigned __int128 reading_le128(const uint8_t *bytes);
/* @count units; ends at the largest number of 128 bits, with a note. */
void reading_set_bytes(
	struct reading *reading, enum reading_field field, unsigned __int128 count, uint64_t unit_bytes);
/* A counter of bytes written, READING_HOST_WRITTEN_RAW or READING_MEDIA_WRITTEN_RAW, with its unit (0: not known) and,
 * when that is sure and the sum possible, the bytes. */
void reading_set_written(struct reading *reading, enum reading_field raw, uint64_t count, uint64_t unit_bytes,
	bool is_doubtful);
/* Which page or attribute the counter @raw is; READING_MEDIA_PAGES is one of what went to the flash. */
void reading_set_from(struct reading *reading, enum reading_field raw, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same counters at each reading: where the best that was there before is missing, the one in its place would look
 * like a leap, and is unknown. */
void reading_hold_counters(struct reading_memory *memory, struct reading *reading);
bool reading_is_uniform(const uint8_t *bytes, size_t length, uint8_t value);

/* A reading under a deadline. The kernel can't be told to give up a command sooner without harm (a timeout on the admin
 * queue of an NVMe drive resets the controller, one of an ATA command the link), so commands keep the kernel's time and
 * run on a thread of their own, which is left behind when the deadline has passed. What was read until then is kept. */
struct reading_job;

/* On the job's thread, which holds the job but for the time between these two, around whatever may block.
 * reading_job_wake(): false when nobody waits any more: touch nothing and return. */
void reading_job_sleep(struct reading_job *job);
bool reading_job_wake(struct reading_job *job);
struct reading *reading_job_reading(struct reading_job *job);

/* @work gets @arg, which @arg_free (or NULL) ends when nobody uses it any more. *@out gets what was read until @work
 * returned or the deadline passed; then *@started is to be released, and @arg is the caller's to look at while the job
 * is over. Returns what @work does, or -ETIMEDOUT; -ENOMEM, -EAGAIN: no thread, *@started is NULL and @arg is freed. */
int reading_job_run(int (*work)(struct reading_job *job, void *arg), void *arg, void (*arg_free)(void *arg),
	unsigned deadline_ms, struct reading *out, struct reading_job **started);
bool reading_job_is_over(struct reading_job *job);
void reading_job_release(struct reading_job *job); /* NULL is fine */

/* An earlier reading has still not come back; NULL: none is known of. */
bool reading_memory_is_hung(struct reading_memory *memory);
/* Why no job is begun: -EBUSY with a note while an earlier command hangs, else -ENOMEM. */
int reading_job_refuse(const struct reading_memory *memory, struct reading *out);
/* reading_job_run(), and then: what its work @learnt or the job that is still at it goes into @memory (may be NULL), and
 * a deadline that passed is noted. 0 when a page was read, else -errno. */
int reading_job_read(int (*work)(struct reading_job *job, void *arg), void *arg, void (*arg_free)(void *arg),
	const struct reading_memory *learnt, unsigned deadline_ms, struct reading_memory *memory,
	struct reading *out);

/* One command to an NVMe drive: 0; > 0 the drive's status; -errno. The fields are those of the command. */
struct reading_nvme_log {
	uint8_t page;
	uint32_t nsid;
	uint16_t specific; /* the endurance group */
	void *bytes;
	uint32_t length;
};

struct reading_nvme_port {
	void *arg;
	int (*open)(void *arg);
	int (*identify)(void *arg, uint8_t structure, uint32_t nsid, void *bytes); /* 4096 */
	int (*get_log)(void *arg, const struct reading_nvme_log *log);
	void (*free)(void *arg); /* closes what is open; @arg is gone */
};

/* Read by @port, which is freed in any case; @nsid 0: not known. As reading_read_nvme_known(). */
int reading_nvme_by_port(const struct reading_nvme_port *port, uint32_t nsid, bool wants_error_log,
	unsigned deadline_ms, struct reading_memory *memory, struct reading *out);
/* The controller that serves @node, below @root: "/dev/nvme0" for "/dev/nvme0n1", a live one of several; @node itself
 * where sysfs does not tell. *@nsid as in reading_nvme_by_port(). */
void reading_nvme_find_controller(
	const char *root, const char *node, char *controller, size_t size, uint32_t *nsid);

#endif

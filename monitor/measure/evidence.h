/* SPDX-License-Identifier: GPL-2.0-or-later */
/* evidence.h - what the machine says of the drives beside their own figures: lines of the kernel's log that name them,
 * and counters of sysfs and /proc. One thread of its own reads them when it is asked, so that a file that takes long
 * holds nobody; the conductor takes copies. Decides nothing (cause.h does).
 *
 * A drive has a slot; below a directory there may be several disks, of which the lines are taken together, counts
 * added up, and of the rest the worst is taken. Unknown is EVIDENCE_UNKNOWN, 0 for a speed or a width, "" for a word. */
#ifndef DRIVESOAK_EVIDENCE_H
#define DRIVESOAK_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/kernelline.h"
#include "measure/kernellog.h"
#include "target/blockdev.h"

#define EVIDENCE_UNKNOWN   UINT64_MAX
#define EVIDENCE_WORD_MAX  16
#define EVIDENCE_LINES_MAX 64 /* that wait for the taker; of more the newest are only counted */

/* At one moment. */
struct evidence_counters {
	int64_t stamp;			     /* of evidence_ask() */
	char state[EVIDENCE_WORD_MAX];	     /* of the NVMe controller or SCSI device: "live", "running" */
	uint64_t io_errors, io_timeouts;     /* SCSI counts these, commands of any program */
	unsigned link_speed, link_speed_max; /* tenths of a GT/s or a Gbps */
	unsigned link_width, link_width_max;
	unsigned sata_limit; /* tenths of a Gbps, where the kernel has set one */
	uint64_t aer_correctable, aer_nonfatal, aer_fatal; /* of the drive and its upstream port */
	uint64_t queue_depth;				   /* SCSI: 1 without NCQ */
	char write_cache[EVIDENCE_WORD_MAX];
	char md_action[EVIDENCE_WORD_MAX]; /* of an array that the disk is in: "idle", "resync" */
	uint64_t read_bytes, write_bytes, discard_bytes; /* by anyone */
	uint64_t cpu_pressure_us, io_pressure_us; /* of the machine, PSI "some", since it was started */
	uint64_t io_timeout_ms;
	unsigned disks; /* of which these are the sums */
};

bool evidence_is_well(const char *state); /* also where it is not known */
bool evidence_is_busy(const char *md_action);
/* Of a count: 0 where either is unknown or it went back. */
uint64_t evidence_growth(uint64_t before, uint64_t after);

struct evidence_line {
	uint64_t boot_ns; /* CLOCK_BOOTTIME when it was read, which is when it was said but for a moment */
	enum kernelline_word word;
	struct kernelline line;
};

struct evidence;

struct evidence_setup {
	const char *root;	 /* as in base/sysfs.h; must stay */
	unsigned slots;		 /* numbered from 0 */
	void (*wake)(void *arg); /* called from the thread when a line has come */
	void *wake_arg;
};

/* 0, -errno. That the kernel's log can't be heard is no error: evidence_log_trouble(). */
int evidence_new(const struct evidence_setup *setup, struct evidence **out);
/* End the thread; false when it still hangs after @timeout_ns: it is then left alone. NULL is fine. */
bool evidence_free(struct evidence *evidence, uint64_t timeout_ns);

/* "" or why no line will come, or come any more. */
const char *evidence_log_trouble(const struct evidence *evidence);

/* From now on the slot is of these disks; none: of nothing. What the slot held is forgotten. */
void evidence_watch(struct evidence *evidence, unsigned slot, const struct blockdev *disks, unsigned count);
/* Read the counters of all slots as soon as may be; they will carry @stamp. */
void evidence_ask(struct evidence *evidence, int64_t stamp);
/* The counters as read last; false when there are none. */
bool evidence_get(struct evidence *evidence, unsigned slot, struct evidence_counters *out);
/* The next line that names a disk of the slot, or speaks of the machine; false when there is none. @lost: lines before
 * it that there was no room for. */
bool evidence_next_line(struct evidence *evidence, unsigned slot, struct evidence_line *out, uint64_t *lost);

/* The parts, for the thread and for tests. Where a disk's files are, and its names; may be asked again after a reset. */
#define EVIDENCE_PATH_MAX 1024
#define EVIDENCE_MD_MAX	  4
struct evidence_place {
	char disk[32];
	char folder[EVIDENCE_PATH_MAX]; /* of its device */
	char pci[EVIDENCE_PATH_MAX],
		port[EVIDENCE_PATH_MAX]; /* its PCI function and the port above that; "" */
	char ata_link[64];		 /* below /sys/class/ata_link; "" */
	char md[EVIDENCE_MD_MAX][32];
	struct kernelline_names names;
};
void evidence_find(const char *root, const char *disk, struct evidence_place *out);
void evidence_read(const char *root, const struct evidence_place *place, struct evidence_counters *out);
void evidence_counters_init(struct evidence_counters *counters);
void evidence_counters_merge(struct evidence_counters *sum, const struct evidence_counters *more);
/* Total microseconds of "some" in /proc/pressure/@what. */
uint64_t evidence_read_pressure(const char *root, const char *what);

#endif

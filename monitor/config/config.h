/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config.h - the configuration file as an immutable struct. Decides what a valid file is and tells every mistake
 * of it at once; opens no target and knows no drive. The keys are the rows of config_keys.c: name, type, unit,
 * range, default, documentation; parsing, printing and the manual are checked against them.
 * Read once at start by the main thread; afterwards any thread may read. */
#ifndef DRIVESOAK_CONFIG_H
#define DRIVESOAK_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define CONFIG_DEFAULT_PATH  SYSCONF_DIR "/drivesoak/drivesoak.conf"
#define CONFIG_DEFAULT_STATE "/var/lib/drivesoak"
#define CONFIG_NAME_MAX	     64 /* of a drive or notify title: letters, digits, . _ -, not starting with . or - */
#define CONFIG_DRIVES_MAX    256
#define CONFIG_NOTIFIES_MAX  16

enum config_workload { WORKLOAD_RANDOM_WRITE, WORKLOAD_RANDOM_READ, WORKLOAD_RANDOM_MIXED, WORKLOAD_OBSERVE };
enum config_engine { ENGINE_AUTO, ENGINE_IO_URING, ENGINE_LIBAIO, ENGINE_NULL };
enum config_payload { PAYLOAD_RANDOM, PAYLOAD_ZEROS };
enum config_verify { VERIFY_NEVER, VERIFY_END };
enum config_start { START_AUTO, START_MANUAL };
enum config_settle_rule { SETTLE_SNIA, SETTLE_OFF };
enum config_format { FORMAT_ALERTMANAGER, FORMAT_ALERTMANAGER_API, FORMAT_SLACK, FORMAT_NTFY };

struct config_strings {
	char **items;
	size_t count;
};

/* One drive section. Strings are never NULL; empty means not given. */
struct config_drive {
	char *name, *label, *group;
	char *directory, *device, *serial, *wwid; /* exactly one of directory and device */
	double fill_pct;			  /* 1..95; only when size_bytes is 0 */
	uint64_t size_bytes;			  /* absolute amount instead of fill; 0: not given */
	unsigned files;				  /* 1..4096 */
	enum config_workload workload;
	unsigned read_percent;	   /* 0..100 */
	uint32_t block_bytes;	   /* 4 KiB..1 MiB, a power of two */
	unsigned threads;	   /* 1..256 */
	unsigned queue_depth;	   /* in flight in all; 0: auto */
	uint64_t fsync_every;	   /* writes; 0: never */
	uint64_t rate_bytes_per_s; /* 0: unlimited */
	bool discard;
	uint64_t settle_ns, probe_phase_ns;
	enum config_engine engine;
	enum config_payload payload;
	uint64_t duration_ns;	     /* of the soak; 0: until stopped */
	uint64_t write_budget_bytes; /* 0: not given */
	double wear_limit_pct, spare_floor_pct;
	double max_temp_c;	  /* NAN: auto */
	uint64_t rated_tbw_bytes; /* 0: not given */
	enum config_verify verify;
	enum config_settle_rule settle_rule;
	uint64_t ledger_bytes, max_errors;
	char *probe;
	uint64_t health_interval_ns; /* 0: by kind of drive */
	double price_amount;	     /* NAN: not given */
	char price_currency[8];
	enum config_start start;
	uint64_t slo_min_bytes_per_s, slo_p1_bytes_per_s, slo_p99_ns; /* 0: not given */
};

struct config_notify {
	char *name;
	struct config_strings command;
	char *webhook, *mail_to, *mail_from, *smtp, *ping;
	enum config_format format; /* of the webhook */
	bool smartd_compat;	   /* the command gets what smartd gives its own too */
	uint64_t ping_interval_ns;
};

struct config {
	char *path; /* as given */
	char *state_directory, *runtime_directory;
	uint64_t sample_interval_ns; /* whole seconds, 1 s..300 s */
	struct {
		struct config_strings listen; /* "127.0.0.1:8734", "[::1]:8734"; empty: no web server */
		char *base_path;	      /* begins and ends with / */
		char *token_file;
		struct config_strings allowed_hosts;
	} web;
	struct {
		double collapse_below_pct, recover_above_pct;
		uint64_t collapse_for_ns, stall_after_ns, digest_ns;
		char *repeat;
	} alerts;
	struct config_drive *drives;
	size_t drive_count;
	struct config_notify *notifies;
	size_t notify_count;
	struct config_scan *origins; /* where each value stands; for config_print() */
};

/* Read @path and what it includes. 0 and *@out (config_free() it); or -EINVAL with every mistake in @mistakes,
 * a line each "FILE:LINE: key: what is wrong"; or -errno with one such line when a file cannot be read (-ENOENT,
 * -EACCES) or memory is short. *@out is untouched on failure. */
int config_load(const char *path, struct config **out, struct text *mistakes);
void config_free(struct config *config); /* NULL is fine */

/* The drive of that title; NULL. */
const struct config_drive *config_find_drive(const struct config *config, const char *name);

/* The effective configuration, a key a line with where its value comes from ("# drivesoak.conf:12" or
 * "# default"); reads back to the same config, but for the secrets in URLs, of which *** stands there. */
void config_print(const struct config *config, struct text *out);

/* A drive's keys and effective values as a JSON object, for the run record; numbers in base units with the unit
 * in the key as in the HTTP API ("block_bytes", "duration_s"), names of choices as in the file. */
void config_drive_json(const struct config_drive *drive, uint64_t sample_interval_ns, struct text *out);

/* The keys that define a run (target, fill, size, files, block size, threads, depth, workload, read-percent,
 * fsync, rate, payload, engine, interval) as "key=value" lines in a fixed order. They are frozen while a run
 * lasts: compare with strcmp(). */
void config_drive_frozen(const struct config_drive *drive, uint64_t sample_interval_ns, struct text *out);
/* Whether they are still those of @frozen; @difference gets the first that is not: "was threads=8, is threads=3". */
bool config_drive_keeps_frozen(const struct config_drive *drive, uint64_t sample_interval_ns,
	const char *frozen, char *difference, size_t size);

const char *config_workload_name(enum config_workload workload);
const char *config_engine_name(enum config_engine engine);
const char *config_payload_name(enum config_payload payload);

#endif

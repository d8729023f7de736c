/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_keys.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/config_rules.h"

#define MEMBER(type, member) .offset = offsetof(type, member), .width = sizeof(((type *)NULL)->member)
#define TOP(member)	     MEMBER(struct config, member)
#define DRIVE(member)	     MEMBER(struct config_drive, member)
#define NOTIFY(member)	     MEMBER(struct config_notify, member)

static const char *const workload_names[] = { "random-write", "random-read", "random-mixed", "observe",
	NULL };
static const char *const engine_names[] = { "auto", "io_uring", "libaio", "null", NULL };
static const char *const payload_names[] = { "random", "zeros", NULL };
static const char *const verify_names[] = { "never", "end", NULL };
static const char *const start_names[] = { "auto", "manual", NULL };
static const char *const settle_rule_names[] = { "snia", "off", NULL };
static const char *const format_names[] = { "alertmanager", "alertmanager-api", "slack", "ntfy", NULL };

const struct config_section_row config_sections[CONFIG_SECTION_COUNT] = {
	[CONFIG_TOP] = { "", CONFIG_TOP, .doc = "Keys outside every section." },
	[CONFIG_WEB] = { "web", CONFIG_TOP, .doc = "The page, the HTTP interface and the metrics." },
	[CONFIG_DRIVE] = { "drive", CONFIG_TOP, .titled = true,
		.doc = "A drive to soak; at least one is needed." },
	[CONFIG_SLO] = { "slo", CONFIG_DRIVE, .doc = "Limits of your own; a run that breaks one fails." },
	[CONFIG_ALERTS] = { "alerts", CONFIG_TOP, .doc = "When a fall of throughput is an alert." },
	[CONFIG_NOTIFY] = { "notify", CONFIG_TOP, .titled = true,
		.doc = "Where alerts go; each of command, webhook and mail-to is a channel of its own." },
};

/* clang-format off */
const struct config_key config_keys[] = {
	{ CONFIG_TOP, "state-directory", CONFIG_TEXT, .fallback = CONFIG_DEFAULT_STATE, TOP(state_directory),
		.allowed = "an absolute path", .text_wrong = config_rules_path,
		.doc = "Where runs, samples and archives are kept." },
	{ CONFIG_TOP, "runtime-directory", CONFIG_TEXT, .fallback = "/run/drivesoak", TOP(runtime_directory),
		.allowed = "an absolute path", .text_wrong = config_rules_path,
		.doc = "Where the control socket, control.sock, is made." },
	{ CONFIG_TOP, "sample-interval", CONFIG_DURATION, .min = "1s", .max = "5min", .fallback = "10s",
		TOP(sample_interval_ns), .number_ok = config_rules_whole_seconds,
		.allowed = "in whole seconds",
		.is_frozen = true, .json = "sample_interval_s",
		.doc = "How often throughput and latency are recorded; the ticks fall on its multiples "
		       "in UTC." },
	{ CONFIG_TOP, "include", CONFIG_TEXT, .fallback = "", .absent = "",
		.allowed = "a folder, relative to the folder of this file",
		.text_wrong = config_rules_include,
		.doc = "Reads every *.conf of the folder in C-locale order as if it stood here; only in "
		       "the main file." },

	{ CONFIG_WEB, "listen", CONFIG_LIST, .fallback = "127.0.0.1:8734", TOP(web.listen),
		.allowed = "a list of numeric addresses with a port, such as \"127.0.0.1:8734\" or "
		       "\"[::1]:8734\"",
		.text_wrong = config_rules_listen,
		.doc = "Where the web server listens; with an empty list there is none. "
		       "Port 0 lets the kernel choose; the log says which. "
		       "An address beyond loopback needs token-file." },
	{ CONFIG_WEB, "base-path", CONFIG_TEXT, .fallback = "/", TOP(web.base_path),
		.allowed = "a path of letters, digits and . _ ~ - that begins and ends with /",
		.text_wrong = config_rules_base_path,
		.doc = "The path below which a reverse proxy shows the pages." },
	{ CONFIG_WEB, "token-file", CONFIG_TEXT, .fallback = "", .absent = "", .neutral = { "" },
		TOP(web.token_file),
		.allowed = "an absolute path", .text_wrong = config_rules_path,
		.doc = "A file with the bearer token that requests must carry." },
	{ CONFIG_WEB, "allowed-hosts", CONFIG_LIST, .fallback = "", TOP(web.allowed_hosts),
		.allowed = "a list of host names, with a port or without",
		.text_wrong = config_rules_host,
		.doc = "Host names under which a browser may ask, besides the addresses of listen." },

	{ CONFIG_DRIVE, "directory", CONFIG_TEXT, .fallback = "", .absent = "", DRIVE(directory),
		.allowed = "an absolute path", .text_wrong = config_rules_path, .is_frozen = true,
		.json = "directory",
		.doc = "A folder of its own on the drive's filesystem; only files drivesoak made are "
		       "written there. "
		       "A drive has a directory or a device." },
	{ CONFIG_DRIVE, "device", CONFIG_TEXT, .fallback = "", .absent = "", DRIVE(device),
		.allowed = "a link in /dev/disk/by-id or /dev/disk/by-path, or /dev/loopN",
		.text_wrong = config_rules_device, .is_frozen = true, .json = "device",
		.doc = "The whole block device; everything on it is lost. It needs serial or wwid." },
	{ CONFIG_DRIVE, "serial", CONFIG_TEXT, .fallback = "", .absent = "", DRIVE(serial),
		.allowed = "the serial number that the device reports, or \"loop:FILE\" of a loop device",
		.text_wrong = config_rules_label, .is_frozen = true, .json = "serial",
		.doc = "Must be that of the device, else nothing is written." },
	{ CONFIG_DRIVE, "wwid", CONFIG_TEXT, .fallback = "", .absent = "", DRIVE(wwid),
		.allowed = "the world-wide name that the device reports",
		.text_wrong = config_rules_label, .is_frozen = true, .json = "wwid",
		.doc = "Instead of serial, for a device that reports none." },
	{ CONFIG_DRIVE, "fill", CONFIG_PERCENT, .min = "1%", .max = "95%", .fallback = "75%", DRIVE(fill_pct),
		.is_frozen = true, .json = "fill_pct",
		.doc = "How much of the drive's capacity holds data before the soak begins." },
	{ CONFIG_DRIVE, "size", CONFIG_BYTES, .min = "1MiB", .max = "1024TiB", .fallback = "", .absent = "",
		DRIVE(size_bytes), .is_frozen = true, .json = "size_bytes",
		.doc = "An absolute amount of data instead of fill." },
	{ CONFIG_DRIVE, "files", CONFIG_COUNT, .min = "1", .max = "4096", .fallback = "64", DRIVE(files),
		.is_frozen = true, .json = "files",
		.doc = "Files in the directory that share the data." },
	{ CONFIG_DRIVE, "workload", CONFIG_CHOICE, .choices = workload_names, .fallback = "random-write",
		.neutral = { "random-write", "random-read", "random-mixed" }, DRIVE(workload), .is_frozen = true, .json = "workload",
		.doc = "What the soak does. With observe it does no I/O of its own and watches another "
		       "program's." },
	{ CONFIG_DRIVE, "read-percent", CONFIG_COUNT, .min = "0", .max = "100", .fallback = "60",
		DRIVE(read_percent), .is_frozen = true, .json = "read_percent",
		.doc = "Share of reads of the workload random-mixed." },
	{ CONFIG_DRIVE, "block-size", CONFIG_BYTES, .min = "4KiB", .max = "1MiB", .fallback = "16KiB",
		DRIVE(block_bytes), .number_ok = config_rules_power_of_two, .allowed = "a power of two",
		.is_frozen = true, .json = "block_bytes",
		.doc = "Bytes of one read or write, aligned to its own size." },
	{ CONFIG_DRIVE, "threads", CONFIG_COUNT, .min = "1", .max = "256", .fallback = "8", DRIVE(threads),
		.is_frozen = true, .json = "threads",
		.doc = "Threads that share the queue." },
	{ CONFIG_DRIVE, "queue-depth", CONFIG_COUNT, .min = "1", .max = "16384", .fallback = "auto",
		.absent = "auto",
		DRIVE(queue_depth), .is_frozen = true, .json = "queue_depth",
		.doc = "Requests in flight for the drive in all; auto is 128 for NVMe and 32 for "
		       "everything else. "
		       "Not less than threads." },
	{ CONFIG_DRIVE, "fsync-every", CONFIG_COUNT, .min = "0", .max = "1000000000", .fallback = "0",
		DRIVE(fsync_every), .is_frozen = true, .json = "fsync_every",
		.doc = "Each request in flight is a client that writes so many blocks, then waits for "
		       "fdatasync(), as a database does; 0 is never." },
	{ CONFIG_DRIVE, "rate", CONFIG_BYTES, .min = "4KiB", .max = "1TiB", .fallback = "", .absent = "",
		DRIVE(rate_bytes_per_s), .is_frozen = true, .json = "rate_bytes_per_s",
		.doc = "Most bytes a second; without it the drive is asked for all it can do." },
	{ CONFIG_DRIVE, "discard", CONFIG_BOOL, .fallback = "true", DRIVE(discard), .json = "discard",
		.doc = "Discards the target before it is filled, so that every run begins from the same "
		       "state." },
	{ CONFIG_DRIVE, "settle-time", CONFIG_DURATION, .min = "0", .max = "7d", .fallback = "10min",
		DRIVE(settle_ns), .json = "settle_s",
		.doc = "Idle time after the discard, before the fill." },
	{ CONFIG_DRIVE, "probe-phase", CONFIG_DURATION, .min = "0", .max = "1d", .fallback = "10min",
		DRIVE(probe_phase_ns), .json = "probe_phase_s",
		.doc = "After the soak: depth 1, then open loop at 50, 70 and 90 percent of the settled "
		       "rate, "
		       "each for so long; 0 is none." },
	{ CONFIG_DRIVE, "engine", CONFIG_CHOICE, .choices = engine_names, .fallback = "auto", DRIVE(engine),
		.is_frozen = true, .json = "engine",
		.doc = "How requests are submitted. auto takes io_uring where the kernel allows it, "
		       "else libaio; "
		       "null does no I/O and is for tests." },
	{ CONFIG_DRIVE, "payload", CONFIG_CHOICE, .choices = payload_names, .fallback = "random",
		DRIVE(payload),
		.is_frozen = true, .json = "payload",
		.doc = "What is written: random data that no drive can compress, "
		       "or zeros only to compare with old sysbench figures." },
	{ CONFIG_DRIVE, "duration", CONFIG_DURATION, .min = "0", .max = "3650d", .fallback = "50h",
		DRIVE(duration_ns), .json = "duration_s",
		.doc = "How long the soak lasts; 0 is until it is stopped." },
	{ CONFIG_DRIVE, "write-budget", CONFIG_BYTES, .min = "1MiB", .max = "1048576TiB", .fallback = "",
		.absent = "",
		DRIVE(write_budget_bytes), .json = "write_budget_bytes",
		.doc = "Most bytes the whole run may write." },
	{ CONFIG_DRIVE, "wear-limit", CONFIG_PERCENT, .min = "0%", .max = "100%", .fallback = "5%",
		DRIVE(wear_limit_pct), .json = "wear_limit_pct",
		.doc = "Stops the run when it has added so much to the drive's percentage used." },
	{ CONFIG_DRIVE, "spare-floor", CONFIG_PERCENT, .min = "0%", .max = "100%", .fallback = "10%",
		DRIVE(spare_floor_pct), .json = "spare_floor_pct",
		.doc = "Stops the run when the drive's spare capacity falls below." },
	{ CONFIG_DRIVE, "max-temperature", CONFIG_TEMPERATURE, .min = "30C", .max = "120C",
		.fallback = "auto",
		.absent = "auto", DRIVE(max_temp_c), .json = "max_temp_c",
		.doc = "Pauses the run from there on; auto is the drive's own critical temperature, "
		       "else 85C for NVMe and 70C for SATA." },
	{ CONFIG_DRIVE, "rated-tbw", CONFIG_BYTES, .min = "1GB", .max = "1048576TiB", .fallback = "",
		.absent = "",
		DRIVE(rated_tbw_bytes), .json = "rated_tbw_bytes",
		.doc = "Bytes the maker's warranty allows to be written." },
	{ CONFIG_DRIVE, "verify", CONFIG_CHOICE, .choices = verify_names, .fallback = "end",
		DRIVE(verify), .json = "verify",
		.doc = "Reads everything back at the end and names each bad block, or never does." },
	{ CONFIG_DRIVE, "settle-rule", CONFIG_CHOICE, .choices = settle_rule_names, .fallback = "snia",
		DRIVE(settle_rule), .json = "settle_rule",
		.doc = "When the run counts as settled: by the rule of the SNIA performance test, "
		       "or with off from the start." },
	{ CONFIG_DRIVE, "ledger-memory", CONFIG_BYTES, .min = "1MiB", .max = "1TiB", .fallback = "64MiB",
		DRIVE(ledger_bytes), .json = "ledger_bytes",
		.doc = "Memory for what was last written to each block; beyond it a sample of the "
		       "blocks is tracked." },
	{ CONFIG_DRIVE, "max-errors", CONFIG_COUNT, .min = "1", .max = "1000000000", .fallback = "1000",
		DRIVE(max_errors), .json = "max_errors",
		.doc = "I/O errors after which the run is given up." },
	{ CONFIG_DRIVE, "probe", CONFIG_TEXT, .fallback = "auto", DRIVE(probe),
		.allowed = "\"auto\", \"nvme\", \"ata\", \"none\" or \"smartctl:TYPE\" such as "
		       "\"smartctl:megaraid,3\"",
		.text_wrong = config_rules_probe, .json = "probe",
		.doc = "How the drive's health log is read." },
	{ CONFIG_DRIVE, "health-interval", CONFIG_DURATION, .min = "10s", .max = "1d", .fallback = "auto",
		.absent = "auto", DRIVE(health_interval_ns),
		.json = "health_interval_s",
		.doc = "How often the health log is read; auto is 60s for NVMe and 5min for ATA." },
	{ CONFIG_DRIVE, "price", CONFIG_PRICE, .fallback = "", .absent = "", DRIVE(price_amount),
		.json = "price",
		.allowed = "an amount, a space and a currency of three capital letters, such as \"450 USD\"",
		.doc = "What the drive costs, for comparisons." },
	{ CONFIG_DRIVE, "label", CONFIG_TEXT, .fallback = "", .absent = "", DRIVE(label),
		.allowed = "a text of at most 128 bytes", .text_wrong = config_rules_label, .json = "label",
		.doc = "A name for people, shown instead of the title." },
	{ CONFIG_DRIVE, "group", CONFIG_TEXT, .fallback = "", .absent = "", DRIVE(group),
		.allowed = "a text of at most 128 bytes", .text_wrong = config_rules_label, .json = "group",
		.doc = "Drives of one group share an adapter or an upstream port: each fills a minute alone, "
		       "then all together. Without it the port that PCI drives share is found." },
	{ CONFIG_DRIVE, "start", CONFIG_CHOICE, .choices = start_names, .fallback = "auto",
		DRIVE(start), .json = "start",
		.doc = "Starts the run with the service, or by hand with drivesoak start." },

	{ CONFIG_SLO, "min-rate", CONFIG_BYTES, .min = "1kB", .max = "1TiB", .fallback = "", .absent = "",
		DRIVE(slo_min_bytes_per_s), .json = "slo_min_bytes_per_s",
		.doc = "Bytes a second that every settled sample must reach." },
	{ CONFIG_SLO, "p1-rate", CONFIG_BYTES, .min = "1kB", .max = "1TiB", .fallback = "", .absent = "",
		DRIVE(slo_p1_bytes_per_s), .json = "slo_p1_bytes_per_s",
		.doc = "Bytes a second that 99 of 100 settled samples must reach." },
	{ CONFIG_SLO, "p99-latency", CONFIG_DURATION, .min = "0.001ms", .max = "1h", .fallback = "",
		.absent = "",
		DRIVE(slo_p99_ns), .json = "slo_p99_ns",
		.doc = "Latency that 99 of 100 requests must keep below." },

	{ CONFIG_ALERTS, "collapse-below", CONFIG_PERCENT, .min = "1%", .max = "99%", .fallback = "50%",
		TOP(alerts.collapse_below_pct),
		.doc = "A collapse begins below this part of the baseline." },
	{ CONFIG_ALERTS, "collapse-for", CONFIG_DURATION, .min = "1s", .max = "1h", .fallback = "30s",
		TOP(alerts.collapse_for_ns),
		.doc = "How long it must last to be an alert." },
	{ CONFIG_ALERTS, "recover-above", CONFIG_PERCENT, .min = "1%", .max = "100%", .fallback = "70%",
		TOP(alerts.recover_above_pct),
		.doc = "A collapse ends above this part of the baseline; more than collapse-below." },
	{ CONFIG_ALERTS, "stall-after", CONFIG_DURATION, .min = "1s", .max = "1h", .fallback = "20s",
		TOP(alerts.stall_after_ns),
		.doc = "No completion for so long is a stall." },
	{ CONFIG_ALERTS, "repeat", CONFIG_TEXT, .fallback = "once", TOP(alerts.repeat),
		.allowed = "\"once\", \"diminishing\" or a duration from 1min to 7d",
		.text_wrong = config_rules_repeat,
		.doc = "Says a lasting alert once, or again after each such pause, or after 1, 2, 4, 8 days "
		       "and so on. That it is over is always said." },
	{ CONFIG_ALERTS, "digest", CONFIG_DURATION, .min = "0", .max = "1h", .fallback = "30s",
		TOP(alerts.digest_ns),
		.doc = "The first alert goes out at once; those that follow within so long come together in "
		       "one message. One that fires for the fourth time within 10 min is held back until the first is so long ago, then told with how often it fired." },

	{ CONFIG_NOTIFY, "command", CONFIG_LIST, .fallback = "", NOTIFY(command),
		.allowed = "a list of a program, by its absolute path, and its arguments",
		.text_wrong = config_rules_argument,
		.doc = "Runs the program, without a shell, for each message: the text on its standard input, the "
		       "rest as DRIVESOAK_* in its environment. It has 30 s." },
	{ CONFIG_NOTIFY, "smartd-compat", CONFIG_BOOL, .fallback = "false", NOTIFY(smartd_compat),
		.doc = "The command also gets the SMARTD_* variables and the arguments -s SUBJECT ADDRESS, as "
		       "smartd gives them to the program of -M exec." },
	{ CONFIG_NOTIFY, "webhook", CONFIG_TEXT, .fallback = "", .absent = "", NOTIFY(webhook), .is_secret = true,
		.allowed = "a URL of http or https", .text_wrong = config_rules_url,
		.doc = "Posts to the URL." },
	{ CONFIG_NOTIFY, "format", CONFIG_CHOICE, .choices = format_names, .fallback = "alertmanager",
		NOTIFY(format),
		.doc = "What is posted to the webhook: what Alertmanager posts to its own webhooks (version 4); "
		       "to the interface of an Alertmanager, every minute while it lasts; a text for Slack, "
		       "Mattermost, Rocket.Chat; a message for ntfy, the topic being the last part of the URL." },
	{ CONFIG_NOTIFY, "mail-to", CONFIG_TEXT, .fallback = "", .absent = "", NOTIFY(mail_to),
		.allowed = "a mail address", .text_wrong = config_rules_mail,
		.doc = "Sends mail to the address. It needs smtp." },
	{ CONFIG_NOTIFY, "mail-from", CONFIG_TEXT, .fallback = "", .absent = "", NOTIFY(mail_from),
		.allowed = "a mail address", .text_wrong = config_rules_mail,
		.doc = "The sender of the mail; without it drivesoak at the name of the host." },
	{ CONFIG_NOTIFY, "smtp", CONFIG_TEXT, .fallback = "", .absent = "", NOTIFY(smtp), .is_secret = true,
		.allowed = "a mail server and its port, such as \"mail.example.org:25\", or a URL of smtp or "
			   "smtps",
		.text_wrong = config_rules_server,
		.doc = "The server that takes the mail. A URL may have USER:PASSWORD@ before the server." },
	{ CONFIG_NOTIFY, "ping", CONFIG_TEXT, .fallback = "", .absent = "", NOTIFY(ping), .is_secret = true,
		.allowed = "a URL of http or https", .text_wrong = config_rules_url,
		.doc = "Is asked for regularly while samples are kept and come from every drive that runs, with "
		       "requests in them; paused, absent and failed drives do not count. So silence is "
		       "noticed elsewhere." },
	{ CONFIG_NOTIFY, "ping-interval", CONFIG_DURATION, .min = "10s", .max = "1d", .fallback = "1min",
		NOTIFY(ping_interval_ns),
		.doc = "How often the URL is asked for." },
};
/* clang-format on */

const size_t config_keys_count = sizeof(config_keys) / sizeof(config_keys[0]);

const char *config_workload_name(enum config_workload workload)
{
	return workload_names[workload];
}

const char *config_engine_name(enum config_engine engine)
{
	return engine_names[engine];
}

const char *config_payload_name(enum config_payload payload)
{
	return payload_names[payload];
}

const struct config_key *config_keys_find(enum config_section section, const char *name)
{
	for (size_t i = 0; i < config_keys_count; i++) {
		if (config_keys[i].section == section && !strcmp(config_keys[i].name, name))
			return &config_keys[i];
	}
	return NULL;
}

enum config_section config_keys_section(enum config_section parent, const char *name)
{
	for (int i = CONFIG_TOP + 1; i < CONFIG_SECTION_COUNT; i++) {
		if (config_sections[i].parent == parent && !strcmp(config_sections[i].name, name))
			return (enum config_section)i;
	}
	return CONFIG_SECTION_COUNT;
}

#define NAME_LENGTH_MAX 31

/* Edits (insert, delete, replace) from @a to @b; both at most NAME_LENGTH_MAX long. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[NAME_LENGTH_MAX + 1], length = (unsigned)strlen(b);

	for (unsigned j = 0; j <= length; j++)
		row[j] = j;
	for (unsigned i = 0; a[i]; i++) {
		unsigned corner = row[0];

		row[0] = i + 1;
		for (unsigned j = 0; j < length; j++) {
			unsigned best = corner + (a[i] != b[j]);

			corner = row[j + 1];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (corner + 1 < best)
				best = corner + 1;
			row[j + 1] = best;
		}
	}
	return row[length];
}

/* Keeps @candidate in @best when it is nearer than what is there; a third of the letters may be wrong. */
static void nearer(const char *name, const char *candidate, const char **best, unsigned *best_distance)
{
	unsigned edits, length = (unsigned)strlen(candidate);

	if (strlen(name) > NAME_LENGTH_MAX)
		return;
	edits = distance(name, candidate);
	if (edits > 1 + length / 4 || edits >= length || edits >= *best_distance)
		return;
	*best = candidate;
	*best_distance = edits;
}

const char *config_keys_suggest(enum config_section section, const char *name)
{
	unsigned best_distance = NAME_LENGTH_MAX;
	const char *best = NULL;

	for (size_t i = 0; i < config_keys_count; i++) {
		if (config_keys[i].section == section)
			nearer(name, config_keys[i].name, &best, &best_distance);
	}
	return best;
}

const char *config_keys_suggest_section(enum config_section parent, const char *name)
{
	unsigned best_distance = NAME_LENGTH_MAX;
	const char *best = NULL;

	for (int i = CONFIG_TOP + 1; i < CONFIG_SECTION_COUNT; i++) {
		if (config_sections[i].parent == parent)
			nearer(name, config_sections[i].name, &best, &best_distance);
	}
	return best;
}

const char *config_keys_default(const struct config_key *key)
{
	return key->neutral[0] ? key->neutral[0] : key->fallback;
}

static void choices_add(const struct config_key *key, struct text *out)
{
	for (size_t i = 0; key->choices[i]; i++)
		text_addf(out, "%s\"%s\"",
			i == 0		      ? ""
			: key->choices[i + 1] ? ", "
					      : " or ",
			key->choices[i]);
}

void config_keys_allowed(const struct config_key *key, struct text *out)
{
	static const char *const nouns[] = {
		[CONFIG_BYTES] = "a size",
		[CONFIG_DURATION] = "a duration",
		[CONFIG_COUNT] = "a number",
		[CONFIG_PERCENT] = "a percentage",
		[CONFIG_TEMPERATURE] = "a temperature",
	};

	if (key->type == CONFIG_BOOL)
		text_add(out, "true or false");
	else if (key->type == CONFIG_CHOICE)
		choices_add(key, out);
	else if (!key->min)
		text_add(out, key->allowed);
	else
		text_addf(out, "%s from %s to %s%s%s", nouns[key->type], key->min, key->max,
			key->allowed ? ", " : "", key->allowed ? key->allowed : "");
	if (key->absent && *key->absent)
		text_addf(out, ", or \"%s\"", key->absent);
	else if (key->absent)
		text_add(out, ", or \"\" for none");
}

static void quoted_add(const char *value, struct text *out)
{
	text_add(out, "\"");
	for (; *value; value++) {
		/* $ would begin a variable of the environment. */
		if (*value == '"' || *value == '\\' || *value == '$')
			text_add(out, "\\");
		text_add_bytes(out, value, 1);
	}
	text_add(out, "\"");
}

void config_keys_literal(
	const struct config_key *key, const char *const *items, size_t count, struct text *out)
{
	if (key->type == CONFIG_LIST) {
		text_add(out, "{ ");
		for (size_t i = 0; i < count; i++) {
			text_add(out, i ? ", " : "");
			quoted_add(items[i], out);
		}
		text_add(out, count ? " }" : "}");
	} else if (key->type == CONFIG_BOOL ||
		   (key->type == CONFIG_COUNT && **items >= '0' && **items <= '9')) {
		text_add(out, *items);
	} else {
		quoted_add(*items, out);
	}
}

void config_keys_literal_default(const struct config_key *key, struct text *out)
{
	const char *fallback = config_keys_default(key);

	config_keys_literal(key, &fallback, *fallback != '\0', out);
}

void config_keys_later(const struct config_key *key, struct text *out)
{
	for (size_t i = 0; i < CONFIG_NEUTRALS && key->neutral[i]; i++) {
		text_add(out, i ? " or " : "");
		config_keys_literal(key, &key->neutral[i], 1, out);
		text_add(out, *key->neutral[i] ? "" : " (leave it out)");
	}
}

void config_keys_describe(const struct config_key *key, struct text *out)
{
	config_keys_allowed(key, out);
	text_add(out, "; default ");
	config_keys_literal_default(key, out);
	if (key->neutral[0] && !*key->neutral[0]) {
		text_add(out, "; not in this version yet");
	} else if (key->neutral[0]) {
		text_add(out, "; in this version only ");
		config_keys_later(key, out);
	}
}

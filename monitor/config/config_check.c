/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_check.h"

#include <string.h>

#include "config/config_rules.h"

#define READ_PERCENT_DEFAULT 60
#define LOOP_PREFIX	     "loop:"

/* A drive of the config with the lines of its keys. */
struct subject {
	const struct config_drive *drive;
	const struct config_instance *instance;
	size_t number; /* of the instance */
	struct config_scan *scan;
};

static const struct config_origin *origin_of(const struct subject *subject, const char *key)
{
	return config_scan_origin(subject->scan, subject->number, CONFIG_DRIVE, key);
}

/* Stands in the file with something in it. */
static bool is_given(const struct subject *subject, const char *key, const char *value)
{
	const struct config_origin *origin = origin_of(subject, key);

	return origin->line && (*value || origin->is_wrong);
}

/* Its value can be relied on: right, or the default. */
static bool is_sound(const struct subject *subject, const char *key)
{
	return !origin_of(subject, key)->is_wrong;
}

/* A mistake of @key where it stands, or at the section's name when it has the default. */
#define DRIVE_MISTAKE(subject, key, ...)                                                                     \
	do {                                                                                                 \
		const struct config_origin *at_ = origin_of(subject, key);                                   \
		config_mistakes_add(&(subject)->scan->mistakes,                                              \
			at_->line ? at_->file : (subject)->instance->file,                                   \
			at_->line ? at_->line : (subject)->instance->line, key, __VA_ARGS__);                \
	} while (0)

/* Whichever of the two comes later: what was added last is what to take away. */
static const char *later_of(const struct subject *subject, const char *a, const char *b)
{
	const struct config_origin *x = origin_of(subject, a), *y = origin_of(subject, b);

	return x->file > y->file || (x->file == y->file && x->line > y->line) ? a : b;
}

static void loop_check(const struct subject *s)
{
	bool is_loop = config_rules_is_loop_device(s->drive->device);
	bool names_file = !strncmp(s->drive->serial, LOOP_PREFIX, strlen(LOOP_PREFIX));

	if (!is_sound(s, "device") || !is_sound(s, "serial") || !*s->drive->device)
		return;
	if (is_loop && (!names_file || s->drive->serial[strlen(LOOP_PREFIX)] != '/'))
		DRIVE_MISTAKE(s, "serial",
			"a loop device has no serial; write serial = \"loop:FILE\" with the absolute "
			"path of its backing file");
	else if (!is_loop && names_file)
		DRIVE_MISTAKE(s, "serial",
			"\"loop:FILE\" is for /dev/loopN only; give the serial number of the device");
}

static void target_check(const struct subject *s)
{
	bool directory = is_given(s, "directory", s->drive->directory);
	bool device = is_given(s, "device", s->drive->device);
	bool serial = is_given(s, "serial", s->drive->serial), wwid = is_given(s, "wwid", s->drive->wwid);

	if (directory && device)
		DRIVE_MISTAKE(s, later_of(s, "directory", "device"),
			"a drive has a directory or a device, not both; take one away");
	else if (!directory && !device)
		config_mistakes_add(&s->scan->mistakes, s->instance->file, s->instance->line, "drive",
			"\"%s\" has no target; give it a directory", s->instance->title);
	if (device && !serial && !wwid)
		DRIVE_MISTAKE(
			s, "device", "needs serial or wwid beside it, so that no other drive is written");
	if (!device && serial)
		DRIVE_MISTAKE(s, "serial", "goes with device only");
	if (!device && wwid)
		DRIVE_MISTAKE(s, "wwid", "goes with device only");
	loop_check(s);
}

static void amount_check(const struct subject *s)
{
	const struct config_drive *drive = s->drive;

	if (origin_of(s, "fill")->line && is_given(s, "size", drive->size_bytes ? "x" : ""))
		DRIVE_MISTAKE(
			s, later_of(s, "fill", "size"), "fill and size exclude each other; take one away");
	else if (drive->size_bytes && is_sound(s, "files") && is_sound(s, "block-size") &&
		 !is_given(s, "device", drive->device) &&
		 drive->size_bytes < (uint64_t)drive->files * drive->block_bytes)
		DRIVE_MISTAKE(s, "size",
			"is less than one block in each of %u files; raise it or lower files", drive->files);
}

static void workload_check(const struct subject *s)
{
	const struct config_drive *drive = s->drive;

	if (is_sound(s, "read-percent") && is_sound(s, "workload") &&
		drive->workload != WORKLOAD_RANDOM_MIXED && drive->read_percent != READ_PERCENT_DEFAULT)
		DRIVE_MISTAKE(s, "read-percent", "goes with workload = \"random-mixed\" only");
	if (drive->queue_depth && is_sound(s, "queue-depth") && is_sound(s, "threads") &&
		drive->threads > drive->queue_depth)
		DRIVE_MISTAKE(s, "queue-depth",
			"%u is less than threads, which is %u: each thread needs a request in flight",
			drive->queue_depth, drive->threads);
}

/* Two drives that would write to the same place. */
static void same_target_check(const struct subject *s, const struct subject *earlier)
{
	static const char *const keys[] = { "directory", "device" };

	for (size_t i = 0; i < 2; i++) {
		const char *mine = i ? s->drive->device : s->drive->directory;
		const char *other = i ? earlier->drive->device : earlier->drive->directory;
		const struct config_origin *first = origin_of(earlier, keys[i]);

		if (!*mine || !*other || !config_rules_is_same_path(mine, other))
			continue;
		DRIVE_MISTAKE(s, keys[i],
			"\"%s\" is that of drive \"%s\" too (%s:%u); each drive needs its own", mine,
			earlier->drive->name, s->scan->paths[first->file], first->line);
	}
}

static void drives_check(const struct config *config, struct config_scan *scan)
{
	for (size_t i = 1; i < scan->instance_count; i++) {
		const struct config_instance *instance = &scan->instances[i];
		struct subject s = { .instance = instance, .number = i, .scan = scan };
		bool is_reported = false;

		if (instance->kind != CONFIG_DRIVE)
			continue;
		s.drive = &config->drives[instance->index];
		target_check(&s);
		amount_check(&s);
		workload_check(&s);
		for (size_t j = 1; j < i && !is_reported; j++) {
			struct subject earlier = {
				.instance = &scan->instances[j], .number = j, .scan = scan
			};
			size_t before = scan->mistakes.count;

			if (earlier.instance->kind != CONFIG_DRIVE)
				continue;
			earlier.drive = &config->drives[earlier.instance->index];
			same_target_check(&s, &earlier);
			is_reported = scan->mistakes.count != before;
		}
	}
}

/* A notify section with the lines of its keys. */
static void notify_mistake(struct config_scan *scan, size_t number, const char *key, const char *words)
{
	const struct config_origin *at = config_scan_origin(scan, number, CONFIG_NOTIFY, key);
	const struct config_instance *instance = &scan->instances[number];

	config_mistakes_add(&scan->mistakes, at->line ? at->file : instance->file,
		at->line ? at->line : instance->line, key, "%s", words);
}

static bool notify_has(struct config_scan *scan, size_t number, const char *key, bool has)
{
	return has || config_scan_origin(scan, number, CONFIG_NOTIFY, key)->is_wrong;
}

/* The topic is the last part of the path. */
static bool has_topic(const char *url)
{
	const char *path = strchr(strstr(url, "://") + 3, '/');

	return path && path[strcspn(path, "?#")] == '\0' && strrchr(path, '/')[1];
}

static void notify_check(const struct config_notify *notify, size_t number, struct config_scan *scan)
{
	const bool command = notify_has(scan, number, "command", notify->command.count > 0);
	const bool webhook = notify_has(scan, number, "webhook", *notify->webhook);
	const bool mail = notify_has(scan, number, "mail-to", *notify->mail_to);
	const bool smtp = notify_has(scan, number, "smtp", *notify->smtp);

	if (!command && !webhook && !mail && !smtp && !notify_has(scan, number, "ping", *notify->ping))
		config_mistakes_add(&scan->mistakes, scan->instances[number].file,
			scan->instances[number].line, "notify",
			"\"%s\" tells nobody; give it a command, a webhook, a mail-to or a ping",
			notify->name);
	if (notify->command.count && *notify->command.items[0] != '/')
		notify_mistake(scan, number, "command", "must begin with the absolute path of a program");
	if (mail && !smtp)
		notify_mistake(scan, number, "mail-to", "needs smtp, the server that takes the mail");
	if (smtp && !mail)
		notify_mistake(scan, number, "smtp", "goes with mail-to only");
	if (*notify->mail_from && !mail)
		notify_mistake(scan, number, "mail-from", "goes with mail-to only");
	if (notify->smartd_compat && !command)
		notify_mistake(scan, number, "smartd-compat", "goes with command only");
	if (notify->format != FORMAT_ALERTMANAGER && !webhook)
		notify_mistake(scan, number, "format", "goes with webhook only");
	if (notify->format == FORMAT_NTFY && *notify->webhook && !has_topic(notify->webhook))
		notify_mistake(scan, number, "webhook",
			"has no topic for ntfy; write it as in \"https://ntfy.sh/TOPIC\"");
}

static void notifies_check(const struct config *config, struct config_scan *scan)
{
	for (size_t i = 1; i < scan->instance_count; i++) {
		const struct config_instance *instance = &scan->instances[i];

		if (instance->kind != CONFIG_NOTIFY)
			continue;
		notify_check(&config->notifies[instance->index], i, scan);
		if (instance->index == CONFIG_NOTIFIES_MAX)
			config_mistakes_add(&scan->mistakes, instance->file, instance->line, "notify",
				"there are more than %d of them; that is the most one service takes",
				CONFIG_NOTIFIES_MAX);
	}
}

static void count_check(const struct config *config, struct config_scan *scan)
{
	if (config->drive_count == 0)
		config_mistakes_add(&scan->mistakes, 0, 1, "drive",
			"there is no drive yet; add one, such as: drive \"NAME\" { directory = \"/srv/NAME\" "
			"}");
	for (size_t i = 1; i < scan->instance_count; i++) {
		const struct config_instance *instance = &scan->instances[i];

		if (instance->kind == CONFIG_DRIVE && instance->index == CONFIG_DRIVES_MAX)
			config_mistakes_add(&scan->mistakes, instance->file, instance->line, "drive",
				"there are more than %d drives; that is the most one service takes",
				CONFIG_DRIVES_MAX);
	}
}

static void service_check(const struct config *config, struct config_scan *scan)
{
	const struct config_origin *listen = config_scan_origin(scan, 0, CONFIG_WEB, "listen");
	const struct config_origin *token = config_scan_origin(scan, 0, CONFIG_WEB, "token-file");
	const struct config_origin *recover = config_scan_origin(scan, 0, CONFIG_ALERTS, "recover-above");
	const struct config_origin *collapse = config_scan_origin(scan, 0, CONFIG_ALERTS, "collapse-below");
	bool has_token = *config->web.token_file || token->is_wrong;

	for (size_t i = 0; i < config->web.listen.count && !listen->is_wrong && !has_token; i++) {
		if (!config_rules_is_loopback(config->web.listen.items[i]))
			config_mistakes_add(&scan->mistakes, listen->file, listen->line, "listen",
				"\"%s\" is beyond loopback, which needs token-file; listen on 127.0.0.1 or "
				"[::1] behind a "
				"reverse proxy or an ssh tunnel",
				config->web.listen.items[i]);
	}
	if (!recover->is_wrong && !collapse->is_wrong &&
		config->alerts.recover_above_pct <= config->alerts.collapse_below_pct) {
		const struct config_origin *at = recover->line ? recover : collapse;

		config_mistakes_add(&scan->mistakes, at->file, at->line, "recover-above",
			"must be more than collapse-below, or a collapse would end as it begins");
	}
}

void config_check(const struct config *config, struct config_scan *scan)
{
	count_check(config, scan);
	service_check(config, scan);
	drives_check(config, scan);
	notifies_check(config, scan);
}

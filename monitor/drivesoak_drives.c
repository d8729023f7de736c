/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_drives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/text.h"
#include "base/units.h"
#include "drivesoak_health.h"
#include "target/inventory.h"
#include "target/inventory_json.h"

enum { NODE, NAME, TRANSPORT, LINK, CAPACITY, MODEL, SERIAL, FIRMWARE, COLUMNS };

#define CELL_MAX 264

static const char *const titles[COLUMNS] = { "NODE", "NAME", "TRANSPORT", "LINK", "CAPACITY", "MODEL",
	"SERIAL", "FIRMWARE" };

struct row {
	char cell[COLUMNS][CELL_MAX];
};

static void fill_row(const struct inventory_disk *disk, struct row *row)
{
	const struct identity *identity = &disk->identity;
	char decimal[UNITS_TEXT_MAX], binary[UNITS_TEXT_MAX];
	const char *name = strrchr(disk->by_id, '/');
	const char *texts[COLUMNS] = {
		[NODE] = disk->node,
		[NAME] = name ? name + 1 : "",
		[TRANSPORT] = disk->block.transport,
		[MODEL] = identity->model,
		[SERIAL] = identity->serial,
		[FIRMWARE] = identity->firmware,
	};

	for (int i = 0; i < COLUMNS; i++)
		(void)snprintf(row->cell[i], CELL_MAX, "%s", texts[i] && texts[i][0] ? texts[i] : "-");
	if (disk->block.link[0])
		(void)snprintf(row->cell[LINK], CELL_MAX, "%s%s", disk->block.link,
			disk->is_link_degraded ? " DEGRADED LINK" : "");
	units_print_bytes_decimal((double)identity->capacity_bytes, decimal);
	units_print_bytes_rounded((double)identity->capacity_bytes, binary);
	if (identity->capacity_bytes)
		(void)snprintf(row->cell[CAPACITY], CELL_MAX, "%s (%s)", decimal, binary);
}

static void print_row(const char *const *cells, const int *widths)
{
	for (int i = 0; i + 1 < COLUMNS; i++)
		(void)printf("%-*s  ", widths[i], cells[i]);
	(void)printf("%s\n", cells[COLUMNS - 1]);
}

static void print_findings(const struct guard_report *report, enum guard_severity severity, const char *mark)
{
	for (unsigned i = 0; i < report->count; i++)
		if (report->findings[i].severity == severity)
			(void)printf("    %s: %s\n", mark, report->findings[i].text);
}

static void print_judgement(const struct config *config, const struct inventory_disk *disk)
{
	const char *name = inventory_config_name(config, disk);

	if (name)
		(void)printf("    configured as %s\n", name);
	if (disk->is_usable)
		(void)printf("    can be used once it is armed: what it holds is looked at then\n");
	print_findings(&disk->report, GUARD_HARD, "can't be used");
	print_findings(&disk->report, GUARD_SOFT, "to be confirmed");
	if (disk->report.left_off)
		(void)printf("    and %u more\n", disk->report.left_off);
	if (disk->shared_port[0])
		(void)printf("    shares %s with other disks\n", disk->shared_port);
}

static void print_health(const struct health *health)
{
	struct text text = TEXT_INIT;

	health_text(health, &text);
	(void)fputs(text_string(&text), stdout);
	text_fini(&text);
}

static int print_table(const struct config *config, const struct inventory_disk *disks,
	const struct health *healths, size_t count)
{
	struct row *rows = calloc(count + 1, sizeof(*rows));
	int widths[COLUMNS];
	const char *cells[COLUMNS];

	if (!rows)
		return EX_OSERR;
	for (int i = 0; i < COLUMNS; i++)
		widths[i] = (int)strlen(titles[i]);
	for (size_t i = 0; i < count; i++) {
		fill_row(&disks[i], &rows[i]);
		for (int j = 0; j < COLUMNS; j++)
			if ((int)strlen(rows[i].cell[j]) > widths[j])
				widths[j] = (int)strlen(rows[i].cell[j]);
	}
	print_row(titles, widths);
	for (size_t i = 0; i < count; i++) {
		for (int j = 0; j < COLUMNS; j++)
			cells[j] = rows[i].cell[j];
		print_row(cells, widths);
		print_judgement(config, &disks[i]);
		if (healths)
			print_health(&healths[i]);
	}
	if (count == 0)
		(void)puts("no disks");
	free(rows);
	return EX_OK;
}

static int print_json(const struct config *config, const struct inventory_disk *disks,
	const struct health *healths, size_t count)
{
	struct inventory_health *parts = calloc(count + 1, sizeof(*parts));
	struct text *objects = calloc(count + 1, sizeof(*objects));
	struct text json = TEXT_INIT;
	int code = parts && objects ? EX_OK : EX_OSERR;

	for (size_t i = 0; healths && code == EX_OK && i < count; i++) {
		health_json(&healths[i], &objects[i]);
		parts[i].json = objects[i].length ? text_string(&objects[i]) : NULL;
		parts[i].why = healths[i].why[0] ? healths[i].why : NULL;
	}
	if (code == EX_OK)
		inventory_json(disks, count, config, healths ? parts : NULL, &json);
	if (text_error(&json))
		code = EX_OSERR;
	(void)fputs(text_string(&json), stdout);
	text_fini(&json);
	for (size_t i = 0; objects && i < count; i++)
		text_fini(&objects[i]);
	free(objects);
	free(parts);
	return code;
}

/* What stands for itself is printed all the same. */
static int judge_rights(const struct health *healths, size_t count)
{
	for (size_t i = 0; healths && i < count; i++)
		if (health_needs_root(&healths[i])) {
			(void)fputs("drivesoak: --health: only root may ask drives\n", stderr);
			return EX_NOPERM;
		}
	return EX_OK;
}

int drivesoak_drives(
	const struct config *config, const char *state_directory, bool is_json, bool wants_health)
{
	struct inventory_disk *disks = NULL;
	struct health *healths = NULL;
	size_t count = 0;
	int rc = inventory_read("", state_directory, &disks, &count), code;

	if (rc < 0) {
		(void)fprintf(stderr, "drivesoak: /sys/block: %s\n", strerror(-rc));
		return EX_IOERR;
	}
	if (wants_health && health_read(disks, count, &healths) < 0)
		code = EX_OSERR;
	else if (is_json)
		code = print_json(config, disks, healths, count);
	else
		code = print_table(config, disks, healths, count);
	if (code == EX_OK)
		code = judge_rights(healths, count);
	health_free(healths, count);
	free(disks);
	return code;
}

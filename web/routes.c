/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/routes.h"

#include <string.h>

#include "web/api.h"
#include "web/graph.h"
#include "web/pages.h"

static const struct route table[] = {
	{ "", CALL_PAGE, pages_overview },
	{ "runs", CALL_PAGE, pages_runs },
	{ "run/*", CALL_PAGE, pages_run },
	{ "drive/*", CALL_PAGE, pages_drive },
	{ "compare", CALL_PAGE, pages_compare },
	{ "alerts", CALL_PAGE, pages_alerts },
	{ "events", CALL_PAGE, pages_events },
	{ "graph/jitter.svg", CALL_PICTURE, graph_jitter },
	{ "graph/*/timeline.svg", CALL_PICTURE, graph_timeline_svg },
	{ "graph/*/timeline.png", CALL_PICTURE, graph_timeline_png },
	{ "healthz", CALL_DATA, api_healthz },
	{ "readyz", CALL_DATA, api_readyz },
	{ "api/v1/status", CALL_DATA, api_status },
	{ "api/v1/drives", CALL_DATA, api_drives },
	{ "api/v1/runs", CALL_DATA, api_runs },
	{ "api/v1/compare", CALL_DATA, api_compare },
	{ "api/v1/events", CALL_DATA, api_events },
	{ "api/v1/alerts", CALL_DATA, api_alerts },
	{ "api/v1/runs/*", CALL_DATA, api_run },
	{ "api/v1/runs/*/events", CALL_DATA, api_run_events },
	{ "api/v1/runs/*/health", CALL_DATA, api_run_health },
	{ "api/v1/runs/*/samples.json", CALL_DATA, api_samples_json },
	{ "api/v1/runs/*/samples.csv", CALL_DATA, api_samples_csv },
	{ "api/v1/runs/*/series", CALL_DATA, api_series },
};

/* The part of @path below @base, NULL when it isn't below. */
static const char *below(const char *base, const char *path)
{
	size_t length = strlen(base);

	return strncmp(path, base, length) == 0 ? path + length : NULL;
}

static bool matches(const char *pattern, const char *path, char *segment)
{
	const char *star = strchr(pattern, '*');
	size_t before, length;

	segment[0] = '\0';
	if (!star)
		return strcmp(pattern, path) == 0;
	before = (size_t)(star - pattern);
	if (strncmp(pattern, path, before) != 0)
		return false;
	path += before;
	length = strcspn(path, "/");
	if (length == 0 || length >= CALL_SEGMENT_MAX || strcmp(path + length, star + 1) != 0)
		return false;
	memcpy(segment, path, length);
	segment[length] = '\0';
	return true;
}

static unsigned count_depth(const char *path)
{
	unsigned depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

const struct route *routes_find(const char *base_path, const char *path, struct call *call)
{
	const char *rest = below(base_path, path);

	call->kind = CALL_PAGE;
	call->depth = 0;
	if (!rest)
		return NULL;
	call->depth = count_depth(rest);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (matches(table[i].pattern, rest, call->segment)) {
			call->kind = table[i].kind;
			return &table[i];
		}
	}
	if (strncmp(rest, "api/", 4) == 0)
		call->kind = CALL_DATA;
	return NULL;
}

const struct asset *routes_find_asset(const char *base_path, const char *path)
{
	const char *rest = below(base_path, path);

	return rest && strncmp(rest, "static/", 7) == 0 ? assets_find(rest + 7) : NULL;
}

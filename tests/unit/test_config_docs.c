/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of keys against itself, the manual and the shipped files: each names every key, with what is
 * allowed and the default that is in effect. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "config/config_file.h"
#include "config/config_keys.h"
#include "config/config_scan.h"
#include "config/config_value.h"
#include "config_fixture.h"

/* A file of the source tree; free it. */
static char *source_read(const char *name)
{
	const char *srcdir = getenv("srcdir"), *wrong = NULL;
	char path[4096], *bytes = NULL;
	size_t length;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/%s", srcdir ? srcdir : ".", name);
	rc = config_file_read(path, &bytes, &length, &wrong);
	if (rc < 0)
		fail_msg("%s: %d %s", path, rc, wrong ? wrong : "");
	return bytes;
}

static void test_rows_are_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < config_keys_count; i++) {
		const struct config_key *key = &config_keys[i];
		struct text wrong = TEXT_INIT;
		uint64_t scratch[1024] = { 0 };

		assert_true(sizeof(scratch) >= sizeof(struct config) &&
			    sizeof(scratch) >= sizeof(struct config_drive));
		assert_true(key->doc && strlen(key->doc) > 10 && key->doc[strlen(key->doc) - 1] == '.');
		assert_ptr_equal(config_keys_find(key->section, key->name), key);
		assert_true((key->min != NULL) == (key->max != NULL));
		if (key->type == CONFIG_CHOICE)
			assert_non_null(key->choices);
		if (key->type == CONFIG_TEXT || key->type == CONFIG_LIST || key->type == CONFIG_PRICE)
			assert_non_null(key->allowed);
		/* Each end of the range, the default and what stands for nothing are values of the key. */
		for (size_t j = 0; j < 6; j++) {
			const char *const values[] = { key->min, key->max, key->fallback, key->absent,
				key->neutral[0], key->neutral[1] };

			if (!values[j] || (key->type == CONFIG_LIST && !*values[j]))
				continue;
			if (config_value_set(key, &values[j], 1, true, scratch, &wrong) != 0)
				fail_msg("%s: %s", key->name, text_string(&wrong));
		}
		/* A default that is not neutral could not be written down. */
		if (key->type != CONFIG_LIST) {
			const char *fallback = config_keys_default(key);

			assert_int_equal(config_value_set(key, &fallback, 1, false, scratch, &wrong), 0);
		}
		config_value_free(key, scratch);
		text_fini(&wrong);
	}
}

/* Without the \ that keeps a - from becoming a hyphen. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] == '-')
			continue;
		*to++ = *text;
	}
	*to = '\0';
}

static const char *heading_of(enum config_section section)
{
	static const char *const headings[] = {
		[CONFIG_TOP] = "\n.SS Outside every section\n",
		[CONFIG_WEB] = "\n.SS web ",
		[CONFIG_DRIVE] = "\n.SS drive ",
		[CONFIG_SLO] = "\n.SS slo ",
		[CONFIG_ALERTS] = "\n.SS alerts ",
		[CONFIG_NOTIFY] = "\n.SS notify ",
	};

	return headings[section];
}

static void test_manual_has_every_key(void **state)
{
	char *manual = source_read("monitor/config/drivesoak.conf.5");

	(void)state;
	unescape(manual);
	for (size_t i = 0; i < config_keys_count; i++) {
		const struct config_key *key = &config_keys[i];
		struct text entry = TEXT_INIT, allowed = TEXT_INIT;
		const char *section = strstr(manual, heading_of(key->section)), *end;
		char *found;

		assert_non_null(section);
		end = strstr(section + 1, "\n.S");
		assert_non_null(end);
		config_keys_describe(key, &allowed);
		text_addf(&entry, "\n.TP\n.B %s\n%s%s.\n%s\n", key->name,
			*text_string(&allowed) == '"' ? "\\&" : "", text_string(&allowed), key->doc);
		/* A sentence begins with a capital letter. */
		found = strstr(entry.bytes, text_string(&allowed));
		if (*found >= 'a' && *found <= 'z')
			*found = (char)(*found - 'a' + 'A');
		found = strstr(section, text_string(&entry));
		if (!found || found > end)
			fail_msg("the manual lacks, in the section of its own:%s", text_string(&entry));
		text_fini(&entry);
		text_fini(&allowed);
	}
	free(manual);
}

/* Takes the # from in front of keys and braces; prose has a space behind it. */
static char *uncomment(const char *text)
{
	char *out = malloc(strlen(text) + 1), *to = out;
	bool at_begin = true;

	assert_non_null(out);
	for (; *text; text++) {
		if (*text == '\n')
			at_begin = true;
		else if (*text == '#' && at_begin && text[1] != ' ' && text[1] != '\n')
			continue;
		else if (*text != ' ')
			at_begin = false;
		*to++ = *text;
	}
	*to = '\0';
	return out;
}

static const void *base_of(const struct config *config, enum config_section section)
{
	if (section == CONFIG_NOTIFY)
		return &config->notifies[0];
	return section == CONFIG_DRIVE || section == CONFIG_SLO ? (const void *)&config->drives[0] : config;
}

static void check_is_default(const struct config *config, size_t number)
{
	const struct config_key *key = &config_keys[number];
	const size_t instance = key->section == CONFIG_NOTIFY				     ? 2
				: key->section == CONFIG_DRIVE || key->section == CONFIG_SLO ? 1
											     : 0;
	struct text value = TEXT_INIT, expected = TEXT_INIT;

	if (!config->origins->instances[instance].origins[number].line)
		fail_msg("conf/drivesoak.conf lacks %s of section \"%s\"", key->name,
			config_sections[key->section].name);
	if (key->width && strcmp(key->name, "directory") != 0 && strcmp(key->name, "command") != 0) {
		config_value_literal(key, base_of(config, key->section), &value);
		config_keys_literal_default(key, &expected);
		if (strcmp(text_string(&value), text_string(&expected)) != 0)
			fail_msg("conf/drivesoak.conf: %s is %s, the default %s", key->name,
				text_string(&value), text_string(&expected));
	}
	text_fini(&value);
	text_fini(&expected);
}

static void test_shipped_file_has_every_key_with_its_default(void **state)
{
	char *text = source_read("conf/drivesoak.conf"), *all = uncomment(text);
	struct config *config = fixture_load(all, false);

	(void)state;
	assert_int_equal(config->drive_count, 1);
	assert_int_equal(config->notify_count, 1);
	for (size_t i = 0; i < config_keys_count; i++)
		check_is_default(config, i);
	config_free(config);
	free(text);
	free(all);
}

/* The prose above @line, its lines joined, is put into @out. */
static void prose_above(const char *text, const char *line, struct text *out)
{
	const char *begin = line, *end;

	/* Back over the lines that begin with "# ". */
	while (begin > text) {
		const char *above = begin - 1;

		while (above > text && above[-1] != '\n')
			above--;
		if (strncmp(above + strspn(above, " "), "# ", 2) != 0)
			break;
		begin = above;
	}
	for (; begin < line; begin = end + 1) {
		begin += strspn(begin, " ") + 2;
		end = strchr(begin, '\n');
		text_add_bytes(out, begin, (size_t)(end - begin));
		text_add(out, " ");
	}
}

/* The line of the file that sets @key, behind @from. */
static const char *line_of(const char *from, const struct config_key *key)
{
	char mark[64];
	const char *found;

	(void)snprintf(mark, sizeof(mark), "#%s = ", key->name);
	found = strstr(from, mark);
	while (found && found > from && found[-1] != '\n')
		found--;
	return found;
}

static void test_shipped_file_says_what_is_allowed(void **state)
{
	char *text = source_read("conf/drivesoak.conf");

	(void)state;
	for (size_t i = 0; i < config_keys_count; i++) {
		const struct config_key *key = &config_keys[i];
		struct text prose = TEXT_INIT, allowed = TEXT_INIT;
		const char *line = line_of(text, key), *later;

		assert_non_null(line);
		prose_above(text, line, &prose);
		config_keys_allowed(key, &allowed);
		/* All but the first letter, which may be a capital there. */
		if (!strstr(text_string(&prose), key->doc) ||
			!strstr(text_string(&prose), text_string(&allowed) + 1))
			fail_msg("%s: \"%s\" says not: %s %s", key->name, text_string(&prose), key->doc,
				text_string(&allowed));
		later = !key->neutral[0]   ? NULL
			: *key->neutral[0] ? "in this version only "
					   : "not in this version yet";
		if ((later != NULL) != (strstr(text_string(&prose), "this version") != NULL) ||
			(later && !strstr(text_string(&prose), later)))
			fail_msg("%s: \"%s\" is wrong about this version", key->name, text_string(&prose));
		text_fini(&prose);
		text_fini(&allowed);
	}
	free(text);
}

static void test_shipped_file_lacks_a_drive_and_nothing_else(void **state)
{
	char *text = source_read("conf/drivesoak.conf");

	(void)state;
	fixture_check_mistakes(text, false,
		"t.conf:1: drive: there is no drive yet; add one, such as: drive \"NAME\" { directory = "
		"\"/srv/NAME\" }\n");
	free(text);
}

static void test_quickstart_template(void **state)
{
	static const char *const names[][2] = { { "@DIRECTORY@", "/tmp/q/target" },
		{ "@STATE@", "/tmp/q/state" }, { "@RUNTIME@", "/tmp/q/run" }, { "@PORT@", "18734" },
		{ "@DURATION@", "60s" } };
	char *text = source_read("conf/quickstart.conf");
	struct text filled = TEXT_INIT;
	struct config *config;
	const char *at = text;

	(void)state;
	while (*at) {
		size_t i;

		for (i = 0; i < ARRAY_LEN(names) && strncmp(at, names[i][0], strlen(names[i][0])) != 0; i++)
			;
		if (i < ARRAY_LEN(names))
			text_add(&filled, names[i][1]);
		else
			text_add_bytes(&filled, at, 1);
		at += i < ARRAY_LEN(names) ? strlen(names[i][0]) : 1;
	}
	config = fixture_load(text_string(&filled), false);
	assert_string_equal(config->state_directory, "/tmp/q/state");
	assert_string_equal(config->runtime_directory, "/tmp/q/run");
	assert_int_equal(config->sample_interval_ns, NS_PER_S);
	assert_int_equal(config->web.listen.count, 1);
	assert_string_equal(config->web.listen.items[0], "127.0.0.1:18734");
	assert_int_equal(config->drive_count, 1);
	assert_string_equal(config->drives[0].name, "quickstart");
	assert_string_equal(config->drives[0].directory, "/tmp/q/target");
	assert_int_equal(config->drives[0].size_bytes, 1 << 30);
	assert_int_equal(config->drives[0].files, 64);
	assert_int_equal(config->drives[0].threads, 8);
	assert_int_equal(config->drives[0].queue_depth, 0);
	assert_int_equal(config->drives[0].settle_ns, 0);
	assert_int_equal(config->drives[0].duration_ns, 60 * NS_PER_S);
	config_free(config);
	text_fini(&filled);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_sound),
		cmocka_unit_test(test_manual_has_every_key),
		cmocka_unit_test(test_shipped_file_has_every_key_with_its_default),
		cmocka_unit_test(test_shipped_file_says_what_is_allowed),
		cmocka_unit_test(test_shipped_file_lacks_a_drive_and_nothing_else),
		cmocka_unit_test(test_quickstart_template),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

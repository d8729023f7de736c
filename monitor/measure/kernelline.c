/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/kernelline.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The first that is found in a line is its word. What the kernel says differs from version to version in numbers and
 * order, hardly in these. */
static const struct {
	const char *phrase;
	enum kernelline_word word;
} phrases[] = {
	{ "completion polled", KERNELLINE_POLLED },
	{ "soft lockup", KERNELLINE_HOST },
	{ "hard LOCKUP", KERNELLINE_HOST },
	{ "self-detected stall", KERNELLINE_HOST },
	{ "detected stalls on CPUs", KERNELLINE_HOST },
	{ "cpu clock throttled", KERNELLINE_HOST },
	{ "(ATA bus error)", KERNELLINE_LINK },
	{ "interface fatal error", KERNELLINE_LINK },
	{ "limiting SATA link speed", KERNELLINE_LINK },
	{ "limiting speed to", KERNELLINE_LINK },
	{ "SATA link down", KERNELLINE_LINK },
	{ "Link Down", KERNELLINE_LINK },
	{ "NCQ disabled", KERNELLINE_LINK },
	{ "PCIe Bus Error", KERNELLINE_AER },
	{ "AER: ", KERNELLINE_AER },
	{ "reset controller", KERNELLINE_RESET },
	{ "resetting controller", KERNELLINE_RESET },
	{ "controller is down", KERNELLINE_RESET },
	{ "disable controller", KERNELLINE_RESET },
	{ "after reset failure", KERNELLINE_RESET },
	{ "aborting reset", KERNELLINE_RESET },
	{ "after probe failure", KERNELLINE_RESET },
	{ "restart after slot reset", KERNELLINE_RESET },
	/* Of a controller that is in use already: it was set up anew. */
	{ "default/read/poll queues", KERNELLINE_RESET },
	{ "resetting link", KERNELLINE_RESET },
	{ "COMRESET failed", KERNELLINE_RESET },
	{ "disable device", KERNELLINE_RESET },
	{ "revalidation failed", KERNELLINE_RESET },
	{ "attempting device reset", KERNELLINE_RESET },
	{ "attempting target reset", KERNELLINE_RESET },
	{ "attempting bus reset", KERNELLINE_RESET },
	{ "attempting host reset", KERNELLINE_RESET },
	{ "device reset occurred", KERNELLINE_RESET },
	{ "bus reset occurred", KERNELLINE_RESET },
	{ "Device offlined", KERNELLINE_RESET },
	{ "offline device", KERNELLINE_RESET },
	{ "reset SuperSpeed", KERNELLINE_RESET },
	{ "reset high-speed USB", KERNELLINE_RESET },
	{ "timeout, aborting", KERNELLINE_TIMEOUT },
	{ "Abort status", KERNELLINE_TIMEOUT },
	{ "attempting task abort", KERNELLINE_TIMEOUT },
	{ "uas_eh_abort_handler", KERNELLINE_TIMEOUT },
	{ "DID_TIME_OUT", KERNELLINE_TIMEOUT },
	{ "(timeout)", KERNELLINE_TIMEOUT },
	{ "link is slow to respond", KERNELLINE_TIMEOUT },
	{ "exception Emask", KERNELLINE_ERROR },
	{ "failed command:", KERNELLINE_ERROR },
	{ "I/O error", KERNELLINE_ERROR },
	{ "I/O Error", KERNELLINE_ERROR },
	{ "critical medium error", KERNELLINE_ERROR },
	{ "critical target error", KERNELLINE_ERROR },
	{ "Medium Error", KERNELLINE_ERROR },
	{ "Hardware Error", KERNELLINE_ERROR },
};

void kernelline_clean(const char *from, char *out)
{
	size_t used = 0;

	for (; *from && *from != '\n' && used + 1 < KERNELLINE_TEXT_MAX; from++) {
		unsigned char byte = (unsigned char)*from;

		/* The kernel writes bytes that can't be printed as \x and two digits, a line's end as \x0a. */
		if (strncmp(from, "\\x0a", 4) == 0) {
			byte = ' ';
			from += 3;
		}
		if (byte < 0x20 || byte >= 0x7f)
			byte = ' ';
		if (byte != ' ' || (used && out[used - 1] != ' '))
			out[used++] = (char)byte;
	}
	out[used] = '\0';
}

int kernelline_parse(const char *record, struct kernelline *out)
{
	const char *text = strchr(record, ';');
	uint64_t sequence, mono_us;
	unsigned priority;

	if (!text || sscanf(record, "%u,%" SCNu64 ",%" SCNu64 ",", &priority, &sequence, &mono_us) != 3)
		return -EINVAL;
	*out = (struct kernelline){
		.sequence = sequence, .mono_us = mono_us, .level = priority & 7, .facility = priority >> 3
	};
	kernelline_clean(text + 1, out->text);
	return 0;
}

enum kernelline_word kernelline_word(const char *text)
{
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
		if (strstr(text, phrases[i].phrase))
			return phrases[i].word;
	return KERNELLINE_NONE;
}

void kernelline_add_name(struct kernelline_names *names, const char *name)
{
	if (!name[0] || strlen(name) >= KERNELLINE_NAME_MAX || names->count == KERNELLINE_NAMES_MAX)
		return;
	for (unsigned i = 0; i < names->count; i++)
		if (strcmp(names->name[i], name) == 0)
			return;
	(void)snprintf(names->name[names->count++], KERNELLINE_NAME_MAX, "%s", name);
}

/* A partition is called like its disk and a number, with a p between where the disk's name ends with a digit. */
static bool is_partition(const char *word, size_t length, const char *disk)
{
	size_t used = strlen(disk);

	if (length <= used || memcmp(word, disk, used) != 0)
		return false;
	if (isdigit((unsigned char)disk[used - 1]) && word[used++] != 'p')
		return false;
	if (used == length)
		return false;
	while (used < length && isdigit((unsigned char)word[used]))
		used++;
	return used == length;
}

static bool is_of_name(char byte)
{
	return isalnum((unsigned char)byte) || (byte && strchr(":._-", byte));
}

static bool is_named(const char *word, size_t length, const struct kernelline_names *names)
{
	/* "ata3.00: ", "dev sda, ": what ends a name is no part of it. */
	while (length && strchr(":._-", word[length - 1]))
		length--;
	for (unsigned i = 0; length && i < names->count; i++)
		if (strlen(names->name[i]) == length && memcmp(word, names->name[i], length) == 0)
			return true;
	return length && names->count && is_partition(word, length, names->name[0]);
}

bool kernelline_concerns(const char *text, const struct kernelline_names *names)
{
	while (*text) {
		size_t length = 0;

		while (is_of_name(text[length]))
			length++;
		if (length && is_named(text, length, names))
			return true;
		text += length ? length : 1;
	}
	return false;
}

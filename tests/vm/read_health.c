/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read-health KIND NODE [TYPE]: two readings of a drive, one after the other with one memory, an object a line. KIND: nvme,
 * ata, smartctl. For the guest. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "probes/reading.h"

static int read_once(int argc, char **argv, struct reading_memory *memory, struct reading *out)
{
	if (strcmp(argv[1], "nvme") == 0)
		return reading_read_nvme_known(argv[2], false, memory, out);
	if (strcmp(argv[1], "ata") == 0)
		return reading_read_ata_known(argv[2], false, memory, out);
	return reading_read_smartctl_known(argv[2], argc > 3 ? argv[3] : "", false, memory, out);
}

int main(int argc, char **argv)
{
	struct reading_memory memory = { .refused = 0 };

	if (argc < 3)
		return 64;
	for (int i = 0; i < 2; i++) {
		struct text text = TEXT_INIT;
		uint64_t start_ns = clock_mono_ns();
		struct reading reading;
		int rc = read_once(argc, argv, &memory, &reading);

		reading_json(&reading, &text);
		(void)printf("{\"rc\":%d,\"took_ms\":%llu,\"pages\":%u,%s}\n", rc,
			(unsigned long long)((clock_mono_ns() - start_ns) / NS_PER_MS), reading.page_count,
			text_string(&text));
		text_fini(&text);
		reading_fini(&reading);
	}
	reading_memory_fini(&memory);
	return 0;
}

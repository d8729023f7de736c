/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz-seeds: smartctl-exporter
 * fuzz-seeds: scrutiny
 * fuzz-seeds: telegraf
 * What a child prints that is said to be smartctl. */
#include <errno.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint8_t *bytes = fuzz_take(&input, size);
	struct reading reading;
	int rc;

	reading_init(&reading);
	rc = reading_decode_smartctl_json(&reading, (const char *)bytes, size);
	FUZZ_CHECK(rc == 0 || rc == -EINVAL);
	FUZZ_CHECK(rc < 0 ? reading.notes[0] && !reading.model[0] : reading.source[0]);
	fuzz_check_reading(&reading);
	reading_fini(&reading);
	free(bytes);
	return 0;
}

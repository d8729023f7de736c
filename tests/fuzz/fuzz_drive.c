/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A drive that answers anything, or refuses it, or is gone. */
#include "fuzz.h"

#include "probes/reading_private.h"

/* A byte says how each command ends. */
static int play(struct fuzz_input *input, void *bytes, size_t length)
{
	static const int ends[] = { 0, 0, 0, 0, 0x2, 0x109, 0x4002, 0x82, -5, -4, -19, -22 };
	uint8_t *code = fuzz_take(input, 1), *page;
	int rc = ends[*code % (sizeof(ends) / sizeof(ends[0]))];

	free(code);
	if (rc != 0)
		return rc;
	page = fuzz_take(input, length);
	memcpy(bytes, page, length);
	free(page);
	return 0;
}

static int play_open(void *arg)
{
	(void)arg;
	return 0;
}

static int play_identify(void *arg, uint8_t structure, uint32_t nsid, void *bytes)
{
	(void)structure, (void)nsid;
	return play(arg, bytes, 4096);
}

static int play_log(void *arg, const struct reading_nvme_log *log)
{
	return play(arg, log->bytes, log->length);
}

static void play_free(void *arg)
{
	(void)arg;
}

static void read_drive(struct fuzz_input *input)
{
	const struct reading_nvme_port port = { input, play_open, play_identify, play_log, play_free };
	struct reading_memory memory = { 0 };

	for (unsigned i = 0; i < 2; i++) {
		struct reading reading;
		int rc = reading_nvme_by_port(&port, 1, true, 60000, &memory, &reading);

		FUZZ_CHECK(rc <= 0 && (rc == 0) == (reading.page_count > 0));
		fuzz_check_reading(&reading);
		reading_fini(&reading);
	}
	reading_memory_fini(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };

	read_drive(&input);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine_fixture.h"

struct engine_job engine_fixture_job(const int *fds, enum config_engine kind)
{
	static const int no_fds[ENGINE_FIXTURE_FILES] = { -1, -1, -1 };

	return (struct engine_job){
		.fds = fds ? fds : no_fds,
		.fd_count = ENGINE_FIXTURE_FILES,
		.file_bytes = ENGINE_FIXTURE_FILE_BYTES,
		.to_bytes = (uint64_t)ENGINE_FIXTURE_FILES * ENGINE_FIXTURE_FILE_BYTES,
		.block_bytes = ENGINE_FIXTURE_BLOCK_BYTES,
		.threads = 2,
		.queue_depth = 9,
		.engine = kind,
		.run_tag = 0x1122334455667788,
		.seed = 42,
	};
}

void engine_fixture_sleep_ms(unsigned ms)
{
	(void)usleep(ms * 1000);
}

struct engine *engine_fixture_start(const struct engine_job *job)
{
	char why[ENGINE_WHY_MAX] = "";
	struct engine *engine = NULL;

	if (engine_new(job, &engine, why) || engine_start(engine, why)) {
		print_message("%s\n", why);
		fail();
	}
	return engine;
}

static _Atomic bool overlap;

bool engine_fixture_take_overlap(void)
{
	return atomic_exchange(&overlap, false);
}

int engine_fixture_ring_open(const struct ring_setup *setup, struct ring **out, char *notes)
{
	(void)setup;
	notes[0] = '\0';
	*out = (struct ring *)calloc(1, sizeof(struct engine_fixture_ring));
	return 0;
}

void engine_fixture_ring_close(struct ring *ring)
{
	free(ring);
}

void engine_fixture_ring_queue(struct ring *opaque, const struct ring_request *request)
{
	struct engine_fixture_ring *ring = (struct engine_fixture_ring *)opaque;

	for (unsigned i = 0; i < ring->count; i++)
		if (ring->queue[i].file == request->file &&
			ring->queue[i].offset_bytes == request->offset_bytes)
			atomic_store(&overlap, true);
	ring->queue[ring->count++] = *request;
}

int engine_fixture_ring_submit(struct ring *ring)
{
	(void)ring;
	return 0;
}

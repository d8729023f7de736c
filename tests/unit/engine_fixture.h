/* SPDX-License-Identifier: GPL-2.0-or-later */
/* engine_fixture.h - small jobs for the engine, and the parts of a scripted kernel interface: it keeps what it is given
 * until the test's own reap answers. */
#ifndef TESTS_ENGINE_FIXTURE_H
#define TESTS_ENGINE_FIXTURE_H

#include <stdbool.h>

#include "engine/engine.h"
#include "engine/ops.h"

enum {
	ENGINE_FIXTURE_FILES = 3,
	ENGINE_FIXTURE_FILE_BYTES = 5 << 19, /* 2.5 MiB: a fill request is cut at the file's end */
	ENGINE_FIXTURE_BLOCK_BYTES = 16384,
};

/* Two threads with nine requests over all the files; without @fds, descriptors that are none. */
struct engine_job engine_fixture_job(const int *fds, enum config_engine kind);
/* Made and started; fails the test with the reason when it can't. The caller frees. */
struct engine *engine_fixture_start(const struct engine_job *job);
void engine_fixture_sleep_ms(unsigned ms);

/* What a struct ring * of the functions below is. */
struct engine_fixture_ring {
	unsigned count;
	struct ring_request queue[64];
};
int engine_fixture_ring_open(const struct ring_setup *setup, struct ring **out, char *notes);
void engine_fixture_ring_close(struct ring *ring);
void engine_fixture_ring_queue(struct ring *ring, const struct ring_request *request);
int engine_fixture_ring_submit(struct ring *ring);
/* Whether a block was asked for that was under way already, since the last time this was asked. */
bool engine_fixture_take_overlap(void);

#endif

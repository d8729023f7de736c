/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "control_fixture.h"

static struct {
	sd_event *event;
	struct control_server *server;
	int stop_fd;
	pthread_t thread;
} rig;

static int on_stop(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	(void)fd;
	(void)events;
	(void)arg;
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

static void *loop_run(void *arg)
{
	(void)arg;
	(void)sd_event_loop(rig.event);
	return NULL;
}

void control_fixture_start(const char *folder,
	void (*handle)(void *arg, const struct control_request *request, struct control_answer *answer),
	void *arg)
{
	char why[CONTROL_WHY_MAX] = "";

	assert_int_equal(sd_event_new(&rig.event), 0);
	rig.stop_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(rig.stop_fd >= 0);
	assert_true(sd_event_add_io(rig.event, NULL, rig.stop_fd, EPOLLIN, on_stop, NULL) >= 0);
	if (control_open(rig.event, folder, handle, arg, &rig.server, why) < 0)
		fail_msg("%s", why);
	assert_int_equal(pthread_create(&rig.thread, NULL, loop_run, NULL), 0);
}

void control_fixture_stop(void)
{
	const uint64_t one = 1;

	assert_int_equal(write(rig.stop_fd, &one, sizeof(one)), sizeof(one));
	(void)pthread_join(rig.thread, NULL);
	control_close(rig.server);
	(void)sd_event_unref(rig.event);
	(void)close(rig.stop_fd);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket: a real one in a scratch folder, served by a real event loop in a thread of its own; the test is
 * its clients, good and bad. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "archive_fixture.h"
#include "base/clock.h"
#include "control/control.h"
#include "control_fixture.h"

#define BIG_BYTES   300000
#define NOBODY	    65534
#define CLIENTS_MAX 16

static struct {
	char *folder;
	char path[600];
	bool is_up;
} rig;

/* What the handler saw; the handler runs in the loop's thread. */
static pthread_mutex_t seen_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct control_request seen;
static unsigned seen_count;

static void handle(void *arg, const struct control_request *request, struct control_answer *answer)
{
	static char big[BIG_BYTES + 1];

	assert_ptr_equal(arg, &rig);
	(void)pthread_mutex_lock(&seen_mutex);
	seen = *request;
	seen_count++;
	(void)pthread_mutex_unlock(&seen_mutex);
	if (request->verb == CONTROL_STATUS) {
		memset(big, '"', BIG_BYTES); /* doubled by the escapes */
		text_add(&answer->text, big);
	} else if (strcmp(request->drive, "unknown") == 0) {
		answer->code = EX_NOINPUT;
		text_add(&answer->text, "unknown: no such \"drive\"\n");
	} else {
		text_addf(&answer->text, "done for %s", request->who);
	}
}

static unsigned count_seen(struct control_request *request)
{
	unsigned count;

	(void)pthread_mutex_lock(&seen_mutex);
	count = seen_count;
	if (request)
		*request = seen;
	(void)pthread_mutex_unlock(&seen_mutex);
	return count;
}

static void server_start(void)
{
	rig.is_up = true;
	control_fixture_start(rig.folder, handle, &rig);
}

static void server_stop(void)
{
	rig.is_up = false;
	control_fixture_stop();
}

static int set_up_folder(void **state)
{
	(void)state;
	rig.folder = fixture_folder_new();
	(void)snprintf(rig.path, sizeof(rig.path), "%s/control.sock", rig.folder);
	seen_count = 0;
	return 0;
}

static int tear_down_folder(void **state)
{
	(void)state;
	fixture_folder_remove(rig.folder);
	return 0;
}

static int set_up(void **state)
{
	(void)set_up_folder(state);
	server_start();
	return 0;
}

static int tear_down(void **state)
{
	if (rig.is_up)
		server_stop();
	return tear_down_folder(state);
}

static int plain_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", rig.path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		fail_msg("connect: %s", strerror(errno));
	return fd;
}

/* All that comes until the end, at most 8 s of waiting. */
static size_t receive_all(int fd, char *out, size_t size)
{
	size_t length = 0;
	ssize_t got;

	do {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

		assert_int_equal(poll(&poll_fd, 1, 8000), 1);
		got = recv(fd, out + length, size - 1 - length, 0);
		if (got > 0)
			length += (size_t)got;
	} while (got > 0);
	out[length] = '\0';
	return length;
}

static void check_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void test_requests_print_and_parse_to_the_same(void **state)
{
	static const struct control_request rows[] = {
		{ .verb = CONTROL_STATUS },
		{ .verb = CONTROL_START, .drive = "evo840" },
		{ .verb = CONTROL_PAUSE, .drive = "a.b_c-9" },
		{ .verb = CONTROL_RESUME, .drive = "x" },
		{ .verb = CONTROL_STOP, .drive = "evo840" },
		{ .verb = CONTROL_STOP, .drive = "evo840", .purge = true },
		{ .verb = CONTROL_NOTE,
			.run = "evo-20261130T214900Z",
			.text = "fan \"2\" \\ d\xc3\xa9j\xc3\xa0: {}" },
		{ .verb = CONTROL_ALERTS },
		{ .verb = CONTROL_ALERT_TEST },
		{ .verb = CONTROL_ALERT_TEST, .channel = "ops" },
		{ .verb = CONTROL_ALERT_RESULT, .text = "7", .channel = "ops" },
		{ .verb = CONTROL_MUTE, .drive = "evo840", .duration = "2h" },
		{ .verb = CONTROL_MUTE, .drive = "evo840", .alert = "saw-tooth", .duration = "1.5 d" },
		{ .verb = CONTROL_UNMUTE, .drive = "evo840" },
		{ .verb = CONTROL_UNMUTE, .drive = "evo840", .alert = "stall" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct control_request back;
		struct text text = TEXT_INIT;
		char why[CONTROL_WHY_MAX] = "";

		memset(&back, 'x', sizeof(back));
		control_print_request(&rows[i], &text);
		assert_int_equal(text.bytes[text.length - 1], '\n');
		assert_null(memchr(text.bytes, '\n', text.length - 1));
		if (control_parse_request(text_string(&text), &back, why) < 0)
			fail_msg("%s: %s", text_string(&text), why);
		assert_int_equal(back.verb, rows[i].verb);
		assert_string_equal(back.drive, rows[i].drive);
		assert_string_equal(back.run, rows[i].run);
		assert_string_equal(back.text, rows[i].text);
		assert_string_equal(back.channel, rows[i].channel);
		assert_string_equal(back.alert, rows[i].alert);
		assert_string_equal(back.duration, rows[i].duration);
		assert_int_equal(back.purge, rows[i].purge);
		assert_string_equal(back.who, "");
		text_fini(&text);
	}
}

#define D   "\"drive\":\"evo\""
#define N   "\"command\":\"note\",\"run\":\"evo\",\"text\":"
#define TEN "0123456789"

static const struct {
	const char *line, *says;
} malformed[] = {
	{ "", "is no JSON" },
	{ " ", "is no JSON" },
	{ "pause evo", "is no JSON" },
	{ "{", "is no JSON" },
	{ "[]", "is no JSON object" },
	{ "null", "is no JSON" },
	{ "17", "is no JSON object" },
	{ "\"status\"", "is no JSON object" },
	{ "{}", "command: is missing" },
	{ "{" D "}", "command: is missing" },
	{ "{\"command\":7}", "command: must be a text" },
	{ "{\"command\":null}", "command: must be a text" },
	{ "{\"command\":[\"status\"]}", "command: must be a text" },
	{ "{\"command\":\"Status\"}", "command: is none of status, start" },
	{ "{\"command\":\"\"}", "command: is none of" },
	{ "{\"command\":\"status\\u0000\"}", "holds a NUL" },
	{ "{\"command\":\"arm\"," D "}", "command: is none of" },
	{ "{\"Command\":\"status\"}", "command: is missing" },
	{ "{\"command\":\"status\",\"command\":\"status\"}", "has a key twice" },
	{ "{\"command\":\"pause\"," D "," D "}", "has a key twice" },
	{ "{\"command\":\"pause\",\"drive\":\"a\",\"dri\\u0076e\":\"evo\"}", "has a key twice" },
	{ "{\"command\":\"pause\",\"drive\\u0000x\":\"evo\"}", "holds a NUL" },
	{ "{\"command\":\"status\"," D "}", "status: has a key that this command does not take" },
	{ "{\"command\":\"pause\"," D ",\"purge\":true}", "pause: has a key" },
	{ "{\"command\":\"pause\"," D ",\"force\":true}", "pause: has a key" },
	{ "{\"command\":\"pause\"," D ",\"who\":\"root\"}", "pause: has a key" },
	{ "{\"command\":\"pause\"," D ",\"\":\"\"}", "pause: has a key" },
	{ "{\"command\":\"note\"," D ",\"text\":\"x\"}", "note: has a key" },
	{ "{\"command\":\"pause\"}", "drive: is missing" },
	{ "{\"command\":\"stop\",\"purge\":true}", "drive: is missing" },
	{ "{\"command\":\"stop\"," D ",\"purge\":1}", "purge: must be true or false" },
	{ "{\"command\":\"stop\"," D ",\"purge\":\"true\"}", "purge: must be true or false" },
	{ "{\"command\":\"stop\"," D ",\"purge\":null}", "purge: must be true or false" },
	{ "{\"command\":\"stop\"," D ",\"purge\":TRUE}", "is no JSON" },
	{ "{\"command\":\"pause\",\"drive\":null}", "drive: must be a text" },
	{ "{\"command\":\"pause\",\"drive\":5}", "drive: must be a text" },
	{ "{\"command\":\"pause\",\"drive\":NaN}", "drive: must be a text" },
	{ "{\"command\":\"pause\",\"drive\":18446744073709551616}", "drive: must be a text" },
	{ "{\"command\":\"pause\",\"drive\":1e999}", "drive: must be a text" },
	{ "{\"command\":\"pause\",\"drive\":{" D "}}", "drive: must be a text" },
	{ "{\"command\":\"pause\",\"drive\":{\"a\":{\"b\":{\"c\":{\"d\":1}}}}}", "is no JSON" },
	{ "{\"command\":\"pause\",\"drive\":[[[[[[[[\"evo\"]]]]]]]]}", "is no JSON" },
	{ "{\"command\":\"pause\",\"drive\":\"\"}", "drive: is empty" },
	{ "{\"command\":\"pause\",\"drive\":\"../evo\"}", "drive: is no name" },
	{ "{\"command\":\"pause\",\"drive\":\".evo\"}", "drive: is no name" },
	{ "{\"command\":\"pause\",\"drive\":\"-evo\"}", "drive: is no name" },
	{ "{\"command\":\"pause\",\"drive\":\"e vo\"}", "drive: is no name" },
	{ "{\"command\":\"pause\",\"drive\":\"ev\xc3\xb6\"}", "drive: is no name" },
	{ "{\"command\":\"pause\",\"drive\":\"evo\\n\"}", "drive: is no name" },
	{ "{\"command\":\"pause\",\"drive\":\"" TEN TEN TEN TEN TEN TEN TEN "0\"}", NULL },
	{ "{\"command\":\"pause\",\"drive\":\"" TEN TEN TEN TEN TEN TEN TEN "01\"}", "drive: is too long" },
	{ "{\"command\":\"pause\"," D "} {}", "is no JSON" },
	{ "{\"command\":\"pause\"," D "}x", "is no JSON" },
	{ "{\"command\":\"pause\"," D ",}", "is no JSON" },
	{ "{'command':'status'}", "is no JSON" },
	{ "{\"command\":\"status\"/**/}", "is no JSON" },
	{ "{\"command\":\"pause\",\"drive\":\"ev\xff\"}", "is no JSON" },
	{ "{" N "\"\"}", "text: is empty" },
	{ "{" N "\" \\t\\n\"}", "text: is empty" },
	{ "{" N "\"a\\u0007b\"}", "text: holds a control character" },
	{ "{" N "\"a\\u001b[2Jb\"}", "text: holds a control character" },
	{ "{" N "\"a\\u007fb\"}", "text: holds a control character" },
	{ "{" N "\"a\\u009b2J\"}", "text: holds a control character" },
	{ "{" N "\"a\\u202eb\"}", "text: holds a control character" },
	{ "{" N "\"a\\u2028b\"}", "text: holds a control character" },
	{ "{" N "\"a\\u0000b\"}", "holds a NUL" },
	{ "{" N "\"a\xe2\x82\"}", "is no JSON" },
	{ "{" N "\"a\xc0\xaf\"}", NULL }, /* which of the two layers says so is not the point */
	{ "{" N "true}", "text: must be a text" },
	{ "{\"command\":\"note\",\"run\":\"evo\"}", "text: is missing" },
	{ "{\"command\":\"note\",\"text\":\"x\"}", "run: is missing" },
	{ "{\"command\":\"mute\"," D "}", "duration: is missing" },
	{ "{\"command\":\"mute\",\"duration\":\"1h\"}", "drive: is missing" },
	{ "{\"command\":\"mute\"," D ",\"duration\":\"1h\",\"alert\":\"a b\"}", "alert: is no name" },
	{ "{\"command\":\"alert-test\",\"channel\":\"../x\"}", "channel: is no name" },
	{ "{\"command\":\"alerts\"," D "}", "alerts: has a key that this command does not take" },
};

static void test_malformed_requests_are_refused_whole(void **state)
{
	unsigned accepted = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(malformed); i++) {
		struct control_request out, before;
		char why[CONTROL_WHY_MAX] = "";
		int rc;

		memset(&before, 0x5a, sizeof(before));
		out = before;
		rc = control_parse_request(malformed[i].line, &out, why);
		if (!malformed[i].says) {
			accepted += rc == 0;
			continue;
		}
		if (rc != -EINVAL || !strstr(why, malformed[i].says))
			fail_msg("%s: %d, says %s", malformed[i].line, rc, why);
		assert_memory_equal(&out, &before, sizeof(out));
	}
	assert_int_equal(accepted, 1); /* the longest name */
}

static void test_text_has_a_length(void **state)
{
	char line[10000], why[CONTROL_WHY_MAX] = "";
	struct control_request out = { 0 };

	(void)state;
	(void)snprintf(line, sizeof(line), "{" N "\"a\\tb\\r\\nc%0*d\"}", CONTROL_TEXT_MAX - 7, 0);
	assert_int_equal(control_parse_request(line, &out, why), 0);
	assert_int_equal(strlen(out.text), CONTROL_TEXT_MAX - 1);
	assert_memory_equal(out.text, "a b  c000", 9);
	(void)snprintf(line, sizeof(line), "{" N "\"%0*d\"}", CONTROL_TEXT_MAX, 0);
	assert_int_equal(control_parse_request(line, &out, why), -EINVAL);
	assert_string_equal(why, "text: has 512 bytes, more than 511");
	(void)snprintf(line, sizeof(line), "{" N "\"a\"%9000s}", "");
	assert_int_equal(control_parse_request(line, &out, why), -EINVAL);
	assert_string_equal(why, "request: is too long");
}

/* Whatever comes: refused with words and nothing taken, or taken as what prints to the same again. */
static void test_mutated_requests(void **state)
{
	static const char *const seeds[] = { "{\"command\":\"stop\"," D ",\"purge\":true}",
		"{" N "\"d\\u00e9j\xc3\xa0 \\n \\\"x\\\\\"}", "{\"command\":\"status\"}",
		"{ \"drive\" : \"evo\" , \"command\" : \"pause\" }" };
	uint64_t seed = 7;
	unsigned accepted = 0;

	(void)state;
	for (unsigned round = 0; round < 100000; round++) {
		struct control_request out = { .who = "untouched" }, back;
		char line[200], why[CONTROL_WHY_MAX] = "";
		struct text text = TEXT_INIT;
		size_t length;

		text_copy(line, sizeof(line), seeds[fixture_random(&seed, ARRAY_LEN(seeds))]);
		length = strlen(line);
		for (uint64_t flips = 1 + fixture_random(&seed, 3); flips; flips--)
			line[fixture_random(&seed, length)] =
				fixture_random(&seed, 2) ? (char)(1 + fixture_random(&seed, 255))
							 : "\"\\{}[]:,u0 \n/'"[fixture_random(&seed, 14)];
		if (control_parse_request(line, &out, why) < 0) {
			assert_string_equal(out.who, "untouched");
			assert_true(why[0]);
			continue;
		}
		accepted++;
		control_print_request(&out, &text);
		if (control_parse_request(text_string(&text), &back, why) < 0)
			fail_msg("%s became %s: %s", line, text_string(&text), why);
		assert_memory_equal(&back, &out, sizeof(back));
		text_fini(&text);
	}
	assert_true(accepted > 1000);
}

static int ask(enum control_verb verb, const char *drive, struct text *answer)
{
	struct control_request request = { .verb = verb, .run = "evo", .text = "hello" };

	text_copy(request.drive, sizeof(request.drive), drive);
	return control_ask(rig.folder, &request, answer);
}

static void test_a_command_is_handled_and_answered(void **state)
{
	struct text answer = TEXT_INIT;
	struct control_request request;
	char who[96];
	struct stat st;

	(void)state;
	assert_int_equal(stat(rig.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	assert_int_equal(ask(CONTROL_STOP, "evo", &answer), 0);
	(void)snprintf(who, sizeof(who), "uid %u, pid %d", (unsigned)getuid(), (int)getpid());
	check_contains(text_string(&answer), who);
	assert_int_equal(count_seen(&request), 1);
	assert_int_equal(request.verb, CONTROL_STOP);
	assert_string_equal(request.drive, "evo");
	check_contains(request.who, who);
	if (getuid() == 0)
		check_contains(request.who, "root (uid 0");
	assert_int_equal(ask(CONTROL_PAUSE, "unknown", &answer), EX_NOINPUT);
	assert_string_equal(text_string(&answer), "unknown: no such \"drive\"\n");
	assert_int_equal(ask(CONTROL_NOTE, "", &answer), 0);
	assert_int_equal(count_seen(&request), 3);
	assert_string_equal(request.text, "hello");
	text_fini(&answer);
}

static void test_a_long_answer_comes_whole(void **state)
{
	struct text answer = TEXT_INIT;

	(void)state;
	assert_int_equal(ask(CONTROL_STATUS, "", &answer), 0);
	assert_int_equal(answer.length, BIG_BYTES);
	assert_int_equal(strspn(answer.bytes, "\""), BIG_BYTES);
	text_fini(&answer);
}

static void exchange(const char *bytes, size_t length, char *answer, size_t size)
{
	int fd = plain_connect();

	/* What is refused early may not be taken whole. */
	(void)send(fd, bytes, length, MSG_NOSIGNAL);
	(void)shutdown(fd, SHUT_WR);
	(void)receive_all(fd, answer, size);
	(void)close(fd);
}

static void test_bad_lines_are_answered_in_words(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		const char *says;
	} rows[] = {
#define LINE(text, says) { text, sizeof(text) - 1, says }
		LINE("\n", "{\"ok\":false,\"code\":65,\"text\":\"request: is no JSON\"}\n"),
		LINE("GET / HTTP/1.1\r\n", "{\"ok\":false,\"code\":65,\"text\":\"request: is no JSON\"}\n"),
		LINE("{\"command\":\"status\"}", "\"request: ends without a newline\""),
		LINE("{\"command\":\"pause\"," D "}\n{\"command\":\"pause\"," D "}\n",
			"is more than one line"),
		LINE("{\"command\":\"pause\"," D "}\0\n", "holds a NUL"),
		LINE("{\"command\":\"pause\"," D "}\0{}\n", "holds a NUL"),
		LINE("{\"command\":\"jump\"}\n", "command: is none of"),
	};
	char answer[2000], *huge = malloc(100000);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		exchange(rows[i].bytes, rows[i].length, answer, sizeof(answer));
		check_contains(answer, rows[i].says);
	}
	assert_non_null(huge);
	memset(huge, ' ', 100000);
	exchange(huge, 100000, answer, sizeof(answer));
	assert_string_equal(answer, "{\"ok\":false,\"code\":65,\"text\":\"request: is too long\"}\n");
	memset(huge, '[', 100000);
	huge[8000] = '\n';
	exchange(huge, 8001, answer, sizeof(answer));
	assert_string_equal(answer, "{\"ok\":false,\"code\":65,\"text\":\"request: is no JSON\"}\n");
	free(huge);
	assert_int_equal(count_seen(NULL), 0);
}

/* Slow, silent and deaf clients side by side: each has its 5 s, and nobody else waits for them. */
static void test_slow_clients_are_dropped(void **state)
{
	static const char request[] = "{\"command\":\"status\"}\n";
	const uint64_t from_ns = clock_mono_ns();
	int slow = plain_connect(), silent = plain_connect(), deaf = plain_connect(), gone = plain_connect();
	int small = 4096;
	struct text answer = TEXT_INIT;
	char said[1000], *rest = malloc(BIG_BYTES * 3);
	uint64_t took_ns;
	size_t got;

	(void)state;
	(void)setsockopt(deaf, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(send(deaf, request, sizeof(request) - 1, 0), sizeof(request) - 1);
	(void)close(gone);
	for (size_t i = 0; i < 12; i++) {
		ssize_t sent = send(slow, request + i, 1, MSG_NOSIGNAL);

		if (sent != 1)
			break;
		/* Meanwhile others are served. */
		assert_int_equal(ask(CONTROL_PAUSE, "evo", &answer), 0);
		(void)usleep(500000);
	}
	got = receive_all(slow, said, sizeof(said));
	took_ns = clock_mono_ns() - from_ns;
	assert_true(got > 0);
	assert_string_equal(
		said, "{\"ok\":false,\"code\":75,\"text\":\"no whole request came within 5 s\"}\n");
	assert_true(took_ns > 4900000000 && took_ns < 7500000000);
	(void)receive_all(silent, said, sizeof(said));
	check_contains(said, "within 5 s");
	assert_true(clock_mono_ns() - from_ns < 7500000000);
	/* What the deaf one finds is the begin of its answer. */
	assert_non_null(rest);
	(void)usleep(500000);
	got = receive_all(deaf, rest, BIG_BYTES * 3);
	assert_true(got > 100 && got < BIG_BYTES * 2);
	assert_memory_equal(rest, "{\"ok\":true,\"text\":\"\\\"", 20);
	free(rest);
	(void)close(slow);
	(void)close(silent);
	(void)close(deaf);
	text_fini(&answer);
}

static void test_forty_at_once(void **state)
{
	struct text answer = TEXT_INIT;
	char said[1000];
	int fds[40], held = 0, busy = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = plain_connect();
	assert_int_equal(ask(CONTROL_PAUSE, "evo", &answer), EX_TEMPFAIL);
	check_contains(text_string(&answer), "busy");
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		struct pollfd poll_fd = { .fd = fds[i], .events = POLLIN };

		if (poll(&poll_fd, 1, 0) == 0) {
			held++;
			continue;
		}
		(void)receive_all(fds[i], said, sizeof(said));
		assert_string_equal(said,
			"{\"ok\":false,\"code\":75,\"text\":\"busy: 16 others are asking; try again\"}\n");
		(void)close(fds[i]);
		fds[i] = -1;
		busy++;
	}
	assert_int_equal(held, CLIENTS_MAX);
	assert_int_equal(busy, 40 - CLIENTS_MAX);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	/* Their places are free as soon as they are gone. */
	(void)usleep(100000);
	assert_int_equal(ask(CONTROL_PAUSE, "evo", &answer), 0);
	text_fini(&answer);
}

/* The code that a child with these ids gets, words in @words. */
static int ask_as(uid_t uid, gid_t gid, size_t group_count, const gid_t *groups, char *words, size_t size)
{
	int pipe_fds[2], status = 0;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	if (child == 0) {
		struct text answer = TEXT_INIT;
		int code = -1;

		if (setgroups(group_count, groups) == 0 && setgid(gid) == 0 && setuid(uid) == 0)
			code = ask(CONTROL_PAUSE, "evo", &answer);
		(void)!write(pipe_fds[1], text_string(&answer), answer.length);
		_exit(code);
	}
	(void)close(pipe_fds[1]);
	got = read(pipe_fds[0], words, size - 1);
	words[got > 0 ? got : 0] = '\0';
	(void)close(pipe_fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_who_may_ask(void **state)
{
	gid_t groups[40], own;
	char words[1000];
	struct stat st;

	(void)state;
	if (getuid() != 0)
		skip();
	assert_int_equal(stat(rig.path, &st), 0);
	own = st.st_gid;
	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		groups[i] = (gid_t)(60000 + i);
	assert_int_equal(chmod(rig.folder, 0755), 0);
	/* The mode of the socket keeps strangers out. */
	assert_int_equal(ask_as(NOBODY, NOBODY, 0, NULL, words, sizeof(words)), EX_NOPERM);
	check_contains(words, "control.sock: not permitted: ask as root");
	/* And the service itself does, where somebody has opened it. */
	assert_int_equal(chmod(rig.path, 0666), 0);
	assert_int_equal(ask_as(NOBODY, NOBODY, 0, NULL, words, sizeof(words)), EX_NOPERM);
	check_contains(words, "only root, the service's own user and members of the socket's group");
	assert_int_equal(ask_as(NOBODY, NOBODY, 40, groups, words, sizeof(words)), EX_NOPERM);
	assert_int_equal(chmod(rig.path, 0660), 0);
	assert_int_equal(count_seen(NULL), 0);
	/* Members, by their first group or by one of many. */
	assert_int_equal(ask_as(NOBODY, own, 0, NULL, words, sizeof(words)), 0);
	groups[39] = own;
	assert_int_equal(ask_as(NOBODY, NOBODY, 40, groups, words, sizeof(words)), 0);
	check_contains(words, "uid 65534, pid ");
	assert_int_equal(count_seen(NULL), 2);
}

static int open_second(char *why)
{
	struct control_server *server = NULL;
	sd_event *event = NULL;
	int rc;

	assert_int_equal(sd_event_new(&event), 0);
	rc = control_open(event, rig.folder, handle, &rig, &server, why);
	control_close(server);
	(void)sd_event_unref(event);
	return rc;
}

static void test_a_live_socket_is_kept_and_a_stale_one_replaced(void **state)
{
	struct text answer = TEXT_INIT;
	char why[CONTROL_WHY_MAX] = "", saved[700];
	struct stat st;
	FILE *file;

	(void)state;
	assert_int_equal(open_second(why), -EADDRINUSE);
	check_contains(why, "/control.sock: another drivesoakd listens");
	assert_int_equal(ask(CONTROL_PAUSE, "evo", &answer), 0);
	/* A service that died leaves its socket: take it away from under this one and put it back. */
	(void)snprintf(saved, sizeof(saved), "%s/saved", rig.folder);
	assert_int_equal(rename(rig.path, saved), 0);
	server_stop();
	assert_int_equal(rename(saved, rig.path), 0);
	assert_int_equal(ask(CONTROL_PAUSE, "evo", &answer), EX_UNAVAILABLE);
	check_contains(
		text_string(&answer), "no service listens there; start it with: systemctl start drivesoakd");
	server_start();
	assert_int_equal(ask(CONTROL_PAUSE, "evo", &answer), 0);
	server_stop();
	assert_int_equal(stat(rig.path, &st), -1);
	assert_int_equal(ask(CONTROL_PAUSE, "evo", &answer), EX_UNAVAILABLE);
	/* What is no socket is not ours. */
	file = fopen(rig.path, "w");
	assert_non_null(file);
	(void)fclose(file);
	assert_int_equal(open_second(why), -EEXIST);
	check_contains(why, "is there and no socket; remove it first");
	assert_int_equal(stat(rig.path, &st), 0);
	text_fini(&answer);
}

static void test_another_socket_in_its_place_is_not_removed(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(unlink(rig.path), 0);
	assert_int_equal(mknod(rig.path, S_IFSOCK | 0600, 0), 0);
	server_stop();
	assert_int_equal(stat(rig.path, &st), 0);
}

static void test_a_long_path_works_too(void **state)
{
	struct text answer = TEXT_INIT;
	char *short_folder = rig.folder, folder[500];

	(void)state;
	server_stop();
	(void)snprintf(folder, sizeof(folder), "%s/%0150d", short_folder, 0);
	assert_int_equal(mkdir(folder, 0755), 0);
	rig.folder = folder;
	server_start();
	assert_int_equal(ask(CONTROL_PAUSE, "evo", &answer), 0);
	server_stop();
	rig.folder = short_folder;
	text_fini(&answer);
}

/* One that accepts and then says something else, or nothing. */
static void *liar_run(void *arg)
{
	int *listen_fd = arg;
	static const char *const lies[] = { "", "{\"ok\":true", "{\"ok\":false,\"text\":\"no code\"}\n",
		"{\"ok\":1,\"text\":\"\"}\n", "{\"ok\":false,\"code\":0,\"text\":\"\"}\n",
		"{\"ok\":false,\"code\":700,\"text\":\"\"}\n", "nonsense\n" };

	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		int fd = accept(*listen_fd, NULL, NULL);
		char room[200];

		(void)recv(fd, room, sizeof(room), 0);
		(void)send(fd, lies[i], strlen(lies[i]), MSG_NOSIGNAL);
		(void)close(fd);
	}
	return NULL;
}

static void test_the_client_believes_nothing_half(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct text answer = TEXT_INIT;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pthread_t thread;

	(void)state;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", rig.path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(pthread_create(&thread, NULL, liar_run, &fd), 0);
	for (int i = 0; i < 7; i++) {
		assert_int_equal(ask(CONTROL_PAUSE, "evo", &answer), EX_PROTOCOL);
		check_contains(text_string(&answer), "/control.sock: the ");
	}
	(void)pthread_join(thread, NULL);
	(void)close(fd);
	assert_int_equal(unlink(rig.path), 0);
	text_fini(&answer);
}

int main(void)
{
#define CASE(function)	cmocka_unit_test_setup_teardown(function, set_up, tear_down)
#define ALONE(function) cmocka_unit_test_setup_teardown(function, set_up_folder, tear_down_folder)
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_print_and_parse_to_the_same),
		cmocka_unit_test(test_malformed_requests_are_refused_whole),
		cmocka_unit_test(test_text_has_a_length),
		cmocka_unit_test(test_mutated_requests),
		CASE(test_a_command_is_handled_and_answered),
		CASE(test_a_long_answer_comes_whole),
		CASE(test_bad_lines_are_answered_in_words),
		CASE(test_slow_clients_are_dropped),
		CASE(test_forty_at_once),
		CASE(test_who_may_ask),
		CASE(test_a_live_socket_is_kept_and_a_stale_one_replaced),
		CASE(test_another_socket_in_its_place_is_not_removed),
		CASE(test_a_long_path_works_too),
		ALONE(test_the_client_believes_nothing_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <math.h>

#include "run/pathgroup.h"

#define S	1000000000ULL
#define MEMBERS 4

#define AWAY                                                                                                 \
	{                                                                                                    \
		.work = PATHGROUP_AWAY                                                                       \
	}
#define NONE PATHGROUP_NONE
#define FILLS(s)                                                                                             \
	{                                                                                                    \
		PATHGROUP_FILLS, false, (s)*S                                                                \
	}
#define WANTS(s)                                                                                             \
	{                                                                                                    \
		PATHGROUP_WANTS, false, (s)*S                                                                \
	}
#define FILLS_M                                                                                              \
	{                                                                                                    \
		PATHGROUP_FILLS, true, 60 * S                                                                \
	}
#define WANTS_M                                                                                              \
	{                                                                                                    \
		PATHGROUP_WANTS, true, 60 * S                                                                \
	}
#define DONE_M                                                                                               \
	{                                                                                                    \
		PATHGROUP_FINISHED, true, 8 * S                                                              \
	}
#define SOAKS                                                                                                \
	{                                                                                                    \
		PATHGROUP_OTHER, false, 0                                                                    \
	}
#define SOAKS_M                                                                                              \
	{                                                                                                    \
		PATHGROUP_OTHER, true, 60 * S                                                                \
	}

static void test_whose_turn_it_is(void **state)
{
	static const struct {
		struct pathgroup_member members[MEMBERS];
		size_t turn, blocker;
	} rows[] = {
		/* nobody there */
		{ { AWAY, AWAY, AWAY, AWAY }, NONE, NONE },
		/* alone in the group: measured all the same, for others may come */
		{ { AWAY, WANTS(0), AWAY, AWAY }, 1, NONE },
		{ { AWAY, FILLS(30), AWAY, AWAY }, 1, NONE },
		{ { AWAY, FILLS_M, AWAY, AWAY }, NONE, NONE },
		/* in the order of the config, but who has begun goes on */
		{ { WANTS(0), WANTS(0), WANTS(0), AWAY }, 0, NONE },
		{ { WANTS(0), FILLS(0), WANTS(0), AWAY }, 1, NONE },
		{ { WANTS(0), FILLS(20), WANTS(0), AWAY }, 1, NONE },
		/* interrupted by a pause: its time is continued, when nobody else has begun meanwhile */
		{ { WANTS(40), FILLS(10), AWAY, AWAY }, 1, NONE },
		{ { WANTS(0), WANTS(40), WANTS(10), AWAY }, 1, NONE },
		/* one after the other, then all */
		{ { FILLS_M, WANTS(0), WANTS(0), AWAY }, 1, NONE },
		{ { WANTS_M, FILLS(59), WANTS(0), AWAY }, 1, NONE },
		{ { WANTS_M, FILLS_M, WANTS(0), AWAY }, 2, NONE },
		{ { WANTS_M, WANTS_M, FILLS_M, AWAY }, NONE, NONE },
		{ { FILLS_M, FILLS_M, FILLS_M, AWAY }, NONE, NONE },
		/* one that comes later stops the others for its time */
		{ { FILLS_M, FILLS_M, WANTS(0), AWAY }, 2, NONE },
		/* absent, failed, paused or done: holds nobody */
		{ { AWAY, WANTS_M, AWAY, WANTS_M }, NONE, NONE },
		/* filled before its time was over: its next phase waits for those that are not measured */
		{ { DONE_M, WANTS(0), AWAY, AWAY }, 1, NONE },
		{ { DONE_M, FILLS_M, AWAY, AWAY }, NONE, NONE },
		{ { DONE_M, DONE_M, FILLS(3), AWAY }, 2, NONE },
		/* one that is at work otherwise makes it impossible, unless all are measured */
		{ { SOAKS, WANTS(0), AWAY, AWAY }, NONE, 0 },
		{ { WANTS(0), FILLS(30), AWAY, SOAKS }, NONE, 3 },
		{ { SOAKS_M, WANTS(0), WANTS_M, AWAY }, NONE, 0 },
		{ { SOAKS_M, FILLS_M, WANTS_M, AWAY }, NONE, NONE },
		{ { SOAKS, SOAKS, AWAY, AWAY }, NONE, NONE },
		{ { SOAKS, DONE_M, AWAY, AWAY }, NONE, NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pathgroup_answer answer = pathgroup_step(rows[i].members, MEMBERS);

		if (answer.turn != rows[i].turn || answer.blocker != rows[i].blocker)
			fail_msg("row %zu: turn %d, blocker %d", i, (int)answer.turn, (int)answer.blocker);
	}
	assert_int_equal(pathgroup_step(NULL, 0).turn, NONE);
}

/* Three drives from the first to the last second: never two at once before all are measured. */
static void test_a_course(void **state)
{
	struct pathgroup_member members[3] = { { .work = PATHGROUP_WANTS }, { .work = PATHGROUP_WANTS },
		{ .work = PATHGROUP_WANTS } };
	unsigned together_s = 0;

	(void)state;
	for (unsigned second = 0; second < 200; second++) {
		size_t turn = pathgroup_step(members, 3).turn;

		assert_int_equal(turn, second < 60 ? 0 : second < 120 ? 1 : second < 180 ? 2 : NONE);
		for (size_t i = 0; i < 3; i++)
			members[i].work = turn == NONE || turn == i ? PATHGROUP_FILLS : PATHGROUP_WANTS;
		if (turn == NONE) {
			together_s++;
			continue;
		}
		members[turn].alone_ns += S;
		members[turn].is_measured = members[turn].alone_ns >= 60 * S;
	}
	assert_int_equal(together_s, 20);
}

#define MIB		((uint64_t)1 << 20)
#define SUM		1e9
#define SLOWED(pct, of) "shares hba0 with b, c: fills at " pct " % of what it does alone (" of ")"
#define FULL(sum, pct)                                                                                       \
	"the drives of hba0 write " sum " together, " pct " % of its link: the link may be the limit"

static void test_what_the_figures_say(void **state)
{
	static const struct {
		struct pathgroup_rate alone, together;
		double sum;
		uint64_t link;
		double share;
		const char *badge;
	} rows[] = {
		{ { 6000 * MIB, 60 * S }, { 6000 * MIB, 60 * S }, SUM, UINT64_MAX, 1, "" },
		{ { 6000 * MIB, 60 * S }, { 5700 * MIB, 60 * S }, SUM, UINT64_MAX, 0.95, "" },
		{ { 6000 * MIB, 60 * S }, { 5640 * MIB, 60 * S }, SUM, UINT64_MAX, 0.94,
			SLOWED("94", "94 MiB/s of 100 MiB/s") },
		/* a fill that ended before its time */
		{ { 6000 * MIB, 60 * S }, { 1000 * MIB, 20 * S }, SUM, UINT64_MAX, 0.5,
			SLOWED("50", "50 MiB/s of 100 MiB/s") },
		{ { 6000 * MIB, 60 * S }, { 0, 60 * S }, SUM, UINT64_MAX, 0,
			SLOWED("0", "0 B/s of 100 MiB/s") },
		{ { 6000 * MIB, 60 * S }, { 0, 0 }, NAN, 1000, NAN, "" },
		{ { 0, 0 }, { 6000 * MIB, 60 * S }, NAN, 1000, NAN, "" },
		{ { 0, 60 * S }, { 6000 * MIB, 60 * S }, NAN, 1000, NAN, "" },
		/* the link: what it carries of what it can */
		{ { 6000 * MIB, 60 * S }, { 6000 * MIB, 60 * S }, 80 * 1048576.0, 100 * MIB, 1, "" },
		{ { 6000 * MIB, 60 * S }, { 6000 * MIB, 60 * S }, 84 * 1048576.0, 100 * MIB, 1,
			FULL("84 MiB/s", "84") },
		{ { 6000 * MIB, 60 * S }, { 3000 * MIB, 60 * S }, 90 * 1048576.0, 100 * MIB, 0.5,
			SLOWED("50", "50 MiB/s of 100 MiB/s") "; " FULL("90 MiB/s", "90") },
		{ { 0, 0 }, { 6000 * MIB, 60 * S }, 90 * 1048576.0, 100 * MIB, NAN, FULL("90 MiB/s", "90") },
	};
	char badge[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct pathgroup_figures figures = { "hba0", "b, c", rows[i].alone, rows[i].together,
			rows[i].sum, rows[i].link };
		double share = pathgroup_alone_share(&figures.alone, &figures.together);

		assert_true(isnan(rows[i].share) ? isnan(share) : fabs(share - rows[i].share) < 1e-12);
		pathgroup_badge(&figures, badge, sizeof(badge));
		assert_string_equal(badge, rows[i].badge);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whose_turn_it_is),
		cmocka_unit_test(test_a_course),
		cmocka_unit_test(test_what_the_figures_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

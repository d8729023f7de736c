/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/pathgroup.h"

#include <math.h>

#include "base/text.h"
#include "base/units.h"

static bool is_unmeasured(const struct pathgroup_member *member)
{
	return !member->is_measured && (member->work == PATHGROUP_FILLS || member->work == PATHGROUP_WANTS);
}

static size_t find_work(const struct pathgroup_member *members, size_t count, enum pathgroup_work work)
{
	for (size_t i = 0; i < count; i++)
		if (members[i].work == work)
			return i;
	return PATHGROUP_NONE;
}

/* Who has begun its time goes on with it, so that nobody's time is spent in pieces. */
static bool comes_before(const struct pathgroup_member *a, const struct pathgroup_member *b)
{
	if (a->work != b->work)
		return a->work == PATHGROUP_FILLS;
	return a->alone_ns > b->alone_ns;
}

struct pathgroup_answer pathgroup_step(const struct pathgroup_member *members, size_t count)
{
	struct pathgroup_answer answer = { PATHGROUP_NONE, PATHGROUP_NONE };

	for (size_t i = 0; i < count; i++)
		if (is_unmeasured(&members[i]) &&
			(answer.turn == PATHGROUP_NONE || comes_before(&members[i], &members[answer.turn])))
			answer.turn = i;
	if (answer.turn == PATHGROUP_NONE)
		return answer;
	answer.blocker = find_work(members, count, PATHGROUP_OTHER);
	if (answer.blocker != PATHGROUP_NONE)
		answer.turn = PATHGROUP_NONE;
	return answer;
}

double pathgroup_bytes_per_s(const struct pathgroup_rate *rate)
{
	return rate->elapsed_ns ? (double)rate->bytes * 1e9 / (double)rate->elapsed_ns : NAN;
}

double pathgroup_alone_share(const struct pathgroup_rate *alone, const struct pathgroup_rate *together)
{
	return alone->bytes ? pathgroup_bytes_per_s(together) / pathgroup_bytes_per_s(alone) : NAN;
}

void pathgroup_badge(const struct pathgroup_figures *figures, char *text, size_t size)
{
	const double alone_share = pathgroup_alone_share(&figures->alone, &figures->together);
	const double link_share = figures->link_bytes_per_s == UINT64_MAX
					  ? NAN
					  : figures->sum_bytes_per_s / (double)figures->link_bytes_per_s;
	char alone[UNITS_TEXT_MAX], together[UNITS_TEXT_MAX], sum[UNITS_TEXT_MAX];
	struct text words = TEXT_INIT;

	units_print_rate_rounded(pathgroup_bytes_per_s(&figures->alone), alone);
	units_print_rate_rounded(pathgroup_bytes_per_s(&figures->together), together);
	units_print_rate_rounded(figures->sum_bytes_per_s, sum);
	if (alone_share < PATHGROUP_ALONE_SHARE_MIN)
		text_addf(&words, "shares %s with %s: fills at %.0f %% of what it does alone (%s of %s)",
			figures->path, figures->with, alone_share * 100, together, alone);
	if (link_share > PATHGROUP_LINK_SHARE_MAX)
		text_addf(&words,
			"%sthe drives of %s write %s together, %.0f %% of its link: the link may be the "
			"limit",
			words.length ? "; " : "", figures->path, sum, link_share * 100);
	text_keep(text, size, &words);
}

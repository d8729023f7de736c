/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/stretch.h"

#include <math.h>

#include "base/clock.h"

double stretch_rate(const struct collapse_sample *s)
{
	return (double)s->bytes * 1e9 / (double)s->elapsed_ns;
}

int64_t stretch_start_ms(const struct collapse_sample *s)
{
	return s->t_ms - (int64_t)(s->elapsed_ns / NS_PER_MS);
}

void stretch_clear(struct stretch *stretch)
{
	*stretch = (struct stretch){ 0 };
}

void stretch_add(struct stretch *stretch, const struct collapse_sample *s, bool is_low)
{
	double rate = stretch_rate(s);

	if (stretch->n == 0 || rate < stretch->worst)
		stretch->worst = rate;
	if (stretch->n++ == 0)
		stretch->from_ms = stretch_start_ms(s);
	stretch->ns += s->elapsed_ns;
	stretch->low_ns += is_low ? s->elapsed_ns : 0;
	stretch->bytes += (double)s->bytes;
}

struct stretch stretch_join(const struct stretch *a, const struct stretch *b)
{
	return (struct stretch){
		.n = a->n + b->n,
		.ns = a->ns + b->ns,
		.low_ns = a->low_ns + b->low_ns,
		.bytes = a->bytes + b->bytes,
		.worst = b->n ? fmin(a->worst, b->worst) : a->worst,
		.from_ms = a->from_ms,
	};
}

double stretch_mean(const struct stretch *stretch)
{
	return stretch->ns ? stretch->bytes * 1e9 / (double)stretch->ns : 0;
}

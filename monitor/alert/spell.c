/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert/spell.h"

#include <math.h>

#include "base/clock.h"

/* Longer than what ALERTS_QUIET_MS holds back: what comes less often than that would be told each time. */
#define QUIET_NS (3600 * NS_PER_S)

bool spell_lasts(const struct spell *spell, uint64_t now_ns)
{
	return spell->seen_ns && now_ns - spell->seen_ns < QUIET_NS;
}

void spell_add(struct spell *spell, uint64_t total, uint64_t fresh, uint64_t now_ns)
{
	if (!spell_lasts(spell, now_ns))
		spell->before = total > fresh ? total - fresh : 0;
	spell->seen_ns = now_ns;
}

void spell_recall(struct spell *spell, uint64_t now_ns)
{
	*spell = (struct spell){ .seen_ns = now_ns, .before = UINT64_MAX };
}

double spell_errors(const struct spell *spell, uint64_t total, uint64_t now_ns)
{
	if (!spell_lasts(spell, now_ns))
		return 0;
	return spell->before == UINT64_MAX ? NAN : (double)(total - spell->before);
}

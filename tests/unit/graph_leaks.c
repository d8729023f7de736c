/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the leak checker must not count for programs that draw with librrd: 1.7 loses some 100 bytes a graph, and
 * fontconfig and Pango keep their caches for ever. Their frames are only seen by the slow unwinder. */
const char *__asan_default_options(void);
const char *__lsan_default_suppressions(void);

const char *__asan_default_options(void)
{
	return "fast_unwind_on_malloc=0";
}

const char *__lsan_default_suppressions(void)
{
	return "leak:librrd\nleak:libfontconfig\nleak:libpango\nleak:libglib\n";
}

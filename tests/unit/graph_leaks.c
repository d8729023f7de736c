/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the checkers of leaks and races must not count for programs that draw with librrd: 1.7 loses some 100 bytes a graph, and
 * fontconfig and Pango keep their caches for ever. Their frames are only seen by the slow unwinder. */
const char *__asan_default_options(void);
const char *__lsan_default_suppressions(void);
const char *__tsan_default_suppressions(void);

const char *__asan_default_options(void)
{
	return "fast_unwind_on_malloc=0";
}

const char *__lsan_default_suppressions(void)
{
	return "leak:librrd\nleak:libfontconfig\nleak:libpango\nleak:libglib\n";
}

/* GLib's own locks are not seen by the thread checker, nor is what happens within Pango's font thread. */
const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:libglib-2.0.so.0\ncalled_from_lib:libpango-1.0.so.0\n"
	       "called_from_lib:libpangoft2-1.0.so.0\ncalled_from_lib:libfontconfig.so.1\n"
	       "race:libglib-2.0\nrace:libpango\nrace:libfontconfig\nrace:librrd\n"
	       "deadlock:libgobject\ndeadlock:libglib\n";
}

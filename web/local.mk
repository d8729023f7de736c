# The server, its pages and their static files.
libdrivesoak_a_SOURCES += \
	web/api.c web/api.h web/api_runs.c \
	web/assets.c web/assets.h \
	web/call.c web/call.h \
	web/compare.c web/compare.h \
	web/graph.c web/graph.h \
	web/guard.c web/guard.h \
	web/live.c web/live.h \
	web/number.c web/number.h \
	web/page.c web/page.h web/pages.h \
	web/page_compare.c web/page_findings.c web/page_findings.h web/page_health.c web/page_health.h \
	web/page_lists.c web/page_overview.c web/page_run.c \
	web/reply.c web/reply.h \
	web/routes.c web/routes.h \
	web/series.c web/series.h \
	web/server.c web/server.h \
	web/store.c web/store.h \
	web/svg_jitter.c web/svg_jitter.h
nodist_libdrivesoak_a_SOURCES = web/assets_data.c

web_static = web/static/app.js web/static/icon.svg web/static/style.css
web_dygraphs = $(dygraphs_dir)/dygraph.min.js $(dygraphs_dir)/dygraph.min.css $(dygraphs_dir)/extras/synchronizer.js
EXTRA_DIST += web/embed.sh $(web_static)
CLEANFILES += web/assets_data.c

web/assets_data.c: web/embed.sh $(web_static) $(web_dygraphs)
	$(AM_V_GEN)$(MKDIR_P) web && $(SHELL) $(srcdir)/web/embed.sh $(srcdir)/web/static $(dygraphs_dir) >$@.tmp && mv $@.tmp $@

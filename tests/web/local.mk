# The browser test: skipped (77) without node and Chromium.
check_PROGRAMS += tests/web/serve_fixture
tests_web_serve_fixture_SOURCES = tests/web/serve_fixture.c tests/unit/graph_leaks.c
dist_check_SCRIPTS += tests/web/run
TESTS += tests/web/run
EXTRA_DIST += tests/web/pages.mjs tests/web/live.mjs

.PHONY: clean-web-test
clean-local: clean-web-test
clean-web-test:
	-rm -rf tests/web/driver tests/web/screenshots tests/web/run-*

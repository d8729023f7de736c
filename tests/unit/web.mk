# unit tests of web
web_test_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
web_fixture = tests/unit/web_fixture.c tests/unit/web_fixture.h tests/unit/archive_fixture.c tests/unit/archive_fixture.h

unit_programs += tests/unit/test_web_series
tests_unit_test_web_series_SOURCES = tests/unit/test_web_series.c tests/unit/archive_fixture.c
tests_unit_test_web_series_CFLAGS = $(web_test_cflags)
tests_unit_test_web_series_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_web_alerts
tests_unit_test_web_alerts_SOURCES = tests/unit/test_web_alerts.c $(web_fixture) $(alert_fixture)
tests_unit_test_web_alerts_CFLAGS = $(web_test_cflags)
tests_unit_test_web_alerts_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_web_jitter
tests_unit_test_web_jitter_SOURCES = tests/unit/test_web_jitter.c tests/unit/archive_fixture.c
tests_unit_test_web_jitter_CFLAGS = $(web_test_cflags)
tests_unit_test_web_jitter_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_web_server
tests_unit_test_web_server_SOURCES = tests/unit/test_web_server.c $(web_fixture)
tests_unit_test_web_server_CFLAGS = $(web_test_cflags)
tests_unit_test_web_server_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_web_api
tests_unit_test_web_api_SOURCES = tests/unit/test_web_api.c tests/unit/graph_leaks.c $(web_fixture)
tests_unit_test_web_api_CFLAGS = $(web_test_cflags)
tests_unit_test_web_api_LDADD = $(LDADD) $(CMOCKA_LIBS)

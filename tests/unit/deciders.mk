# unit tests of the deciders of monitor/measure
unit_programs += tests/unit/test_steady
tests_unit_test_steady_SOURCES = tests/unit/test_steady.c
tests_unit_test_steady_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_steady_LDADD = $(LDADD) $(CMOCKA_LIBS)

trace_fixture = tests/unit/trace.c tests/unit/trace.h tests/unit/unit.h

unit_programs += tests/unit/test_collapse
tests_unit_test_collapse_SOURCES = tests/unit/test_collapse.c $(trace_fixture)
tests_unit_test_collapse_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_collapse_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_verdict
tests_unit_test_verdict_SOURCES = tests/unit/test_verdict.c
tests_unit_test_verdict_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_verdict_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_collapse_cases
tests_unit_test_collapse_cases_SOURCES = tests/unit/test_collapse_cases.c
tests_unit_test_collapse_cases_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_collapse_cases_LDADD = $(LDADD) $(CMOCKA_LIBS)

# unit tests of the deciders of monitor/measure
unit_programs += tests/unit/test_steady
tests_unit_test_steady_SOURCES = tests/unit/test_steady.c
tests_unit_test_steady_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_steady_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_verdict
tests_unit_test_verdict_SOURCES = tests/unit/test_verdict.c
tests_unit_test_verdict_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_verdict_LDADD = $(LDADD) $(CMOCKA_LIBS)

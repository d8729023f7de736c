# unit tests of monitor/control
unit_programs += tests/unit/test_control
tests_unit_test_control_SOURCES = tests/unit/test_control.c tests/unit/unit.h \
	tests/unit/archive_fixture.c tests/unit/archive_fixture.h
tests_unit_test_control_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_control_LDADD = $(LDADD) $(CMOCKA_LIBS)

# unit tests of monitor/control, and of the client's commands and plan
control_fixture = tests/unit/control_fixture.c tests/unit/control_fixture.h tests/unit/unit.h

unit_programs += tests/unit/test_control
tests_unit_test_control_SOURCES = tests/unit/test_control.c $(control_fixture) $(archive_fixture)
tests_unit_test_control_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_control_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_client_control
tests_unit_test_client_control_SOURCES = tests/unit/test_client_control.c $(control_fixture) $(archive_fixture)
tests_unit_test_client_control_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_client_control_LDADD = $(LDADD) $(CMOCKA_LIBS)

# DRIVESOAK_LONG=1 (make check-long): ten times the simulated drives.
unit_programs += tests/unit/test_endurance
long_programs = tests/unit/test_endurance
endurance_fixture = tests/unit/endurance_fixture.c tests/unit/endurance_fixture.h
tests_unit_test_endurance_SOURCES = tests/unit/test_endurance.c $(endurance_fixture) \
	tests/unit/simulated_drive.c tests/unit/simulated_drive.h
tests_unit_test_endurance_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_endurance_LDADD = $(LDADD) $(CMOCKA_LIBS) -lm

unit_programs += tests/unit/test_endurance_hostile
tests_unit_test_endurance_hostile_SOURCES = tests/unit/test_endurance_hostile.c $(endurance_fixture)
tests_unit_test_endurance_hostile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_endurance_hostile_LDADD = $(LDADD) $(CMOCKA_LIBS) -lm

unit_programs += tests/unit/test_healthlimit
tests_unit_test_healthlimit_SOURCES = tests/unit/test_healthlimit.c
tests_unit_test_healthlimit_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_healthlimit_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_verdict_health
tests_unit_test_verdict_health_SOURCES = tests/unit/test_verdict_health.c
tests_unit_test_verdict_health_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_verdict_health_LDADD = $(LDADD) $(CMOCKA_LIBS)

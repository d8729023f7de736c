# unit tests of readings
reading_fixture = tests/unit/reading_fixture.c tests/unit/reading_fixture.h tests/unit/unit.h
reading_cppflags = $(AM_CPPFLAGS) -DSHARED_DATA='"$(abs_top_srcdir)/../shared/data"'

unit_programs += tests/unit/test_reading
tests_unit_test_reading_SOURCES = tests/unit/test_reading.c $(reading_fixture)
tests_unit_test_reading_CPPFLAGS = $(reading_cppflags)
tests_unit_test_reading_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_reading_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_reading_live
tests_unit_test_reading_live_SOURCES = tests/unit/test_reading_live.c $(reading_fixture) $(tree_fixture)
tests_unit_test_reading_live_CPPFLAGS = $(reading_cppflags)
tests_unit_test_reading_live_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_reading_live_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_decode
tests_unit_test_decode_SOURCES = tests/unit/test_decode.c $(reading_fixture) $(tree_fixture)
tests_unit_test_decode_CPPFLAGS = $(reading_cppflags)
tests_unit_test_decode_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_decode_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_health
tests_unit_test_health_SOURCES = tests/unit/test_health.c monitor/drivesoak_health.c monitor/prober.c \
	$(reading_fixture)
tests_unit_test_health_CPPFLAGS = $(reading_cppflags)
tests_unit_test_health_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_health_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_attributes
tests_unit_test_attributes_SOURCES = tests/unit/test_attributes.c $(reading_fixture)
tests_unit_test_attributes_CPPFLAGS = $(reading_cppflags)
tests_unit_test_attributes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_attributes_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_reading_smartctl
tests_unit_test_reading_smartctl_SOURCES = tests/unit/test_reading_smartctl.c tests/unit/recorded_smartctl.h \
	$(reading_fixture)
tests_unit_test_reading_smartctl_CPPFLAGS = $(reading_cppflags)
tests_unit_test_reading_smartctl_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_reading_smartctl_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_reading_ata
tests_unit_test_reading_ata_SOURCES = tests/unit/test_reading_ata.c $(reading_fixture)
tests_unit_test_reading_ata_CPPFLAGS = $(reading_cppflags)
tests_unit_test_reading_ata_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_reading_ata_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_reading_ata_live
tests_unit_test_reading_ata_live_SOURCES = tests/unit/test_reading_ata_live.c $(reading_fixture)
tests_unit_test_reading_ata_live_CPPFLAGS = $(reading_cppflags)
tests_unit_test_reading_ata_live_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_reading_ata_live_LDADD = $(LDADD) $(CMOCKA_LIBS)

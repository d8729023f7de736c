# unit tests: unit_programs += tests/unit/test_X with its _SOURCES, _CFLAGS, _LDADD
unit_programs += tests/unit/test_base tests/unit/test_units
tests_unit_test_base_SOURCES = tests/unit/test_base.c
tests_unit_test_base_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_base_LDADD = $(LDADD) $(CMOCKA_LIBS)
tests_unit_test_units_SOURCES = tests/unit/test_units.c
tests_unit_test_units_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_units_LDADD = $(LDADD) $(CMOCKA_LIBS)

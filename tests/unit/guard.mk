unit_programs += tests/unit/test_guard_contents
tests_unit_test_guard_contents_SOURCES = tests/unit/test_guard_contents.c tests/unit/signatures.c tests/unit/signatures.h
tests_unit_test_guard_contents_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_guard_contents_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_guard
tests_unit_test_guard_SOURCES = tests/unit/test_guard.c
tests_unit_test_guard_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_guard_LDADD = $(LDADD) $(CMOCKA_LIBS)

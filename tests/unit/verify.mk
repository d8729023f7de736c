unit_programs += tests/unit/test_payload
tests_unit_test_payload_SOURCES = tests/unit/test_payload.c
tests_unit_test_payload_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_payload_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_ledger
tests_unit_test_ledger_SOURCES = tests/unit/test_ledger.c
tests_unit_test_ledger_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ledger_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_verify
tests_unit_test_verify_SOURCES = tests/unit/test_verify.c tests/fault/faulty.c tests/fault/faulty.h
tests_unit_test_verify_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_verify_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_badblocks
tests_unit_test_badblocks_SOURCES = tests/unit/test_badblocks.c monitor/drivesoak_badblocks.c \
	monitor/drivesoak_badblocks.h
tests_unit_test_badblocks_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_badblocks_LDADD = $(LDADD) $(CMOCKA_LIBS)

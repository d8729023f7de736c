unit_programs += tests/unit/test_payload
tests_unit_test_payload_SOURCES = tests/unit/test_payload.c
tests_unit_test_payload_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_payload_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_ledger
tests_unit_test_ledger_SOURCES = tests/unit/test_ledger.c
tests_unit_test_ledger_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ledger_LDADD = $(LDADD) $(CMOCKA_LIBS)

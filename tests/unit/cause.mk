# unit tests of the cause of a fall and of what is gathered for it
unit_programs += tests/unit/test_cause
tests_unit_test_cause_SOURCES = tests/unit/test_cause.c tests/unit/cause_fixture.c tests/unit/cause_fixture.h
tests_unit_test_cause_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cause_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_cause_misses
tests_unit_test_cause_misses_SOURCES = tests/unit/test_cause_misses.c tests/unit/cause_fixture.c tests/unit/cause_fixture.h
tests_unit_test_cause_misses_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cause_misses_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_cause_rhythm
tests_unit_test_cause_rhythm_SOURCES = tests/unit/test_cause_rhythm.c tests/unit/cause_fixture.c tests/unit/cause_fixture.h
tests_unit_test_cause_rhythm_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cause_rhythm_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_kernelline
tests_unit_test_kernelline_SOURCES = tests/unit/test_kernelline.c
tests_unit_test_kernelline_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_kernelline_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_kernellog
tests_unit_test_kernellog_SOURCES = tests/unit/test_kernellog.c tests/unit/tree_fixture.c tests/unit/tree_fixture.h
tests_unit_test_kernellog_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_kernellog_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_kernellog_journal
tests_unit_test_kernellog_journal_SOURCES = tests/unit/test_kernellog_journal.c tests/unit/tree_fixture.c tests/unit/tree_fixture.h
tests_unit_test_kernellog_journal_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_kernellog_journal_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_evidence
tests_unit_test_evidence_SOURCES = tests/unit/test_evidence.c tests/unit/tree_fixture.c tests/unit/tree_fixture.h
tests_unit_test_evidence_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_evidence_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_causelog
tests_unit_test_causelog_SOURCES = tests/unit/test_causelog.c tests/unit/cause_fixture.c tests/unit/cause_fixture.h
tests_unit_test_causelog_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_causelog_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_cause_traces
tests_unit_test_cause_traces_SOURCES = tests/unit/test_cause_traces.c tests/unit/trace_cause.c tests/unit/trace_cause.h \
	tests/unit/trace.c tests/unit/trace.h
tests_unit_test_cause_traces_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cause_traces_LDADD = $(LDADD) $(CMOCKA_LIBS)

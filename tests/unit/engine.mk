engine_fixture = tests/unit/engine_fixture.c tests/unit/engine_fixture.h

unit_programs += tests/unit/test_arena
tests_unit_test_arena_SOURCES = tests/unit/test_arena.c
tests_unit_test_arena_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_arena_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_hist
tests_unit_test_hist_SOURCES = tests/unit/test_hist.c
tests_unit_test_hist_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_hist_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_engine
tests_unit_test_engine_SOURCES = tests/unit/test_engine.c $(engine_fixture)
tests_unit_test_engine_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_engine_workload
tests_unit_test_engine_workload_SOURCES = tests/unit/test_engine_workload.c $(engine_fixture)
tests_unit_test_engine_workload_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_workload_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_budget
tests_unit_test_budget_SOURCES = tests/unit/test_budget.c
tests_unit_test_budget_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_budget_LDADD = $(LDADD) $(CMOCKA_LIBS)

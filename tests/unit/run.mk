unit_programs += tests/unit/test_run
tests_unit_test_run_SOURCES = tests/unit/test_run.c
tests_unit_test_run_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_run_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_wearplan
tests_unit_test_wearplan_SOURCES = tests/unit/test_wearplan.c tests/unit/unit.h
tests_unit_test_wearplan_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_wearplan_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_tick
tests_unit_test_tick_SOURCES = tests/unit/test_tick.c
tests_unit_test_tick_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_tick_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_sampler
tests_unit_test_sampler_SOURCES = tests/unit/test_sampler.c
tests_unit_test_sampler_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_sampler_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_target
tests_unit_test_target_SOURCES = tests/unit/test_target.c
tests_unit_test_target_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_target_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_hostlimit
tests_unit_test_hostlimit_SOURCES = tests/unit/test_hostlimit.c
tests_unit_test_hostlimit_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_hostlimit_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_hostload
tests_unit_test_hostload_SOURCES = tests/unit/test_hostload.c $(archive_fixture)
tests_unit_test_hostload_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_hostload_LDADD = $(LDADD) $(CMOCKA_LIBS)
unit_programs += tests/unit/test_keeper
tests_unit_test_keeper_SOURCES = tests/unit/test_keeper.c monitor/keeper.c monitor/soak_verify.c monitor/stamps.c monitor/healthgate.c monitor/prober.c
tests_unit_test_keeper_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_keeper_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_soak
tests_unit_test_soak_SOURCES = tests/unit/test_soak.c $(conductor_sources)
tests_unit_test_soak_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_soak_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_claim
tests_unit_test_claim_SOURCES = tests/unit/test_claim.c
tests_unit_test_claim_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_claim_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_prober
tests_unit_test_prober_SOURCES = tests/unit/test_prober.c monitor/prober.c monitor/healthgate.c
tests_unit_test_prober_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_prober_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_pathgroup
tests_unit_test_pathgroup_SOURCES = tests/unit/test_pathgroup.c
tests_unit_test_pathgroup_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_pathgroup_LDADD = $(LDADD) $(CMOCKA_LIBS)

unit_programs += tests/unit/test_run_health
tests_unit_test_run_health_SOURCES = tests/unit/test_run_health.c $(archive_fixture)
tests_unit_test_run_health_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_run_health_LDADD = $(LDADD) $(CMOCKA_LIBS)

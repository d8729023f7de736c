include tests/unit/local.mk
TESTS += tests/tools/test-check-layers tests/tools/test-install
dist_check_SCRIPTS = tests/tools/check-layers tests/tools/test-check-layers tests/tools/test-install
EXTRA_DIST += tests/tools/layers tests/unit/unit.h
include tests/fault/local.mk
include tests/fuzz/local.mk
include tests/web/local.mk

# Integration: the real service. Scripts that need root, a loop device or a tool that is not there exit 77.
integration_tests = \
	tests/integration/test_alerts.py \
	tests/integration/test_collapse.py \
	tests/integration/test_device.py \
	tests/integration/test_drives.py \
	tests/integration/test_faults.py \
	tests/integration/test_group.py \
	tests/integration/test_health_limits.py \
	tests/integration/test_host_limit.py \
	tests/integration/test_import.py \
	tests/integration/test_layouts.py \
	tests/integration/test_main_job.py \
	tests/integration/test_quickstart.py \
	tests/integration/test_restart.py \
	tests/integration/test_troubles.py \
	tests/integration/test_workloads.py
TESTS += $(integration_tests)
EXTRA_DIST += $(integration_tests) tests/integration/harness.py tests/integration/fixtures.py \
	tests/integration/layouts.py tests/integration/receivers.py
check_PROGRAMS += tests/integration/refuse-io-uring
tests_integration_refuse_io_uring_SOURCES = tests/integration/refuse-io-uring.c
tests_integration_refuse_io_uring_LDADD =
# The service, but for how long a drive fills alone, 4 s, and for the pauses and deadlines of the delivery.
check_PROGRAMS += tests/integration/drivesoakd-brief
tests_integration_drivesoakd_brief_SOURCES = $(drivesoakd_SOURCES)
tests_integration_drivesoakd_brief_CPPFLAGS = $(AM_CPPFLAGS) -DPATHGROUP_ALONE_S=4 \
	-DDELIVERY_PAUSE_MS=200 -DDELIVERY_REQUEST_MS=2000 -DDELIVERY_RESEND_MS=1000
check_PROGRAMS += tests/integration/guard-probe
tests_integration_guard_probe_SOURCES = tests/integration/guard_probe.c tests/unit/signatures.c tests/unit/signatures.h
AM_TESTS_ENVIRONMENT = DRIVESOAK_BUILD='$(abs_top_builddir)'; export DRIVESOAK_BUILD; \
	PYTHONDONTWRITEBYTECODE=1; export PYTHONDONTWRITEBYTECODE;
include tests/vm/local.mk

# Only the unit tests: what the builds with sanitizers run; they don't mind company. The others go by the clock, and each
# has the machine for itself.
.PHONY: check-units check-others check-threads
check-units:
	$(MAKE) check TESTS='$(unit_programs)'
check-others:
	$(MAKE) check TESTS='$(filter-out $(unit_programs),$(TESTS))'

# Of them the ones in which threads meet: what the build with the thread sanitizer runs.
threaded_programs = tests/unit/test_archive tests/unit/test_budget tests/unit/test_client tests/unit/test_client_control \
	tests/unit/test_control tests/unit/test_delivery tests/unit/test_delivery_file tests/unit/test_engine tests/unit/test_engine_workload \
	tests/unit/test_evidence tests/unit/test_health \
	tests/unit/test_hostload tests/unit/test_keeper tests/unit/test_ledger tests/unit/test_measure tests/unit/test_prober \
	tests/unit/test_reading_ata_live tests/unit/test_reading_live tests/unit/test_reading_smartctl \
	tests/unit/test_sampler tests/unit/test_soak tests/unit/test_verify tests/unit/test_web_api \
	tests/unit/test_web_server
check-threads:
	$(MAKE) check TESTS='$(threaded_programs)'

# Benchmarks print ratios and assert nothing; they are built for "make bench" only.
EXTRA_PROGRAMS = tests/bench/engine_bench tests/bench/verify_bench tests/bench/deciders_bench
tests_bench_engine_bench_SOURCES = tests/bench/engine_bench.c
tests_bench_verify_bench_SOURCES = tests/bench/verify_bench.c
tests_bench_deciders_bench_SOURCES = tests/bench/deciders_bench.c tests/unit/trace.c tests/unit/trace.h
EXTRA_DIST += tests/bench/engine.py tests/bench/verify.py tests/bench/soak_vs_others.py
CLEANFILES += $(EXTRA_PROGRAMS)
.PHONY: bench
bench: $(EXTRA_PROGRAMS) drivesoakd drivesoak
	tests/bench/deciders_bench
	DRIVESOAK_BUILD='$(abs_top_builddir)' $(srcdir)/tests/bench/soak_vs_others.py
	DRIVESOAK_BUILD='$(abs_top_builddir)' $(srcdir)/tests/bench/engine.py
	DRIVESOAK_BUILD='$(abs_top_builddir)' $(srcdir)/tests/bench/verify.py

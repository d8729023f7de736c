# Faults that are known against what the read-back says. DRIVESOAK_LONG=1 (make check-long): ten times the writes,
# and the fuzzing of tests/fuzz.
if HAVE_CMOCKA
fault_programs = tests/fault/test_faults
check_PROGRAMS += $(fault_programs)
TESTS += $(fault_programs)
tests_fault_test_faults_SOURCES = tests/fault/test_faults.c tests/fault/faulty.c tests/fault/faulty.h
tests_fault_test_faults_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_fault_test_faults_LDADD = $(LDADD) $(CMOCKA_LIBS)
endif

.PHONY: check-long
check-long:
	DRIVESOAK_LONG=1 $(MAKE) check TESTS='$(fault_programs) $(long_programs) $(fuzz_tests) $(vm_long_tests)'

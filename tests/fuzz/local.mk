# Fuzzing of what reads drives: a moment in "make check", ten minutes a target in "make check-long". A target is
# fuzz_NAME.c with its corpus in tests/data/fuzz/NAME; tests/fuzz/run finds it. Exit 77 without clang's fuzzer.
fuzz_tests = tests/fuzz/run
TESTS += $(fuzz_tests)
dist_check_SCRIPTS += $(fuzz_tests)
EXTRA_DIST += tests/fuzz/fuzz.h tests/fuzz/fuzz_ata.c tests/fuzz/fuzz_drive.c tests/fuzz/fuzz_foreign.c \
	tests/fuzz/fuzz_nvme.c tests/fuzz/fuzz_smartctl.c tests/data/fuzz

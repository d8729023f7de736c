include tests/unit/local.mk
TESTS += tests/tools/test-check-layers
dist_check_SCRIPTS = tests/tools/check-layers tests/tools/test-check-layers
EXTRA_DIST += tests/tools/layers tests/unit/unit.h

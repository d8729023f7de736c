# A unit test is one cmocka program tests/unit/test_NAME.c; its cases check values.
if HAVE_CMOCKA
unit_programs =
include tests/unit/alert.mk
include tests/unit/base.mk
include tests/unit/cause.mk
include tests/unit/config.mk
include tests/unit/archive.mk
include tests/unit/control.mk
include tests/unit/endurance.mk
include tests/unit/deciders.mk
include tests/unit/engine.mk
include tests/unit/inventory.mk
include tests/unit/guard.mk
include tests/unit/reading.mk
include tests/unit/run.mk
include tests/unit/verify.mk
include tests/unit/web.mk
check_PROGRAMS += $(unit_programs)
TESTS += $(unit_programs)
endif

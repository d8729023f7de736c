# A QEMU guest with NVMe, SATA and IDE drives. Exit 77 when QEMU or Debian's kernel can't be had.
vm_tests = tests/vm/test_guest.py tests/vm/test_health.py
TESTS += $(vm_tests)
# For make check-long: half a minute to four each.
vm_long_tests = tests/vm/test_causes.py tests/vm/test_guest_layouts.py tests/vm/test_health_ata.py tests/vm/test_health_service.py
EXTRA_DIST += $(vm_tests) $(vm_long_tests) tests/vm/agent.py tests/vm/guest.sh tests/vm/kernel.py tests/vm/rig.py tests/vm/service.py
check_PROGRAMS += tests/vm/read-health
tests_vm_read_health_SOURCES = tests/vm/read_health.c

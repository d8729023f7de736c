libdrivesoak_a_SOURCES += \
	monitor/target/blockdev.c monitor/target/blockdev.h \
	monitor/target/blocklink.c monitor/target/blocklink.h \
	monitor/target/claim.c monitor/target/claim.h \
	monitor/target/device.c monitor/target/device.h \
	monitor/target/dioalign.c monitor/target/dioalign.h \
	monitor/target/directory.c monitor/target/target.h \
	monitor/target/filesystem.c monitor/target/filesystem.h \
	monitor/target/guard.c monitor/target/guard.h monitor/target/guard_private.h \
	monitor/target/guard_contents.c monitor/target/guard_mounts.c monitor/target/guard_openers.c \
	monitor/target/guard_tables.c monitor/target/guard_use.c \
	monitor/target/hostinfo.c monitor/target/hostinfo.h \
	monitor/target/inventory.c monitor/target/inventory.h monitor/target/inventory_private.h \
	monitor/target/inventory_find.c \
	monitor/target/inventory_json.c monitor/target/inventory_json.h \
	monitor/target/target.c monitor/target/target_private.h

libdrivesoak_a_SOURCES += \
	monitor/target/blockdev.c monitor/target/blockdev.h \
	monitor/target/blocklink.c monitor/target/blocklink.h \
	monitor/target/dioalign.c monitor/target/dioalign.h \
	monitor/target/directory.c monitor/target/target.h \
	monitor/target/filesystem.c monitor/target/filesystem.h \
	monitor/target/hostinfo.c monitor/target/hostinfo.h \
	monitor/target/claim.h monitor/target/guard.h monitor/target/inventory.h

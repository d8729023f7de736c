libdrivesoak_a_SOURCES += \
	monitor/control/control.h monitor/control/control_private.h \
	monitor/control/control_client.c monitor/control/control_print.c monitor/control/control_server.c \
	monitor/control/control_wire.c

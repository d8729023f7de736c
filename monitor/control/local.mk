libdrivesoak_a_SOURCES += monitor/control/control.h

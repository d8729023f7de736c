libdrivesoak_a_SOURCES += probes/identity.h

libdrivesoak_a_SOURCES += \
	probes/identity.c probes/identity.h probes/reading.h probes/identity_private.h \
	probes/identity_ata.c probes/identity_nvme.c probes/identity_scsi.c probes/identity_sysfs.c

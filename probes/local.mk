libdrivesoak_a_SOURCES += \
	probes/identity.c probes/identity.h probes/reading.h probes/identity_private.h \
	probes/identity_ata.c probes/identity_nvme.c probes/identity_scsi.c probes/identity_sysfs.c
libdrivesoak_a_SOURCES += probes/reading.c probes/reading_private.h probes/reading_nvme.c \
	probes/reading_job.c probes/reading_nvme_live.c probes/reading_nvme_port.c \
	probes/reading_later.c probes/reading_recognise.c

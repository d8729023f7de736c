libdrivesoak_a_SOURCES += \
	probes/identity.c probes/identity.h probes/reading.h probes/reading_pack.c probes/identity_private.h \
	probes/identity_ata.c probes/identity_nvme.c probes/identity_scsi.c probes/identity_sysfs.c
libdrivesoak_a_SOURCES += probes/reading.c probes/reading_private.h probes/reading_nvme.c \
	probes/reading_job.c probes/reading_nvme_live.c probes/reading_nvme_port.c \
	probes/reading_recognise.c
libdrivesoak_a_SOURCES += \
	probes/attributes.c probes/attributes.h probes/attributes_private.h probes/attributes_table.c \
	probes/reading_ata.c probes/reading_ata_private.h probes/reading_ata_live.c probes/reading_ata_port.c \
	probes/reading_smartctl.c probes/reading_smartctl_json.c \
	probes/reading_smartctl_private.h

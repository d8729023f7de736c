# Installed, never enabled: a service that writes to drives is started by its owner.
dist_noinst_DATA += systemd/drivesoakd.service.in
systemdsystemunit_DATA = systemd/drivesoakd.service
# Read by systemd-sysusers under a name that ends in .conf.
dist_noinst_DATA += systemd/drivesoak.sysusers
sysusersdir = $(prefix)/lib/sysusers.d
sysusers_DATA = systemd/drivesoak.conf
systemd/drivesoak.conf: systemd/drivesoak.sysusers
	$(AM_V_GEN)$(MKDIR_P) systemd && cp $(srcdir)/systemd/drivesoak.sysusers $@
CLEANFILES += systemd/drivesoakd.service systemd/drivesoak.conf
systemd/drivesoakd.service: systemd/drivesoakd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) systemd && $(SED) -e 's|@sbindir[@]|$(sbindir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g' \
		$(srcdir)/systemd/drivesoakd.service.in > $@

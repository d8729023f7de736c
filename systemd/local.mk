# Installed, never enabled: a service that writes to drives is started by its owner.
dist_noinst_DATA += systemd/drivesoakd.service.in
systemdsystemunit_DATA = systemd/drivesoakd.service
CLEANFILES += systemd/drivesoakd.service
systemd/drivesoakd.service: systemd/drivesoakd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) systemd && $(SED) -e 's|@sbindir[@]|$(sbindir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g' \
		$(srcdir)/systemd/drivesoakd.service.in > $@

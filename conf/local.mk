dist_pkgdata_DATA = conf/quickstart.conf
EXTRA_DIST += conf/drivesoak.conf

# An administrator's file is never overwritten; one that was not touched goes with the rest.
install-data-local: install-conf
uninstall-local: uninstall-conf
.PHONY: install-conf uninstall-conf
install-conf:
	$(MKDIR_P) "$(DESTDIR)$(sysconfdir)/drivesoak"
	test -e "$(DESTDIR)$(sysconfdir)/drivesoak/drivesoak.conf" || \
		$(INSTALL_DATA) "$(srcdir)/conf/drivesoak.conf" "$(DESTDIR)$(sysconfdir)/drivesoak/drivesoak.conf"
uninstall-conf:
	if cmp -s "$(srcdir)/conf/drivesoak.conf" "$(DESTDIR)$(sysconfdir)/drivesoak/drivesoak.conf"; then \
		rm -f "$(DESTDIR)$(sysconfdir)/drivesoak/drivesoak.conf"; \
	fi

# Drive sections to copy and adapt.
profilesdir = $(pkgdatadir)/profiles
dist_profiles_DATA = \
	conf/profiles/commit-1.conf conf/profiles/commit-16.conf \
	conf/profiles/percona-2013.conf \
	conf/profiles/rndrd-1.conf conf/profiles/rndrd-4.conf \
	conf/profiles/rndrw-1.conf conf/profiles/rndrw-4.conf \
	conf/profiles/rndwr-1.conf conf/profiles/rndwr-4.conf

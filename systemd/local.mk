# sources of systemd

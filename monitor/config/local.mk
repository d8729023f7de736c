# sources of monitor/config

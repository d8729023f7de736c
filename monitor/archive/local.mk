# sources of monitor/archive

# sources of monitor/target

# sources of monitor/engine

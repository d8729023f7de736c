# sources of web

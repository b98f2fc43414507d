package services

// table has all services. A port is the protocol's usual one where one server has it, because most
// templates name it: the servers run in a network namespace of their own.
var table = []Service{
	{Name: "ssh", Port: 22, Program: "sshd"},
	{Name: "samba", Port: 445, Program: "smbd"},
	{Name: "redis", Port: 6379, Program: "redis-server"},
	{Name: "redis-password", Port: 6380, Program: "redis-server"},
	{Name: "postgres", Port: 5432, Program: "/usr/lib/postgresql/15/bin/postgres"},
	{Name: "mariadb", Port: 3306, Program: "mariadbd"},
	{Name: "ldap", Port: 389, Program: "slapd"},
	{Name: "kdc", Port: 88, Program: "krb5kdc"},
	{Name: "ftp", Port: 21, Program: "vsftpd"},
	{Name: "smtp", Port: 25, Program: "postfix"},
	{Name: "mail", Port: 143, Program: "dovecot"},
	{Name: "dns", Port: 53, Program: "nsd"},
	{Name: "rsync", Port: 873, Program: "rsync"},
	{Name: "memcached", Port: 11211, Program: "memcached"},
	{Name: "mqtt", Port: 1883, Program: "mosquitto"},
	{Name: "vnc", Port: 5900, Program: "Xtigervnc"},
	{Name: "vnc-password", Port: 5901, Program: "Xtigervnc"},
	{Name: "nginx", Port: 443, Program: "nginx"},
	tls("self-signed", 8444, "self.lab.test", "365", ""),
	tls("expired", 8445, "localhost", "-1", ""),
	tls("old", 8446, "127.0.0.1", "365", "-tls1 -cipher ALL:@SECLEVEL=0"),
	tls("11", 8447, "127.0.0.1", "365", "-tls1_1 -cipher ALL:@SECLEVEL=0"),
	tls("12-weak", 8448, "*.lab.test", "365", "-tls1_2 -cipher AES128-SHA:AES256-SHA:@SECLEVEL=0"),
	tls("13", 8449, "localhost", "365", "-tls1_3"),
	tls("client", 8450, "localhost", "365", "-Verify 1"),
}

func tls(name string, port int, subject, days, options string) Service {
	return Service{Name: "tls-" + name, Port: port, Program: "openssl", Script: "tls",
		Values: []string{"NAME=" + subject, "DAYS=" + days, "OPTIONS=" + options}}
}

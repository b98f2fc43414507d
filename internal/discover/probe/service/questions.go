package service

// question is something to send to a service, or to wait for.
type question struct {
	ports   []uint16 // where it is asked first
	general bool     // it is asked everywhere, after those of the port
	send    string   // "" listens
	hello   bool     // a TLS handshake instead
}

// questions are in the order in which they are asked of a port. None logs in, writes, or
// leaves anything behind.
var questions = []question{
	{ports: []uint16{
		80, 81, 82, 83, 88, 280, 591, 593, 631, 2375, 2480, 3000, 3001, 3128, 4000, 4200, 5000, 5001, 5601, 5800, 5984, 5985,
		7001, 7080, 7474, 8000, 8001, 8008, 8009, 8010, 8042, 8060, 8069, 8080, 8081, 8082, 8083, 8086, 8088, 8090, 8091,
		8096, 8111, 8123, 8161, 8180, 8200, 8222, 8500, 8800, 8834, 8880, 8888, 8983, 9000, 9001, 9080, 9090, 9091, 9100,
		9200, 9411, 9999, 10000, 15672, 16992, 50000, 50070,
	}, send: httpQuestion},
	{ports: []uint16{
		443, 465, 563, 636, 832, 853, 989, 990, 992, 993, 994, 995, 2083, 2087, 2096, 2376, 3269, 4443, 5061, 5223, 5671,
		5986, 6443, 6514, 6697, 7443, 8140, 8443, 8531, 8883, 8843, 9443, 10250, 10443, 12443, 16993,
	}, hello: true},
	{ports: []uint16{6379, 6380, 16379, 26379}, send: "INFO server\r\n"},          // redis
	{ports: []uint16{5432, 5433, 6432}, send: "\x00\x00\x00\x08\x04\xd2\x16\x2f"}, // SSLRequest
	{ports: []uint16{27017, 27018, 27019}, send: mongoQuestion},                   // MongoDB
	{ports: []uint16{11211}, send: "version\r\n"},
	{ports: []uint16{3389}, send: "\x03\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08\x00\x0b\x00\x00\x00"}, // RDP
	// anonymous bind
	{ports: []uint16{389, 3268, 636, 3269}, send: "\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00"},
	{ports: []uint16{445}, send: smbQuestion},             // SMB
	{ports: []uint16{53}, send: "\x00\x1e" + versionBind}, // DNS
	{ports: []uint16{853}, send: "\x00\x1e" + versionBind},
	{ports: []uint16{1883, 8883}, send: "\x10\x13\x00\x04MQTT\x04\x02\x00\x0a\x00\x07vedette"}, // MQTT
	{ports: []uint16{5672, 5671}, send: "AMQP\x00\x00\x09\x01"},
	// MS SQL, a prelogin
	{ports: []uint16{1433}, send: "\x12\x01\x00\x2f\x00\x00\x01\x00\x00\x00\x1a\x00\x06\x01\x00\x20\x00\x01\x02\x00\x21\x00\x01\x03\x00\x22\x00\x04\x04\x00\x26\x00\x01\xff\x11\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
	{ports: []uint16{9042}, send: "\x04\x00\x00\x00\x05\x00\x00\x00\x00"}, // OPTIONS
	{ports: []uint16{2181}, send: "srvr"},
	{ports: []uint16{554, 8554, 322}, send: "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n"},
	{ports: []uint16{5060, 5061}, send: sipStart + "TCP nobody;branch=z9hG4bK1" + sipEnd},
	// SOCKS 5
	{ports: []uint16{1080}, send: "\x05\x01\x00"},
	// port mapper
	{ports: []uint16{111}, send: "\x80\x00\x00\x28" + rpcQuestion},
	// CPing
	{ports: []uint16{8009}, send: "\x12\x34\x00\x01\x0a"},
	// Java RMI
	{ports: []uint16{1099}, send: "JRMI\x00\x02K"},
	// those that speak first
	{ports: []uint16{21, 22, 23, 25, 110, 119, 143, 220, 587, 873, 2121, 2222, 3306, 3307, 5900, 5901, 6667},
		general: true},
	{general: true, hello: true},
	{general: true, send: httpQuestion},
	{general: true, send: "INFO server\r\n"},
	{general: true, send: "\x00\x00\x00\x08\x04\xd2\x16\x2f"},
}

const (
	httpQuestion = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Mozilla/5.0 (compatible; Vedette)\r\nAccept: */*\r\nConnection: close\r\n\r\n"

	// The parts of a SIP OPTIONS around its transport.
	sipStart = "OPTIONS sip:nobody SIP/2.0\r\nVia: SIP/2.0/"
	sipEnd   = "\r\nMax-Forwards: 70\r\nFrom: <sip:nobody>;tag=1\r\nTo: <sip:nobody>\r\nCall-ID: 1\r\n" +
		"CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"

	// mongoQuestion is OP_MSG with {buildInfo: 1, $db: "admin"}.
	mongoQuestion = "\x38\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xdd\x07\x00\x00\x00\x00\x00\x00\x00" +
		"\x23\x00\x00\x00\x10buildInfo\x00\x01\x00\x00\x00\x02$db\x00\x06\x00\x00\x00admin\x00\x00"

	// smbQuestion is an SMB2 NEGOTIATE with the dialects 2.0.2 to 3.0.2.
	smbQuestion = "\x00\x00\x00\x6c\xfeSMB\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x1f\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x24\x00\x04\x00\x01\x00\x00\x00\x00\x00\x00\x00vedette-vedette-\x00\x00\x00\x00\x00\x00\x00\x00\x02\x02\x10\x02\x00\x03\x02\x03"

	// versionBind asks a name server for version.bind TXT CH.
	versionBind = "\x56\x45\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07version\x04bind\x00\x00\x10\x00\x03"

	// rpcQuestion calls the null procedure of the port mapper, version 2.
	rpcQuestion = "\x56\x45\x44\x45\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01\x86\xa0\x00\x00\x00\x02\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
)

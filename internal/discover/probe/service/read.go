package service

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe/web"
)

// read identifies a service by the first bytes of its answer. port decides where two services greet alike.
func read(b []byte, port uint16) (r Result, ok bool) {
	for _, reader := range []func([]byte, uint16) (Result, bool){readText, readLines, readBinary, readDatabase} {
		if r, ok := reader(b, port); ok {
			r.Product, r.Version = discover.Clean(r.Product, 128), discover.Clean(r.Version, 128)
			return r, true
		}
	}
	return Result{}, false
}

// say is a line of text by which a service is known. Submatches: product and version.
type say struct {
	service, product string
	pattern          *regexp.Regexp
}

// says are in order: the first that matches counts. They are compiled when first used.
var says = sync.OnceValue(func() []say {
	return []say{
		{"ssh", "", regexp.MustCompile(`^SSH-[0-9.]+-(?P<product>OpenSSH|dropbear|libssh|Cisco|ROSSSH|mod_sftp|[A-Za-z.]+)[-_ ]?(?P<version>[0-9][^\s]*)?`)},
		{"ssh", "", regexp.MustCompile(`^SSH-[0-9.]+-`)},
		{"vnc", "", regexp.MustCompile(`^RFB (?P<version>\d{3}\.\d{3})\n`)},
		{"rsync", "", regexp.MustCompile(`^@RSYNCD: (?P<version>[\d.]+)`)},
		{"redis", "Redis", regexp.MustCompile(`(?s)^\$\d+\r\n.*redis_version:(?P<version>[^\r\n]{1,40})`)},
		{"redis", "Redis", regexp.MustCompile(`^(?:-NOAUTH |-DENIED |-ERR (?:wrong number of arguments for|unknown command|operation not permitted|Client sent)|\+PONG|-LOADING|-MISCONF)`)},
		{"memcached", "memcached", regexp.MustCompile(`^VERSION (?P<version>[^\r\n]{1,40})\r\n`)},
		{"memcached", "memcached", regexp.MustCompile(`^ERROR\r\n`)},
		{"zookeeper", "ZooKeeper", regexp.MustCompile(`^Zookeeper version: (?P<version>[0-9][^-,\s]*)`)},
		{"zookeeper", "ZooKeeper", regexp.MustCompile(`^srvr is not executed because it is not in the whitelist`)},
		{"imap", "", regexp.MustCompile(`(?i)^\* (?:OK|PREAUTH|BYE)\b.*?(?P<product>Dovecot|Courier-IMAP|Cyrus IMAP|Microsoft Exchange)?(?: v?(?P<version>\d[\w.-]*))?`)},
		{"pop3", "", regexp.MustCompile(`(?i)^\+OK\b.*?(?P<product>Dovecot|Courier|Cyrus POP3|Microsoft Exchange)?(?: v?(?P<version>\d[\w.-]*))?`)},
		{"smtp", "", regexp.MustCompile(`(?i)^[245]\d\d[ -].*\bE?SMTP\b.*?(?P<product>Postfix|Exim|Sendmail|OpenSMTPD|Microsoft ESMTP MAIL Service|Haraka)[ /]*(?:Version: ?)?(?P<version>\d[\w.+-]*)?`)},
		{"smtp", "", regexp.MustCompile(`(?i)^[245]\d\d[ -].*\bE?SMTP\b`)},
		{"ftp", "", regexp.MustCompile(`(?i)^220[ -].*?(?P<product>vsFTPd|ProFTPD|Pure-FTPd|FileZilla Server|Microsoft FTP Service|pyftpdlib)[ /]*(?:version )?(?P<version>\d[\w.-]*)?`)},
		{"ftp", "", regexp.MustCompile(`(?i)^220[ -].*\bftp\b`)},
		{"nntp", "", regexp.MustCompile(`(?i)^20[01] .*(?:nntp|news|InterNetNews)`)},
		{"irc", "", regexp.MustCompile(`^:\S{1,200} (?:NOTICE|4\d\d) `)},
		{"irc", "", regexp.MustCompile(`^(?:NOTICE (?:AUTH|\*) :|ERROR :Closing Link)`)},
		{"rtsp", "", regexp.MustCompile(`(?is)^RTSP/1\.\d \d{3}(?:.*\r\nServer: (?P<product>[^\r\n/]{1,60})(?:/(?P<version>[^\r\n ]{1,40}))?)?`)},
		{"sip", "", regexp.MustCompile(`(?is)^SIP/2\.0 \d{3}(?:.*\r\n(?:Server|User-Agent): (?P<product>[^\r\n/]{1,60})(?:/(?P<version>[^\r\n ]{1,40}))?)?`)},
		{"http", "", regexp.MustCompile(`(?is)^(?:HTTP/[0-9.]+ \d{3}|ICY \d{3}).*?\nServer: *(?P<product>[^\r\n/(]{1,60})(?:/(?P<version>[^\r\n ]{1,40}))?`)},
		{"http", "", regexp.MustCompile(`^(?:HTTP/?[0-9.]* +\d{3}|ICY \d{3})`)},
		{"http", "", regexp.MustCompile(`(?i)^\s*<(?:html|!doctype html)`)},
		{"postgresql", "PostgreSQL", regexp.MustCompile(`^E.{0,4}SFATAL\x00`)},
		{"postgresql", "PostgreSQL", regexp.MustCompile(`^E[\x00-\xff]{4}.{0,200}unsupported frontend protocol`)},
		{"mysql", "MySQL", regexp.MustCompile(`(?s)^.\x00\x00\x00\xff.{2}(?:#\w{5})?Host .* is (?:not allowed to connect|blocked)`)},
		{"teamspeak", "", regexp.MustCompile(`^TS3\n`)},
		{"xmpp", "", regexp.MustCompile(`^<\?xml[^>]*>\s*<stream:`)},
		{"perforce", "", regexp.MustCompile(`^info server version`)},
		{"finger", "", regexp.MustCompile(`^Login:? +(?:Name|[a-z])`)},
		{"svn", "", regexp.MustCompile(`^\( success \( \d `)},
		{"git", "", regexp.MustCompile(`^[0-9a-f]{4}ERR `)},
		{"adb", "", regexp.MustCompile(`^(?:CNXN|AUTH)[\x00-\xff]{4}`)},
	}
})

func readText(b []byte, _ uint16) (Result, bool) {
	for _, s := range says() {
		m := s.pattern.FindSubmatch(b)
		if m == nil {
			continue
		}
		r := Result{Name: s.service, Product: s.product}
		if s.service == "http" {
			r.misdirected = bytes.Contains(b[:min(len(b), 16)], []byte(" 400 ")) && web.Misdirected(400, b)
		}
		for i, name := range s.pattern.SubexpNames() {
			switch {
			case name == "product" && len(m[i]) > 0:
				r.Product = strings.TrimSpace(string(m[i]))
			case name == "version":
				r.Version = string(m[i])
			}
		}
		return r, true
	}
	return Result{}, false
}

// replying are services whose replies begin with three digits, by their ports.
var replying = map[uint16]string{
	25: "smtp", 465: "smtp", 587: "smtp", 2525: "smtp", 21: "ftp", 990: "ftp", 2121: "ftp", 119: "nntp",
}

// readLines identifies services whose greetings say little, by their port.
func readLines(b []byte, port uint16) (Result, bool) {
	switch {
	case replying[port] != "" && isReply(b):
		return Result{Name: replying[port]}, true
	case isTelnet(b), (port == 23 || port == 2323) && bytes.Contains(bytes.ToLower(b), []byte("login:")):
		return Result{Name: "telnet"}, true
	}
	return Result{}, false
}

// isReply reports whether an answer begins like those of FTP and SMTP: "220 " or "220-".
func isReply(b []byte) bool {
	return len(b) > 3 && b[0] >= '1' && b[0] <= '5' && isDigit(b[1]) && isDigit(b[2]) && (b[3] == ' ' || b[3] == '-')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isTelnet reports whether an answer begins by negotiating options (RFC 854).
func isTelnet(b []byte) bool {
	return len(b) >= 3 && b[0] == 0xff && b[1] >= 0xfb && b[1] <= 0xfe && b[2] <= 50
}

func readBinary(b []byte, port uint16) (Result, bool) {
	switch {
	case len(b) >= 11 && b[0] == 3 && b[1] == 0 && b[5] == 0xd0: // a TPKT with a connection confirm
		return Result{Name: "rdp"}, true
	case len(b) >= 74 && string(b[4:8]) == "\xfeSMB":
		return Result{Name: "smb", Version: dialects[binary.LittleEndian.Uint16(b[72:])]}, true
	case len(b) >= 8 && string(b[4:8]) == "\xffSMB":
		return Result{Name: "smb", Version: "1"}, true
	case len(b) >= 7 && b[0] == 0x30 && bytes.Contains(b[:min(len(b), 12)], []byte{0x02, 0x01, 0x01, 0x61}):
		return Result{Name: "ldap"}, true
	case len(b) == 4 && b[0] == 0x20 && b[1] == 2 && b[3] <= 5:
		return Result{Name: "mqtt"}, true
	case len(b) == 8 && string(b[:4]) == "AMQP":
		return Result{Name: "amqp", Version: fmt.Sprintf("%d-%d-%d", b[5], b[6], b[7])}, true
	case len(b) > 20 && b[0] == 1 && b[1] == 0 && string(b[7:11]) == "\x00\x0a\x00\x0a": // Connection.Start
		return Result{Name: "amqp", Product: table(b, "product"), Version: table(b, "version")}, true
	case len(b) == 5 && string(b) == "AB\x00\x01\x09": // CPong
		return Result{Name: "ajp"}, true
	case len(b) >= 5 && b[0] == 'N' && b[1] == 0 && int(b[2]) <= len(b): // ProtocolAck
		return Result{Name: "java-rmi"}, port == 1099
	case len(b) == 2 && b[0] == 5 && (b[1] <= 2 || b[1] == 0xff):
		return Result{Name: "socks"}, true
	case len(b) >= 28 && string(b[4:8]) == "VEDE" && string(b[8:12]) == "\x00\x00\x00\x01":
		return Result{Name: "rpcbind"}, true
	case len(b) >= 14 && string(b[2:4]) == "VE" && b[4]&0x80 != 0:
		return Result{Name: "dns", Version: bindVersion(b[2:])}, true
	}
	return Result{}, false
}

// dialects are versions of SMB by number.
var dialects = map[uint16]string{0x0202: "2.0.2", 0x0210: "2.1", 0x0300: "3.0", 0x0302: "3.0.2", 0x0311: "3.1.1"}

// table finds a long string in the properties of an AMQP server, by its name.
func table(b []byte, name string) string {
	_, rest, ok := bytes.Cut(b, append([]byte{byte(len(name))}, name+"S"...))
	if !ok || len(rest) < 4 {
		return ""
	}
	n := binary.BigEndian.Uint32(rest)
	if n > 128 || int(n) > len(rest)-4 {
		return ""
	}
	return string(rest[4 : 4+n])
}

// bindVersion is the first text record of a DNS answer to version.bind, from its header on.
func bindVersion(m []byte) string {
	const header, asked = 12, 18 // the question is our own: version.bind TXT CH
	if len(m) < header+asked+12 || binary.BigEndian.Uint16(m[6:]) == 0 {
		return ""
	}
	rest := m[header+asked:]
	if rest[0]&0xc0 != 0xc0 { // a name that is not a pointer to the question
		end := bytes.IndexByte(rest, 0)
		if end < 1 {
			return ""
		}
		rest = rest[end-1:]
	}
	if len(rest) < 13 || binary.BigEndian.Uint16(rest[2:]) != 16 {
		return ""
	}
	n := int(rest[12])
	if n > len(rest)-13 {
		return ""
	}
	return string(rest[13 : 13+n])
}

func readDatabase(b []byte, _ uint16) (Result, bool) {
	switch {
	case len(b) == 1 && (b[0] == 'S' || b[0] == 'N'): // may it be TLS?
		return Result{Name: "postgresql", Product: "PostgreSQL"}, true
	// a greeting of protocol 10
	case len(b) > 10 && b[3] == 0 && b[4] == 10 && int(b[0])|int(b[1])<<8|int(b[2])<<16 < 1024:
		return readMySQL(b[5:])
	case len(b) > 20 && string(b[12:16]) == "\xdd\x07\x00\x00": // OP_MSG
		return Result{Name: "mongodb", Product: "MongoDB", Version: bson(b, "version")}, true
	case len(b) >= 34 && b[0] == 4 && b[1] == 1 && b[8] == 0: // a table response with a version
		return readMSSQL(b)
	case len(b) >= 9 && b[0] == 0x84 && (b[4] == 6 || b[4] == 0):
		return Result{Name: "cassandra"}, true
	}
	return Result{}, false
}

func readMySQL(text []byte) (Result, bool) {
	version, _, ok := bytes.Cut(text, []byte{0})
	if !ok || len(version) == 0 || len(version) > 100 {
		return Result{}, false
	}
	v := string(version)
	r := Result{Name: "mysql", Product: "MySQL", Version: v}
	if plain, rest, ok := strings.Cut(strings.TrimPrefix(v, "5.5.5-"), "-MariaDB"); ok {
		r.Product, r.Version = "MariaDB", plain+rest
	}
	return r, true
}

// readMSSQL reads the version in the first option of a prelogin answer.
func readMSSQL(b []byte) (Result, bool) {
	r := Result{Name: "mssql", Product: "Microsoft SQL Server"}
	if at := 8 + int(binary.BigEndian.Uint16(b[9:])); at+4 <= len(b) {
		r.Version = fmt.Sprintf("%d.%d.%d", b[at], b[at+1], binary.BigEndian.Uint16(b[at+2:]))
	}
	return r, true
}

// bson finds a string of a document by its key.
func bson(b []byte, key string) string {
	_, rest, ok := bytes.Cut(b, []byte("\x02"+key+"\x00"))
	if !ok || len(rest) < 5 {
		return ""
	}
	n := binary.LittleEndian.Uint32(rest)
	if n == 0 || n > 128 || int(n) > len(rest)-4 {
		return ""
	}
	return string(rest[4 : 4+n-1])
}

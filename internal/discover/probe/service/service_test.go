package service_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/vedette-sec/vedette/internal/discover/probe/service"
)

// answering is a dial to a server that reads once, when it is asked something, and sends the
// same bytes; greets says that it sends them at once.
func answering(answer string, greets bool) service.Dial {
	return func(context.Context) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			if !greets {
				if _, err := there.Read(make([]byte, 4096)); err != nil {
					return
				}
			}
			_, _ = there.Write([]byte(answer))
		}()
		return here, nil
	}
}

func TestIdentify(t *testing.T) {
	for _, c := range []struct {
		port                   uint16
		greets                 bool
		answer                 string
		name, product, version string
	}{
		{22, true, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "ssh", "OpenSSH", "9.2p1"},
		{40022, true, "SSH-2.0-dropbear_2022.83\r\n", "ssh", "dropbear", "2022.83"},
		{21, true, "220 (vsFTPd 3.0.3)\r\n", "ftp", "vsFTPd", "3.0.3"},
		{21, true, "220 Welcome\r\n", "ftp", "", ""},
		{25, true, "220 mail.test ESMTP Postfix (Debian/GNU)\r\n", "smtp", "Postfix", ""},
		{25, true, "220 mail.test ESMTP Exim 4.96 Mon\r\n", "smtp", "Exim", "4.96"},
		{23, true, "\xff\xfd\x18\xff\xfd\x20", "telnet", "", ""},
		{5900, true, "RFB 003.008\n", "vnc", "", "003.008"},
		{873, true, "@RSYNCD: 31.0\n", "rsync", "", "31.0"},
		{3306, true, "\x5b\x00\x00\x00\x0a5.5.5-10.11.6-MariaDB-0+deb12u1\x00abcdef", "mysql", "MariaDB",
			"10.11.6-0+deb12u1"},
		{3306, true, "\x4a\x00\x00\x00\x0a8.0.36\x00abcdefghijkl", "mysql", "MySQL", "8.0.36"},
		{6379, false, "$30\r\n# Server\r\nredis_version:7.0.15\r\nx\r\n", "redis", "Redis", "7.0.15"},
		{6379, false, "-NOAUTH Authentication required.\r\n", "redis", "Redis", ""},
		{5432, false, "N", "postgresql", "PostgreSQL", ""},
		{11211, false, "VERSION 1.6.18\r\n", "memcached", "memcached", "1.6.18"},
		{8080, false, "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\n\r\n", "http", "nginx", "1.22.1"},
		{1883, false, "\x20\x02\x00\x00", "mqtt", "", ""},
		{389, false, "\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00", "ldap", "", ""},
		{3389, false, "\x03\x00\x00\x13\x0e\xd0\x00\x00\x12\x34\x00\x02\x0f\x08\x00\x02\x00\x00\x00", "rdp", "", ""},
		{5672, false, "\x01\x00\x00\x00\x00\x00\x40\x00\x0a\x00\x0a\x00\x09\x00\x00\x00\x30\x07productS\x00\x00\x00\x08RabbitMQ\x07versionS\x00\x00\x00\x063.10.8\xce", "amqp", "RabbitMQ", "3.10.8"},
		{53, false, "\x00\x34VE\x84\x00\x00\x01\x00\x01\x00\x00\x00\x00\x07version\x04bind\x00\x00\x10\x00\x03\xc0\x0c\x00\x10\x00\x03\x00\x00\x00\x00\x00\x07\x069.18.1", "dns", "", "9.18.1"},
		{22, true, "SSH-2.0-OpenSSH_9\x1b[2J\x07evil\r\n", "ssh", "OpenSSH", "9[2Jevil"},
		{9999, true, "garbage", "", "", ""},
	} {
		t.Run(c.name+" "+c.product, func(t *testing.T) {
			t.Parallel()
			r := service.Identify(t.Context(), "a.test", c.port, 10*time.Second, answering(c.answer, c.greets))
			if r.Name != c.name || r.Product != c.product || r.Version != c.version || (r.Note == "") != (c.name != "") {
				t.Errorf("%q: %+v", c.answer, r)
			}
		})
	}
}

// What never ends and what never answers is left in time.
func TestHostileServices(t *testing.T) {
	for name, talk := range map[string]func(net.Conn){
		"silence": func(c net.Conn) {
			for _, err := c.Read(make([]byte, 512)); err == nil; _, err = c.Read(make([]byte, 512)) {
			}
		},
		"endless": func(c net.Conn) {
			for _, err := c.Write([]byte(strings.Repeat("x", 999))); err == nil; _, err = c.Write([]byte("y")) {
			}
		},
		"hangs up": func(net.Conn) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			r := service.Identify(t.Context(), "a.test", 9999, time.Second, func(context.Context) (net.Conn, error) {
				here, there := net.Pipe()
				go func() { defer there.Close(); talk(there) }()
				return here, nil
			})
			if r.Name != "" || r.Note == "" || time.Since(start) > 30*time.Second {
				t.Errorf("%+v after %s", r, time.Since(start))
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"SSH-2.0-x", "\x00\x00\x00\x60\xfeSMB", "\x04\x01\x00\x2b\x00\x00\x01\x00\x00\x00\x1a",
		"\x01\x00\x00\x00\x00\x00\x40\x00\x0a\x00\x0a\x07productS\xff\xff\xff\xff", "\x00\x34VE\x84\x00\x00\x01\x00\x01",
		"\x02version\x00\xff\xff\xff\xff"} {
		f.Add([]byte(s), uint16(22))
	}
	f.Fuzz(func(t *testing.T, b []byte, port uint16) {
		r, ok := service.Read(b, port)
		if ok != (r.Name != "") {
			t.Fatalf("%v, %+v", ok, r)
		}
		for _, c := range r.Product + r.Version + r.Note {
			if unicode.IsControl(c) {
				t.Fatalf("%+v", r)
			}
		}
	})
}

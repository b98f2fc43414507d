package services

import (
	"bufio"
	"bytes"
	"net"
	"testing"
)

// peer is a connection from which a text can be read.
type peer struct {
	net.Conn
	in *bytes.Reader
}

func (p peer) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p peer) Write(b []byte) (int, error) { return len(b), nil }

// FuzzServices gives what strangers may send to each parser that is written here.
func FuzzServices(f *testing.F) {
	for _, seed := range []string{
		"SSH-2.0-x\r\n\x00\x00\x00\x18\x04\x14", "hello\nSSH-2.0-x y\n\xff\xff\xff\xff\xff\x14", "RFB 003.008\n\x02\x01\x02",
		"RFB 003.003\n\x00\x00\x00\x02", "RFB 003.007\n\x00\xff\xff\xff\xff", "@RSYNCD: 31.0\nx\ty\n@RSYNCD: EXIT\n",
		"\xff\xfa\x18\xff\xf0login: \xff\xfb\x01password: # ", "*2\r\n$3\r\nabc\r\n:1\r\n",
		"0000\x04000(DESCRIPTION=(TMP=)(VSNNUM=9999999999)(ERR=1)",
		"@RSYNCD: 31.0\n@RSYNCD: OK\nseed\x0e\x00\x00\x07\x01\x01x\x00\x00\x00\x00timemode\x05\x00\x00\x09hello\x02\x00\x00\x07\x00\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		to := func() peer { return peer{in: bytes.NewReader(b)} }
		if _, offer := parseHello(b); offer != nil {
			offer.shown()
		}
		identity(string(b))
		tnsRefusal(b)
		telnetOptions(b, map[string]any{})
		_, _ = vncLogin(to(), "secret")
		_, _, _ = rsyncModules(to())
		_, _, _ = rsyncFiles(to(), rsyncLogin{module: "m"}, func(int) error { return nil })
		_ = (&telnet{conn: to(), in: bufio.NewReader(to())}).login("u", "p")
		_, _ = redis{to(), bufio.NewReader(to())}.do("INFO")
	})
}

package databases_test

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/databases"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/jstest"
)

// Microsoft's server is not in Debian. This is one of the test's own, which speaks as MS-TDS says: what is sent before
// the login (2.2.6.5), the login (2.2.6.4), a batch (2.2.6.7) and tokens (2.2.7), with and without encryption.

// Encryption, as a server names it.
const (
	encryptLogin = 0
	encryptAll   = 1
	encryptNone  = 2
)

// tdsMessage reads packets up to the last of a message.
func tdsMessage(r io.Reader) (body []byte, err error) {
	for head := make([]byte, 8); ; {
		if _, err := io.ReadFull(r, head); err != nil {
			return nil, err
		}
		part := make([]byte, binary.BigEndian.Uint16(head[2:])-8)
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, err
		}
		if body = append(body, part...); head[1]&1 == 1 {
			return body, nil
		}
	}
}

// tdsPacket is a message of one packet.
func tdsPacket(kind byte, body string) []byte {
	return append([]byte{kind, 1, byte((len(body) + 8) >> 8), byte(len(body) + 8), 0, 0, 1, 0}, body...)
}

// shaking is a connection whose handshake of TLS is in packets, and nothing after it.
type shaking struct {
	net.Conn
	rest []byte
	done bool
}

func (c *shaking) Read(b []byte) (int, error) {
	if c.done {
		return c.Conn.Read(b)
	}
	if len(c.rest) == 0 {
		var err error
		if c.rest, err = tdsMessage(c.Conn); err != nil {
			return 0, err
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *shaking) Write(b []byte) (int, error) {
	if c.done {
		return c.Conn.Write(b)
	}
	_, err := c.Conn.Write(tdsPacket(0x12, string(b)))
	return len(b), err
}

func number[T uint16 | uint32 | uint64](n T) string {
	b, err := binary.Append(nil, binary.LittleEndian, n)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func ucs2(s string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		b.WriteString(number(unit))
	}
	return b.String()
}

// short is a text after its length in a byte.
func short(s string) string { return string(rune(len(s))) + ucs2(s) }

func tdsDone() string { return "\xfd" + number[uint16](0) + number[uint16](0) + number[uint64](0) }

func tdsError(code uint32, text string) string {
	body := number(code) + "\x01\x0e" + number(uint16(len(text))) + ucs2(text) + short("s") + short("") + number[uint32](1)
	return "\xaa" + number(uint16(len(body))) + body + "\xfd\x02\x00" + number[uint16](0) + number[uint64](0)
}

// login is the user, the password and the database of a login.
func login(b []byte) (user, password, database string) {
	field := func(at int) []uint16 {
		from, n := binary.LittleEndian.Uint16(b[at:]), binary.LittleEndian.Uint16(b[at+2:])
		units := make([]uint16, n)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(b[int(from)+2*i:])
		}
		return units
	}
	hidden := field(44)
	for i, unit := range hidden { // each byte has its halves exchanged, after that 0xa5 is added
		unit ^= 0xa5a5
		hidden[i] = unit&0x0f0f<<4 | unit&0xf0f0>>4
	}
	return string(utf16.Decode(field(40))), string(utf16.Decode(hidden)), string(utf16.Decode(field(68)))
}

// sqlServer has the user sa with the password Summer-1, and the database master.
func sqlServer(t *testing.T, encryption byte) string {
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	certificates := web.TLS.Certificates
	web.Close()
	return jstest.Serve(t, func(conn net.Conn) {
		if _, err := tdsMessage(conn); err != nil {
			return
		}
		greeting := "\x00\x00\x0b\x00\x06\x01\x00\x11\x00\x01\xff" + "\x10\x00\x00\x00\x00\x00" + string(rune(encryption))
		if _, err := conn.Write(tdsPacket(4, greeting)); err != nil {
			return
		}
		plain := conn
		if encryption != encryptNone {
			inner := &shaking{Conn: conn}
			secret := tls.Server(inner, &tls.Config{Certificates: certificates, MaxVersion: tls.VersionTLS12})
			if secret.HandshakeContext(t.Context()) != nil {
				return
			}
			inner.done, conn = true, secret
		}
		hello, err := tdsMessage(conn)
		if err != nil {
			return
		}
		if encryption == encryptLogin {
			conn = plain
		}
		user, password, database := login(hello)
		answer := "\xad" + number[uint16](12) + "\x01\x74\x00\x00\x04" + short("S") + "\x10\x00\x00\x00" + tdsDone()
		if user != "sa" || password != "Summer-1" || database != "master" {
			answer = tdsError(18456, "Login failed")
		}
		for err == nil {
			if _, err := conn.Write(tdsPacket(4, answer)); err != nil {
				return
			}
			var batch []byte
			if batch, err = tdsMessage(conn); strings.Contains(string(batch), ucs2("hang")) {
				_, _ = tdsMessage(conn)
			}
			answer = tdsAnswer(string(batch))
		}
	})
}

// tdsAnswer is what a batch gives.
func tdsAnswer(batch string) string {
	const (
		integer = "\x00\x00\x00\x00\x01\x00\x26\x04"
		text    = "\x00\x00\x00\x00\x01\x00\xe7\x40\x00\x09\x04\xd0\x00\x34"
		decimal = "\x00\x00\x00\x00\x01\x00\x6a\x05\x05\x02"
		bit     = "\x00\x00\x00\x00\x01\x00\x68\x01"
		long    = "\x00\x00\x00\x00\x01\x00\xe7\xff\xff\x09\x04\xd0\x00\x34"
	)
	one := "\x81\x01\x00" + integer + short("n")
	switch {
	case strings.Contains(batch, ucs2("values")):
		return "\x81\x05\x00" + integer + short("n") + text + short("t") + decimal + short("d") + bit + short("b") + text + short("x") +
			"\xd1\x04" + number[uint32](7) + number[uint16](4) + ucs2("hé") + "\x05\x01" + number[uint32](1250) + "\x01\x01" + "\xff\xff" +
			tdsDone()
	case strings.Contains(batch, ucs2("long")):
		return "\x81\x01\x00" + long + short("l") + "\xd1" + number[uint64](1<<40) + tdsDone()
	case strings.Contains(batch, ucs2("cut")):
		return one + "\xd1\x04\x01"
	case strings.Contains(batch, ucs2("nonsense")):
		return tdsError(207, "Invalid column")
	case strings.Contains(batch, ucs2("set")):
		return tdsDone()
	}
	return one + "\xd1\x04" + number[uint32](1) + tdsDone()
}

func TestSQLServer(t *testing.T) {
	at := sqlServer(t, encryptLogin)
	const client = "const c = new m.MSSQLClient(); "
	const ask = "JSON.stringify(c.ExecuteQuery(H, P, 'sa', 'Summer-1', 'master', "
	for _, c := range []struct{ source, want string }{
		{"c.IsMssql(H, P)", "true"},
		{"c.Connect(H, P, 'sa', 'Summer-1')", "true"},
		{"c.Connect(H, P, 'sa', 'wrong')", "false"},
		{"c.ConnectWithDB(H, P, 'sa', 'Summer-1', 'master')", "true"},
		{"c.ConnectWithDB(H, P, 'sa', 'Summer-1', 'nowhere')", "false"},
		{"c.ConnectWithDB(H, P, 'sa', 'p@:/?#', 'a?b&c')", "false"},
		{"c.Connect('192.0.2.7', P, 'sa', 'Summer-1')", "error out of scope"},
		{"c.Connect('db.invalid', P, 'sa', 'Summer-1')", "error out of scope"},
		{"c.Connect(H + '/x?certificate=/etc/passwd&', P, 'sa', 'Summer-1')", "error out of scope"},
		{"c.Connect(H, 0, 'sa', 'Summer-1')", "error \"0\" is no port"},
		{"c.Connect(H, P, '', '')", "error the name of the user is empty"},
		{ask + "'values'))", `{"Count":1,"Columns":["n","t","d","b","x"],"Rows":[{"b":"true","d":"12.50","n":"7","t":"hé","x":""}]}`},
		{ask + "'set x'))", `{"Count":0,"Columns":[],"Rows":[]}`},
		{ask + "'nonsense'))", "error mssql: Invalid column"},
		{"c.ExecuteQuery(H, P, 'sa', 'wrong', 'master', 'values')", "error mssql: Login failed"},
		{ask + "'long'))", "error PLP length"},
	} {
		jstest.Check{Module: databases.MSSQL, Address: at, Source: client + c.source, Want: c.want}.Run(t)
	}
	for _, encryption := range []byte{encryptAll, encryptNone} {
		jstest.Check{Module: databases.MSSQL, Address: sqlServer(t, encryption), Source: client + ask + "'values'))", Want: `{"Count":1`}.Run(t)
	}
}

// A server that falls silent costs the time of a connection, and one that cuts its answer off none.
func TestSQLServerIsSilent(t *testing.T) {
	at := sqlServer(t, encryptNone)
	for query, want := range map[string]string{"cut": "error Invalid TDS stream", "hang": "error "} {
		c := jstest.Check{Module: databases.MSSQL, Address: at,
			Source: "m.MSSQLClient().ExecuteQuery(H, P, 'sa', 'Summer-1', 'master', '" + query + "')"}
		if got := c.Result(t, 500*time.Millisecond); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", query, got)
		}
	}
}

package ssl

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// A handshake by hand agrees with crypto/tls about what a server chooses, in each version.
func TestGreet(t *testing.T) {
	for version, ids := range map[uint16][]uint16{
		versionTLS10: {0xC014, 0x002F}, 0x0302: {0xC014}, versionTLS12: {0xCCA9, 0xC02B, 0x000A}, versionTLS13: {0x1301},
	} {
		address := serve(t, &tls.Config{MinVersion: tls.VersionTLS10, ClientAuth: tls.RequestClientCert})
		a, err := greet(t.Context(), dial(t, address), "a.test", version, append(ids, 0xC009, 0x1303), time.Minute)
		if err != nil {
			t.Errorf("%x: %v", version, err)
			continue
		}
		if a.version != version || len(a.ja3s()) != 32 || (len(a.certificates) == 1) != (version < versionTLS13) ||
			a.wantsCert != (version < versionTLS13) {
			t.Errorf("%x: %+v", version, a)
		}
	}
}

// What a server refuses is no failure; what it does not understand is none of its answers.
func TestJudge(t *testing.T) {
	modern := serve(t, &tls.Config{MinVersion: tls.VersionTLS12})
	plain := listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n") })
	silent := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	for name, c := range map[string]struct {
		address, version string
		want             proto.Kind
	}{
		"old, by crypto/tls": {modern, "tls10", proto.KindRefused},
		"old, by hand":       {modern, "ssl30", proto.KindRefused},
		"no TLS":             {plain, "", proto.KindInapplicable},
		"no TLS, by hand":    {plain, "ssl30", proto.KindInapplicable},
	} {
		_, err := run(t, c.address, &syntax.SSL{Address: "{{Hostname}}", MinVersion: c.version, MaxVersion: c.version}, time.Minute)
		if end, ok := errors.AsType[*proto.End](err); !ok || end.Kind != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := run(t, silent, &syntax.SSL{Address: "{{Hostname}}"}, 50*time.Millisecond)
	if _, ok := errors.AsType[*proto.End](err); ok || err == nil {
		t.Errorf("a silent server: %v", err)
	}
}

// A server that ends the connection without an alert refuses what was offered if it answers another offer. One that
// never answers was not tested.
func TestAbruptEnds(t *testing.T) {
	reset := func(c net.Conn) {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	}
	shut := listen(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) })
	resets := listen(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)); reset(c) })
	at := func(end func(net.Conn)) string { // as servers and filters do that know no alert
		choose := func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if !slices.ContainsFunc(hello.SupportedVersions, func(v uint16) bool { return v >= tls.VersionTLS12 }) {
				end(hello.Conn)
				_ = hello.Conn.Close()
			}
			return nil, nil //nolint:nilnil // the configuration as it is
		}
		return serve(t, &tls.Config{MinVersion: tls.VersionTLS10, GetConfigForClient: choose})
	}
	choosy, rude := at(func(net.Conn) {}), at(reset)
	for _, c := range []struct {
		address, first, last string
		refused              bool
	}{
		{shut, "", "", false}, {shut, "tls10", "tls11", false}, {resets, "", "", false}, {resets, "ssl30", "ssl30", false},
		{choosy, "tls10", "tls11", true}, {rude, "tls10", "tls11", true}, {choosy, "ssl30", "ssl30", true},
	} {
		block := &syntax.SSL{Address: "{{Hostname}}", MinVersion: c.first, MaxVersion: c.last}
		_, err := run(t, c.address, block, time.Minute)
		end, ok := errors.AsType[*proto.End](err)
		if err == nil || ok != c.refused || ok && end.Kind != proto.KindRefused {
			t.Errorf("%s %s-%s: %v", c.address, c.first, c.last, err)
		}
	}
}

func TestFingerprintsOnDemand(t *testing.T) {
	address := serve(t, &tls.Config{})
	for part, want := range map[string]int{"ja3s_hash": 32, "jarm_hash": 62, "cipher": 0} {
		s := &syntax.SSL{Address: "{{Hostname}}"}
		s.Extractors = []syntax.Extractor{{Type: "kval", KVal: []string{part}}}
		fields, err := run(t, address, s, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ja3s_hash", "jarm_hash"} {
			text, _ := fields[name].(string)
			if name == part && len(text) != want || name != part && text != "" {
				t.Errorf("%s is %q when operators read %s", name, text, part)
			}
		}
	}
}

func TestStrength(t *testing.T) {
	for name, want := range map[string]string{
		"TLS_RSA_WITH_RC4_128_SHA": insecure, "TLS_RSA_WITH_NULL_SHA256": insecure, "TLS_DH_ANON_WITH_AES_128_CBC_SHA": insecure,
		"TLS_RSA_WITH_DES_CBC_SHA": insecure, "TLS_RSA_WITH_3DES_EDE_CBC_SHA": weak, "TLS_RSA_WITH_AES_128_GCM_SHA256": weak,
		"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": weak, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": secure,
		"TLS_AES_128_GCM_SHA256": secure,
	} {
		id, ok := suiteID(strings.ToLower(name))
		if s := (suite{id, suiteName(id)}); !ok || s.name != name || s.strength() != want {
			t.Errorf("%s is %s", name, s.strength())
		}
	}
	for _, c := range tls.CipherSuites() {
		if suiteName(c.ID) != c.Name && !strings.HasSuffix(c.Name, suiteName(c.ID)) {
			t.Errorf("%x is %s, not %s", c.ID, c.Name, suiteName(c.ID))
		}
	}
	if ids := suitesFor(versionTLS13, []string{"all"}); !slices.Contains(ids, uint16(0x1301)) || slices.Contains(ids, uint16(0x002F)) {
		t.Errorf("%x", ids)
	}
}

func TestRefusedBlocks(t *testing.T) {
	for name, s := range map[string]*syntax.SSL{
		"no address": {}, "wrong order": {Address: "a", MinVersion: "tls12", MaxVersion: "tls10"},
		"unknown suite": {Address: "a", CipherSuites: []string{"TLS_NOTHING"}},
	} {
		if _, err := Compile("t.yaml", s); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// No answer of a server makes the reader of handshakes fail otherwise than with an error.
func FuzzGreet(f *testing.F) {
	hello := []byte{22, 3, 3, 0, 46, 2, 0, 0, 38, 3, 3}
	f.Add(append(append(hello, make([]byte, 32)...), 0, 0, 47, 0))
	f.Add([]byte{21, 3, 3, 0, 2, 2, 70})
	f.Add([]byte{22, 3, 3, 0, 8, 11, 0, 0, 4, 0, 0, 1, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = io.CopyN(io.Discard, theirs, 5)
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			_, _ = theirs.Write(data)
			_ = theirs.Close()
		}()
		a, err := greet(t.Context(), ours, "a.test", versionTLS12, []uint16{47}, time.Minute)
		if _ = ours.Close(); err == nil && a.version != versionTLS12 {
			t.Errorf("%+v", a)
		}
	})
}

func run(t *testing.T, address string, s *syntax.SSL, timeout time.Duration) (map[string]any, error) {
	t.Helper()
	p, err := Compile("t.yaml", s)
	if err != nil {
		t.Fatal(err)
	}
	env := &proto.Env{
		Target: rawurl.URL{Host: address}, Timeout: timeout, Dial: (&net.Dialer{}).DialContext,
		Begin: func(context.Context, string) (func(), error) { return func() {}, nil },
		Vars: func(at rawurl.URL) *dsl.Env {
			return &dsl.Env{Ctx: t.Context(), Vars: dsl.Map(at.Variables(false))}
		},
	}
	var fields map[string]any
	err = p.Run(t.Context(), env, func(r *proto.Reply) bool { fields = r.Fields; return true })
	return fields, err
}

// A handshake counts as a request for as long as its connection is open: a scan of many hosts behind one server would
// take more connections than it has otherwise, and the server would close them.
func TestARequestLastsAsLongAsItsConnection(t *testing.T) {
	var open atomic.Int32
	address := serve(t, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if n := open.Load(); n != 1 {
			t.Errorf("%d requests while the hello is read", n)
		}
		return nil, nil //nolint:nilnil // the configuration as it is
	}})
	p, err := Compile("t.yaml", &syntax.SSL{Address: "{{Hostname}}", TLSVersionEnum: true})
	if err != nil {
		t.Fatal(err)
	}
	env := &proto.Env{
		Target: rawurl.URL{Host: address}, Timeout: time.Minute, Dial: (&net.Dialer{}).DialContext,
		Begin: func(context.Context, string) (func(), error) {
			open.Add(1)
			return func() { open.Add(-1) }, nil
		},
		Vars: func(at rawurl.URL) *dsl.Env {
			return &dsl.Env{Ctx: t.Context(), Vars: dsl.Map(at.Variables(false))}
		},
	}
	if err := p.Run(t.Context(), env, func(*proto.Reply) bool { return true }); err != nil || open.Load() != 0 {
		t.Errorf("%v, %d requests left", err, open.Load())
	}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func serve(t *testing.T, config *tls.Config) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a.test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	return listen(t, func(c net.Conn) {
		over := tls.Server(c, config)
		if over.Handshake() == nil {
			_, _ = io.Copy(io.Discard, over)
		}
	})
}

func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(c) }()
		}
	}()
	return l.Addr().String()
}

// The hashes of a certificate are one text, in the order of MD5, SHA-1 and SHA-256, as nuclei prints them; the response
// has each.
func TestFingerprintHash(t *testing.T) {
	fields, err := run(t, serve(t, &tls.Config{}), &syntax.SSL{Address: "{{Hostname}}"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var in struct {
		Hash struct{ MD5, SHA1, SHA256 string } `json:"fingerprint_hash"`
	}
	if err := json.Unmarshal([]byte(fmt.Sprint(fields["response"])), &in); err != nil {
		t.Fatal(err)
	}
	want := "{" + in.Hash.MD5 + " " + in.Hash.SHA1 + " " + in.Hash.SHA256 + "}"
	if len(in.Hash.SHA256) != 64 || fields["fingerprint_hash"] != want {
		t.Errorf("%v, want %s", fields["fingerprint_hash"], want)
	}
}

// Templates read the host without its port, the name that was asked for, and the client that they asked for.
func TestFieldsOfTheServer(t *testing.T) {
	address := serve(t, &tls.Config{})
	for mode, want := range map[string]string{"": "ctls", "auto": "ctls", "ztls": "ztls", "openssl": "openssl"} {
		fields, err := run(t, address, &syntax.SSL{Address: "{{Hostname}}", ScanMode: mode}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if fields["host"] != "127.0.0.1" || fields["sni"] != "127.0.0.1" || fields["tls_connection"] != want {
			t.Errorf("%q: host %v, sni %v, tls_connection %v", mode, fields["host"], fields["sni"], fields["tls_connection"])
		}
	}
}

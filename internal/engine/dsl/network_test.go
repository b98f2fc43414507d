package dsl_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// run evaluates an expression with a host.
func run(t *testing.T, host *functions.Host, source string) (any, error) {
	t.Helper()
	e, err := dsl.Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return e.Eval(&dsl.Env{Ctx: ctx, Host: host, Vars: dsl.Map(scope)})
}

func TestWaitEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e, err := dsl.Compile("wait_for(60)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Eval(&dsl.Env{Ctx: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestJARM(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)},
		&x509.Certificate{SerialNumber: big.NewInt(1)}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	server, err := tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = conn.(*tls.Conn).Handshake()
				_ = conn.Close()
			}()
		}
	}()
	var dialed []string
	host := &functions.Host{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed = append(dialed, address)
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	address := server.Addr().String()
	first, err := run(t, host, "jarm('"+address+"')")
	if err != nil {
		t.Fatal(err)
	}
	again, err := run(t, host, "jarm('"+address+"')")
	nothing := strings.Repeat("0", 62)
	if err != nil || first != again || len(first.(string)) != 62 || first == nothing {
		t.Errorf("%v, then %v, %v", first, again, err)
	}
	if len(dialed) != 20 {
		t.Errorf("%d connections for two fingerprints", len(dialed))
	}
	_ = server.Close()
	if got, err := run(t, host, "jarm('"+address+"')"); got != nothing || err != nil {
		t.Errorf("a closed port has %v, %v", got, err)
	}
	for _, source := range []string{"jarm('nohost')", "jarm('a:b')"} {
		if got, err := run(t, host, source); err == nil {
			t.Errorf("%s: %v", source, got)
		}
	}
}

func TestOtherHostFunctions(t *testing.T) {
	host := &functions.Host{}
	header := `"HTTP/1.1 200 OK\r\nServer: nginx/1.18.0\r\n\r\n"`
	header = strings.NewReplacer(`\r`, "\r", `\n`, "\n").Replace(header)
	for source, want := range map[string]any{
		"getNetworkPort('443', 22)": "22", "getNetworkPort('8022', '22')": "8022", "getNetworkPort('', 22)": "22",
		"wappalyzer(" + header + ", '')": []string{"Nginx"}, "print_debug(1)": true,
	} {
		got, err := run(t, host, source)
		if list, ok := got.([]string); ok && len(list) > 0 {
			list[0], _, _ = strings.Cut(list[0], ":") // without the version
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", source, got, err)
		}
	}
	for _, source := range []string{"public_ip()", "resolve('a')", "jarm('a:1')", "wappalyzer('', '')",
		"llm_prompt('x')"} {
		if got, err := run(t, nil, source); err == nil {
			t.Errorf("%s without a host: %v", source, got)
		}
	}
}

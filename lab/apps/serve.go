package apps

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// certificate is the transport of an application.
type certificate int

const (
	plain   certificate = iota // HTTP
	sound                      // HTTPS without weaknesses
	expired                    // HTTPS with an expired self-signed certificate and TLS 1.1 at most
)

// Server is an application on a free port of 127.0.0.1.
type Server struct {
	URL      string
	Requests func() int64 // received so far
	Close    func()       // stops it and waits
}

// Serve starts the application in its initial state. It serves until ctx ends or it is closed.
func (a App) Serve(ctx context.Context) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("apps: %w", err)
	}
	scheme := "http"
	if a.tls != plain {
		config, err := a.tls.config()
		if err != nil {
			_ = listener.Close() // the first error is more useful
			return nil, fmt.Errorf("apps: %w", err)
		}
		listener, scheme = tls.NewListener(listener, config), "https"
	}
	var requests atomic.Int64
	handler := a.handler()
	srv := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0), // aborted handshakes are not logged
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			handler.ServeHTTP(w, r)
		}),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(listener) // always ends with the error of the Close below
	}()
	forget := context.AfterFunc(ctx, func() { _ = srv.Close() })
	return &Server{
		URL: scheme + "://" + listener.Addr().String(), Requests: requests.Load,
		Close: func() {
			forget()
			_ = srv.Close()
			<-served
		},
	}, nil
}

func (c certificate) config() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "The lab's authority"}, NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "lab.example"}, NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c == expired {
		authority, leaf.NotAfter = leaf, now.Add(-time.Hour)
		config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	config.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	return config, nil
}

package tools

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

type hostPortArgs struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

func (k *Kit) tlsFacts() action[hostPortArgs] {
	return action[hostPortArgs]{
		name: "tls_facts", repeatable: true,
		schema:   `{"type": "object", "required": ["host"], "properties": {"host": {"type": "string"}, "port": {"type": "integer", "description": "443 when absent"}}}`,
		requests: func(hostPortArgs) int { return 1 },
		call: func(ctx context.Context, a hostPortArgs, _ func(string)) (loop.Result, error) {
			if a.Port == 0 {
				a.Port = 443
			}
			ctx, cancel := context.WithTimeout(ctx, webTimeout)
			defer cancel()
			addr := net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
			conn, err := k.scope.Dial(ctx, "tcp", addr)
			if err != nil {
				return loop.Result{}, err
			}
			defer conn.Close()
			k.scope.Count()
			c := tls.Client(conn, &tls.Config{ServerName: a.Host, InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}) //nolint:gosec // it is looked at as it is
			if err := c.HandshakeContext(ctx); err != nil {
				return loop.Result{Requests: 1}, fmt.Errorf("the TLS handshake with %s: %w", addr, err)
			}
			text := describeTLS(a.Host, c.ConnectionState(), time.Now())
			return loop.Result{Text: text, Evidence: []string{"tls " + addr}, Requests: 1}, nil
		},
	}
}

func describeTLS(host string, s tls.ConnectionState, now time.Time) string {
	lines := []string{"version: " + tls.VersionName(s.Version), "cipher: " + tls.CipherSuiteName(s.CipherSuite)}
	if len(s.PeerCertificates) == 0 {
		return strings.Join(append(lines, "no certificate"), "\n")
	}
	leaf, rest := s.PeerCertificates[0], x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		rest.AddCert(c)
	}
	lines = append(lines, "subject: "+leaf.Subject.String(), "issuer: "+leaf.Issuer.String(),
		"names: "+strings.Join(leaf.DNSNames, ", "),
		"valid from "+leaf.NotBefore.UTC().Format(time.RFC3339)+" to "+leaf.NotAfter.UTC().Format(time.RFC3339),
		"signature: "+leaf.SignatureAlgorithm.String())
	if _, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Intermediates: rest, CurrentTime: now}); err != nil {
		lines = append(lines, "not trusted: "+err.Error())
	} else {
		lines = append(lines, "trusted")
	}
	for i := range lines {
		lines[i] = errs.Clip(lines[i], 2000)
	}
	return strings.Join(lines, "\n")
}

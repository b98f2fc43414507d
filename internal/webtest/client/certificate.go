package client

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
)

// maxUntrusted bounds the certificates that are told of.
const maxUntrusted = 20

// judge notes why a browser of this machine would not trust the certificate of a connection. What is tested is tested
// all the same, so that it refuses none. An address without a name is judged by its authority alone.
func (c *Client) judge(state tls.ConnectionState) error {
	c.mu.Lock()
	known := c.judged[state.ServerName]
	if c.judged == nil {
		c.judged = map[string]bool{}
	}
	c.judged[state.ServerName] = true
	c.mu.Unlock()
	if known || len(state.PeerCertificates) == 0 {
		return nil
	}
	between := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: state.ServerName, Intermediates: between,
		CurrentTime: c.Now()})
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.untrusted) < maxUntrusted {
		c.untrusted = append(c.untrusted, err.Error())
	}
	return nil
}

// Untrusted are the reasons why certificates of targets are not trusted.
func (c *Client) Untrusted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.untrusted)
}

package web

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"strconv"
	"strings"
	"time"
)

// IsTLSPart reports whether a part is about TLS, an extension of the language. No matcher on such parts matches on
// plain http, not even a negative one.
func IsTLSPart(name string) bool { return strings.HasPrefix(name, "tls_") }

// tlsFact is the value of a part of TLS; booleans are "true" and "false".
func (x *Exchange) tlsFact(name string) (string, bool) {
	if x.TLS == nil || len(x.TLS.PeerCertificates) == 0 {
		return "", false
	}
	leaf := x.TLS.PeerCertificates[0]
	switch name {
	case "tls_version":
		return versionWord(x.TLS.Version), true
	case "tls_cipher":
		return tls.CipherSuiteName(x.TLS.CipherSuite), true
	case "tls_self_signed":
		return strconv.FormatBool(selfSigned(leaf)), true
	case "tls_expired":
		return strconv.FormatBool(x.At.After(leaf.NotAfter)), true
	case "tls_not_after":
		return leaf.NotAfter.UTC().Format(time.RFC3339), true
	case "tls_mismatched":
		return strconv.FormatBool(leaf.VerifyHostname(x.Request.Address.Hostname()) != nil), true
	case "tls_subject_cn":
		return leaf.Subject.CommonName, true
	case "tls_issuer_cn":
		return leaf.Issuer.CommonName, true
	}
	return "", false
}

// selfSigned reports whether a certificate is issued and signed by itself.
func selfSigned(c *x509.Certificate) bool {
	return bytes.Equal(c.RawSubject, c.RawIssuer) && c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

func versionWord(v uint16) string {
	switch v {
	case tls.VersionTLS10:
		return "tls10"
	case tls.VersionTLS11:
		return "tls11"
	case tls.VersionTLS12:
		return "tls12"
	case tls.VersionTLS13:
		return "tls13"
	}
	return strings.ToLower(tls.VersionName(v))
}

package web

import (
	"crypto/tls"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
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
		return tlsfacts.Version(x.TLS.Version), true
	case "tls_cipher":
		return tls.CipherSuiteName(x.TLS.CipherSuite), true
	case "tls_self_signed":
		return strconv.FormatBool(tlsfacts.SelfSigned(leaf)), true
	case "tls_expired":
		return strconv.FormatBool(x.At.After(leaf.NotAfter)), true
	case "tls_not_after":
		return leaf.NotAfter.UTC().Format(time.RFC3339), true
	case "tls_mismatched":
		return strconv.FormatBool(!tlsfacts.Names(leaf, x.Request.Address.Hostname())), true
	case "tls_subject_cn":
		return leaf.Subject.CommonName, true
	case "tls_issuer_cn":
		return leaf.Issuer.CommonName, true
	}
	return "", false
}

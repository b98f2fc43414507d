package templates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/gob"
	"encoding/hex"
	"encoding/pem"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// signers are trusted public keys by the fragment of their signatures (template language 9.5).
type signers map[string]*ecdsa.PublicKey

// newSigners reads certificates in PEM.
func newSigners(certificates [][]byte) (signers, error) {
	s := signers{}
	for _, text := range certificates {
		certificate, fragment, err := readCertificate(text)
		if err != nil {
			return nil, err
		}
		s[fragment], _ = certificate.PublicKey.(*ecdsa.PublicKey) // or it had been refused
	}
	return s, nil
}

// readCertificate reads a certificate in PEM, with the name of its key in signatures.
func readCertificate(text []byte) (*x509.Certificate, string, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, "", errs.Field("certificate", "a certificate must be PEM")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, "", errs.Field("certificate", "%v", err)
	}
	public, ok := certificate.PublicKey.(*ecdsa.PublicKey)
	if !ok {
		return nil, "", errs.Field("certificate", "the key of a certificate must be one for ECDSA")
	}
	fragment, err := fragmentOf(public)
	if err != nil {
		return nil, "", errs.Field("certificate", "%v", err)
	}
	return certificate, fragment, nil
}

// verified reports whether a signer signed the template's text with the files that it includes.
func (s signers) verified(t *syntax.Template, text []byte, imports []string) bool {
	public := s[t.Signature.Fragment]
	if public == nil {
		return false
	}
	coded, err := hex.DecodeString(t.Signature.Digest)
	if err != nil {
		return false
	}
	var signature []byte
	if gob.NewDecoder(bytes.NewReader(coded)).Decode(&signature) != nil {
		return false
	}
	sum := sha256.Sum256(signedText(text, imports))
	return ecdsa.VerifyASN1(public, sum[:], signature)
}

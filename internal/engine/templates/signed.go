package templates

import (
	"bytes"

	"github.com/vedette-sec/vedette/internal/engine/proto/code"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// CheckSignature reports whether a template starts programs, and whether one of the certificates, in PEM, verifies its
// signature. The error is that of the certificates; a text that is no template starts none.
func CheckSignature(path string, text []byte, files Files, certificates [][]byte) (programs, signed bool, err error) {
	if !bytes.Contains(text, []byte("code")) { // most templates: they need not be parsed
		return false, false, nil
	}
	t, err := syntax.Parse(path, text)
	if err != nil || len(t.Code) == 0 {
		return false, false, nil //nolint:nilerr // who compiles it reports the error
	}
	known, err := newSigners(certificates)
	if err != nil {
		return true, false, err
	}
	imports, err := fillScripts(t, files.open, true)
	if err != nil {
		return true, false, nil //nolint:nilerr // as above
	}
	return true, t.Signature.Present && known.verified(t, text, imports), nil
}

// Programs are the programs of a template whose signature CheckSignature verified, by their keys.
func Programs(path string, text []byte, files Files) (map[string]*code.Probe, error) {
	t, err := syntax.Parse(path, text)
	if err != nil {
		return nil, err
	}
	if _, err := fillScripts(t, files.open, true); err != nil {
		return nil, err
	}
	all := map[string]*code.Probe{}
	for i := range t.Code {
		p, err := code.Compile(path, &t.Code[i], code.Options{})
		if err != nil {
			return nil, err
		}
		all[p.Key()] = p
	}
	return all, nil
}

// SignerOf says whose signatures a certificate in PEM verifies: the name of its owner, and the name of its key in
// signatures. The error names the field certificate.
func SignerOf(certificate []byte) (owner, fragment string, err error) {
	parsed, fragment, err := readCertificate(certificate)
	if err != nil {
		return "", "", err
	}
	return parsed.Subject.CommonName, fragment, nil
}

package templates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/md5" //nolint:gosec // names a key, protects nothing
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/gob"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The kinds of PEM blocks, which nuclei reads.
const (
	certificateBlock = "PD NUCLEI USER CERTIFICATE"
	keyBlock         = "PD NUCLEI USER PRIVATE KEY"
	certificateLife  = 4 * 365 * 24 * time.Hour
)

// Signer signs templates with a private key (template language 9.5).
type Signer struct {
	key      *ecdsa.PrivateKey
	fragment string
}

// fragmentOf names a public key in signatures.
func fragmentOf(public *ecdsa.PublicKey) (string, error) {
	point, err := public.Bytes()
	if err != nil {
		return "", err
	}
	x := point[1 : 1+len(point)/2]            // after the byte that says "uncompressed"
	sum := md5.Sum(bytes.TrimLeft(x, "\x00")) //nolint:gosec // as above
	return hex.EncodeToString(sum[:]), nil
}

// IsEncrypted reports whether a private key in PEM needs a passphrase.
func IsEncrypted(text []byte) bool {
	block, _ := pem.Decode(text)
	return block != nil && x509.IsEncryptedPEMBlock(block) //nolint:staticcheck // it is how nuclei keeps its keys
}

// NewSigner reads a private key in PEM; passphrase opens one that is encrypted.
func NewSigner(text, passphrase []byte) (*Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errs.Field("key", "a private key must be PEM")
	}
	der := block.Bytes
	if IsEncrypted(text) {
		var err error
		if der, err = x509.DecryptPEMBlock(block, passphrase); err != nil { //nolint:staticcheck // as above
			return nil, errs.Field("key", "the passphrase does not open the private key")
		}
	}
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		parsed, otherErr := x509.ParsePKCS8PrivateKey(der)
		own, ok := parsed.(*ecdsa.PrivateKey)
		if otherErr != nil || !ok {
			return nil, errs.Field("key", "the private key is none for ECDSA, or the passphrase is wrong")
		}
		key = own
	}
	fragment, err := fragmentOf(&key.PublicKey)
	if err != nil {
		return nil, errs.Field("key", "%v", err)
	}
	return &Signer{key, fragment}, nil
}

// NewKeys makes a private key and the certificate that verifies its signatures, in PEM; the key is encrypted unless
// the passphrase is empty.
func NewKeys(name string, passphrase []byte, now time.Time) (certificate, private []byte, err error) {
	if name = strings.TrimSpace(name); name == "" {
		return nil, nil, errs.Field("name", "a key needs the name of its owner")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(now.Unix()), Subject: pkix.Name{CommonName: name}, NotBefore: now,
		NotAfter: now.Add(certificateLife), KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	certificate = pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der})
	if der, err = x509.MarshalECPrivateKey(key); err != nil {
		return nil, nil, err
	}
	block := &pem.Block{Type: keyBlock, Bytes: der}
	if len(passphrase) > 0 {
		//nolint:staticcheck // as above
		if block, err = x509.EncryptPEMBlock(rand.Reader, keyBlock, der, passphrase, x509.PEMCipherAES256); err != nil {
			return nil, nil, err
		}
	}
	return certificate, pem.EncodeToMemory(block), nil
}

// Signed is what Sign did with a template.
type Signed string

// What Sign can do.
const (
	SignedNow     Signed = "signed"
	SignedAlready Signed = "signed already"
	SignedNot     Signed = "not signed: workflows and JSON have no signature"
)

// Sign signs the template of a file, with the files that its scripts and programs are in, and replaces the file at
// once. A template that runs programs and carries somebody else's signature is refused, so that nobody vouches for a
// program by mistake: remove its last line after you have read it.
func (s *Signer) Sign(path string) (Signed, error) {
	var text bytes.Buffer
	if err := readFile(path, func(name string) (fs.File, error) { return os.Open(name) }, &text); err != nil {
		return "", err
	}
	t, err := syntax.Parse(path, text.Bytes())
	if err != nil {
		return "", err
	}
	if len(t.Workflows) > 0 || strings.EqualFold(filepath.Ext(path), ".json") {
		return SignedNot, nil
	}
	imports, err := fillScripts(t, newHelpers(Roots([]string{path}), false).open, true)
	if err != nil {
		return "", err
	}
	known := signers{s.fragment: &s.key.PublicKey}
	if known.verified(t, text.Bytes(), imports) {
		return SignedAlready, nil
	}
	if len(t.Code) > 0 && t.Signature.Present && t.Signature.Fragment != s.fragment {
		return "", fmt.Errorf("%s: it runs programs and has somebody else's signature: read it, and remove the line %q",
			path, "# digest: …")
	}
	sum := sha256.Sum256(signedText(text.Bytes(), imports))
	signature, err := ecdsa.SignASN1(rand.Reader, s.key, sum[:])
	if err != nil {
		return "", err
	}
	var coded bytes.Buffer
	if err := gob.NewEncoder(&coded).Encode(signature); err != nil {
		return "", err
	}
	line := fmt.Sprintf("\n# digest: %x:%s", coded.Bytes(), s.fragment)
	return SignedNow, replaceFile(path, append(bytes.TrimSpace(syntax.Unsigned(text.Bytes())), line...))
}

// signedText is what a signature is about: the template without its digest line, and the files that it includes.
func signedText(text []byte, imports []string) []byte {
	signed := bytes.Clone(bytes.TrimSpace(syntax.Unsigned(text)))
	for _, file := range imports {
		signed = append(append(signed, '\n'), file...)
	}
	return signed
}

// replaceFile replaces a file's text, or leaves it as it is.
func replaceFile(path string, text []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".signing-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	for _, next := range []func() error{
		func() error { return file.Chmod(info.Mode().Perm()) }, file.Sync, file.Close,
	} {
		if failed := next(); err == nil {
			err = failed
		}
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

package templates_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/gob"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"context"

	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// signer is somebody with a key and a certificate.
type signer struct {
	key         *ecdsa.PrivateKey
	certificate []byte // PEM
}

func newSigner(t *testing.T) signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{private, certify(t, &private.PublicKey, private)}
}

func certify(t *testing.T, public, private any) []byte {
	t.Helper()
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// sign appends the digest line to a template that takes in files.
func (s signer) sign(t *testing.T, text string, files ...string) string {
	t.Helper()
	signed := strings.TrimSpace(text)
	for _, file := range files {
		signed += "\n" + file
	}
	sum := sha256.Sum256([]byte(signed))
	signature, err := ecdsa.SignASN1(rand.Reader, s.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	var coded bytes.Buffer
	if err := gob.NewEncoder(&coded).Encode(signature); err != nil {
		t.Fatal(err)
	}
	x, err := s.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	name := md5.Sum(bytes.TrimLeft(x[1:33], "\x00")) // as big.Int.Bytes gives it
	return text + "# digest: " + hex.EncodeToString(coded.Bytes()) + ":" + hex.EncodeToString(name[:])
}

func TestSignatures(t *testing.T) {
	ann, bob := newSigner(t), newSigner(t)
	plain, script := template("a", "", ""), "console.log(1)\n"
	flow := template("a", "", "flow: f.js\nhttp: [{path: [x]}]\n")
	code := template("a", "", "code: [{engine: [sh], source: id}]\n")
	for name, c := range map[string]struct {
		text   string
		allow  templates.Allow
		count  int
		wanted bool
	}{
		"signed":           {ann.sign(t, plain), templates.Allow{VerifiedOnly: true}, 1, true},
		"line ends":        {strings.ReplaceAll(ann.sign(t, plain), "\n", "\r\n"), templates.Allow{}, 1, true},
		"of somebody else": {bob.sign(t, plain), templates.Allow{}, 1, false},
		"changed":          {strings.Replace(ann.sign(t, plain), "name: n", "name: m", 1), templates.Allow{}, 1, false},
		"garbled":          {plain + "# digest: zz:" + strings.Repeat("0", 32), templates.Allow{}, 1, false},
		"not signed":       {plain, templates.Allow{VerifiedOnly: true}, 0, false},
		"with its script":  {ann.sign(t, flow, script), templates.Allow{}, 1, true},
		"without it":       {ann.sign(t, flow), templates.Allow{}, 1, false},
		"code":             {ann.sign(t, code), templates.Allow{Code: true}, 1, true},
		"unsigned code":    {code, templates.Allow{Code: true}, 0, false},
	} {
		root := tree(t, map[string]string{"a.yaml": c.text, "f.js": script})
		o := templates.Options{Paths: []string{root}, Allow: c.allow, Certificates: [][]byte{ann.certificate},
			Index: filepath.Join(t.TempDir(), "index")}
		for _, from := range []string{"text", "index"} {
			got := loaded(t, o)
			if len(got.Templates) != c.count || c.count == 1 && got.Templates[0].Signature.Verified != c.wanted ||
				len(got.Templates) == 0 && counts(got)[templates.SkippedUnsigned] != 1 {
				t.Errorf("%s, from the %s: %+v %v %v", name, from, got.Templates, got.Refused, got.Skipped)
			}
		}
		o.Certificates = nil
		if got := loaded(t, o); len(got.Templates) == 1 && got.Templates[0].Signature.Verified {
			t.Errorf("%s: verified by nobody", name)
		}
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, certificate := range [][]byte{[]byte("x"),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), certify(t, &private.PublicKey, private)} {
		if _, err := templates.Load(context.Background(),
			templates.Options{Paths: []string{os.TempDir()}, Certificates: [][]byte{certificate}}); !errs.Is(err, errs.Invalid) {
			t.Error(err)
		}
	}
}

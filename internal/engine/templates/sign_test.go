package templates_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/templates"
)

func newKey(t *testing.T, passphrase string) (certificate []byte, signer *templates.Signer) {
	t.Helper()
	certificate, private, err := templates.NewKeys("Ada", []byte(passphrase), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	signer, err = templates.NewSigner(private, []byte(passphrase))
	if err != nil {
		t.Fatal(err)
	}
	return certificate, signer
}

// What a key signs, its certificate verifies: the template and its files, and not a byte more or less.
func TestSign(t *testing.T) {
	certificate, ada := newKey(t, "open sesame")
	_, bob := newKey(t, "")
	folder := t.TempDir()
	file := filepath.Join(folder, "a.yaml")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verified := func() bool {
		got := loaded(t, templates.Options{Paths: []string{file}, Certificates: [][]byte{certificate},
			Allow: templates.Allow{VerifiedOnly: true, Code: true}})
		return len(got.Templates) == 1 && got.Templates[0].Signature.Verified
	}
	write("a.yaml", "id: a\r\ninfo: {name: N, author: a, severity: low}\r\ncode:\r\n  - engine: [sh]\r\n    source: run.sh\r\n\r\n")
	write("run.sh", "echo 1\n")
	if verified() {
		t.Error("a template without a signature is verified")
	}
	for _, want := range []templates.Signed{templates.SignedNow, templates.SignedAlready} {
		if done, err := ada.Sign(file); done != want || err != nil {
			t.Errorf("%q %v", done, err)
		}
	}
	if !verified() {
		t.Error("the signature is not verified")
	}
	signed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Sign(file); err == nil {
		t.Error("somebody signs a program that another has signed")
	}
	for name, text := range map[string]string{
		"appended":           string(signed) + "\ncode: [{engine: [sh], source: 'echo 2'}]\n",
		"appended a comment": string(signed) + "\n# more\n",
		"changed":            strings.Replace(string(signed), "engine: [sh]", "engine: [bash]", 1),
	} {
		write("a.yaml", text)
		if verified() {
			t.Errorf("%s: it is verified", name)
		}
	}
	write("a.yaml", string(signed))
	write("run.sh", "echo 2\n")
	if verified() {
		t.Error("another program is verified")
	}
}

func TestSignerRefusals(t *testing.T) {
	_, private, err := templates.NewKeys("Ada", []byte("open sesame"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{nil, []byte("x"), private} {
		if _, err := templates.NewSigner(text, []byte("wrong")); err == nil {
			t.Errorf("%q is a key", text)
		}
	}
	if _, _, err := templates.NewKeys(" ", nil, time.Now()); err == nil {
		t.Error("a key has no owner")
	}
}

package backup

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// FuzzArchive reads anything as what a backup decrypts to, after the writer's own beginning: it ends, with an error or
// with each file once.
func FuzzArchive(f *testing.F) {
	const passphrase = "a passphrase for tests"
	whole := func(names ...string) []byte {
		var b bytes.Buffer
		w, err := newWriter(&b, passphrase, 1)
		if err != nil {
			f.Fatal(err)
		}
		if err := w.addJSON(manifestName, manifest{Format: format}); err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			to, err := w.add(name, 4)
			if err != nil {
				f.Fatal(err)
			}
			_, _ = io.WriteString(to, "text")
		}
		if err := w.close(); err != nil {
			f.Fatal(err)
		}
		return b.Bytes()
	}
	f.Add(whole())
	f.Add(whole(keyName, databaseFolder+"x", "files/../../x"))
	f.Add([]byte("age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA 40\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, archive []byte) {
		a, err := newReader(bytes.NewReader(archive), passphrase)
		if err != nil {
			return
		}
		for {
			_, content, err := a.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, content); err != nil {
				return
			}
		}
	})
}

// Package seal encrypts secrets at rest: AES-256-GCM with a key in a file next to the data and not in the
// database, so that a copy of the database reveals nothing.
package seal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// ErrKey is the cause when a secret was encrypted with another key or was modified.
var ErrKey = errors.New("encrypted with another key, or damaged")

// Box encrypts and decrypts. It is safe for concurrent use.
type Box struct {
	aead tink.AEAD
	path string
}

// Open reads the key file at path, creating it (mode 0600) if it is missing; of several processes that start
// at once, the first one's is kept. Every node of a deployment needs the same file.
func Open(path string) (*Box, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = create(path); err == nil {
			text, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the key file for secrets: %w", err)
	}
	b := &Box{path: path}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(text)))
	if err == nil {
		b.aead, err = aead.New(handle)
	}
	if err != nil {
		return nil, fmt.Errorf("the key file for secrets, %s: %w", path, err)
	}
	return b, nil
}

// create writes a new key to a temporary file and links it to path, unless another process was first.
func create(path string) error {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&text)); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // created with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text.Bytes())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Seal encrypts plain. Only the same context, such as the id of its row, decrypts the result, so that it is
// useless in another row.
func (b *Box) Seal(plain []byte, context string) ([]byte, error) {
	return b.aead.Encrypt(plain, []byte(context))
}

// Open decrypts what Seal returned for this context. The error wraps ErrKey.
func (b *Box) Open(sealed []byte, context string) ([]byte, error) {
	plain, err := b.aead.Decrypt(sealed, []byte(context))
	if err != nil {
		return nil, fmt.Errorf("a secret cannot be decrypted with %s: %w", b.path, ErrKey)
	}
	return plain, nil
}

package sshkey

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Password is the algorithm of a stored password.
const Password = "password"

// Algorithms are those of keys that can be generated.
var Algorithms = []string{"ed25519", "rsa-2048", "rsa-4096", "ecdsa-256", "ecdsa-384", "ecdsa-521"}

// The sizes of RSA keys that are taken, in bits: smaller ones are weak, larger ones slow.
const (
	leastRSA = 2048
	mostRSA  = 16384
)

// material is what is stored of a key.
type material struct {
	algorithm   string
	private     []byte // OpenSSH's format without a passphrase, or a password
	public      string
	fingerprint string
}

// generate makes a new key.
func generate(algorithm string) (material, error) {
	var key crypto.PrivateKey
	var err error
	switch algorithm {
	case "ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "rsa-2048":
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case "rsa-4096":
		key, err = rsa.GenerateKey(rand.Reader, 4096)
	case "ecdsa-256":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ecdsa-384":
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ecdsa-521":
		key, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	default:
		return material{}, errs.Field("algorithm", "algorithm must be one of %s.", strings.Join(Algorithms, ", "))
	}
	if err != nil {
		return material{}, err
	}
	return of(key)
}

// parse reads a private key in any PEM format that OpenSSH knows.
func parse(text, passphrase string) (material, error) {
	var key any
	var err error
	if passphrase == "" {
		key, err = ssh.ParseRawPrivateKey([]byte(text))
	} else {
		key, err = ssh.ParseRawPrivateKeyWithPassphrase([]byte(text), []byte(passphrase))
	}
	missing := &ssh.PassphraseMissingError{}
	switch {
	case errors.As(err, &missing):
		return material{}, errs.Field("private_key_passphrase", "private_key_passphrase is required: the private key is encrypted.")
	case err != nil && passphrase != "":
		return material{}, errs.Field("private_key_passphrase",
			"private_key_passphrase does not open the private key, or the key is not encrypted or cannot be read.")
	case err != nil:
		return material{}, errs.Field("private_key", "private_key cannot be read: send a private key as PEM.")
	}
	if pointer, ok := key.(*ed25519.PrivateKey); ok {
		key = *pointer
	}
	return of(key)
}

// of describes a private key. Keys of kinds and sizes that are not safe are refused.
func of(key crypto.PrivateKey) (m material, err error) {
	switch k := key.(type) {
	case ed25519.PrivateKey:
		m.algorithm = "ed25519"
	case *rsa.PrivateKey:
		bits := k.N.BitLen()
		if bits < leastRSA || bits > mostRSA {
			return m, errs.Field("private_key", "private_key must have %d to %d bits; this one has %d.", leastRSA, mostRSA, bits)
		}
		m.algorithm = fmt.Sprintf("rsa-%d", bits)
	case *ecdsa.PrivateKey:
		m.algorithm = fmt.Sprintf("ecdsa-%d", k.Params().BitSize)
	default:
		return m, errs.Field("private_key", "private_key must be an Ed25519, RSA or ECDSA key.")
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return m, errs.Field("private_key", "private_key cannot be used for SSH.")
	}
	m.private = pem.EncodeToMemory(block)
	signer, err := ssh.ParsePrivateKey(m.private)
	if err != nil {
		return m, err
	}
	m.public = strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	m.fingerprint = ssh.FingerprintSHA256(signer.PublicKey())
	return m, nil
}

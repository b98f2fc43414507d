// Package factortest is a security key in software, for tests: it answers what a server asks browsers for with
// WebAuthn, and can be made to answer wrongly.
package factortest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/url"
	"testing"
)

// Key is a security key together with the browser that it is plugged into. A test sets its exported fields between
// answers.
type Key struct {
	Origin     string // of the page that asks, as the browser sees it
	RPID       string // whom the key answers
	Count      uint32 // of the last answer; each one adds 1, unless Mute
	Mute       bool   // it does not count, as passkeys that are synchronised
	Unverified bool   // it asks for no PIN or fingerprint
	Absent     bool   // nobody touches it
	Synced     bool   // it may be, and is, backed up
	ID         []byte
	UserHandle []byte // of the user that it was made for

	private *ecdsa.PrivateKey
	t       testing.TB
}

// New makes a key in a browser that has opened a page of this origin.
func New(t testing.TB, origin string) *Key {
	t.Helper()
	u, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 32)
	_, _ = rand.Read(id) // never fails
	return &Key{Origin: origin, RPID: u.Hostname(), ID: id, private: private, t: t}
}

// Options are those of what a server asks a browser for that the key reads.
type Options struct {
	PublicKey struct {
		Challenge string `json:"challenge"`
		RPID      string `json:"rpId"`
		RP        struct {
			ID string `json:"id"`
		} `json:"rp"`
		User struct {
			ID string `json:"id"`
		} `json:"user"`
		Attestation            string           `json:"attestation"`
		UserVerification       string           `json:"userVerification"`
		AllowCredentials       []map[string]any `json:"allowCredentials"`
		ExcludeCredentials     []map[string]any `json:"excludeCredentials"`
		AuthenticatorSelection map[string]any   `json:"authenticatorSelection"`
	} `json:"publicKey"`
}

// Read reads what a server asks for.
func Read(t testing.TB, options []byte) (o Options) {
	t.Helper()
	if err := json.Unmarshal(options, &o); err != nil {
		t.Fatalf("options %s: %v", options, err)
	}
	return o
}

// Create answers navigator.credentials.create with these options.
func (k *Key) Create(options []byte) json.RawMessage {
	k.t.Helper()
	o := Read(k.t, options)
	handle, err := base64.RawURLEncoding.DecodeString(o.PublicKey.User.ID)
	if err != nil {
		k.t.Fatalf("user.id: %v", err)
	}
	k.UserHandle = handle
	data := k.data(0x40) // with the credential
	data = append(data, make([]byte, 16)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(k.ID)))
	data = append(data, k.ID...)
	data = append(data, k.public()...)
	// CBOR: {"fmt": "none", "attStmt": {}, "authData": data}
	object := append([]byte{0xa3, 0x63}, "fmt"...)
	object = append(append(object, 0x64), "none"...)
	object = append(append(object, 0x67), "attStmt"...)
	object = append(append(object, 0xa0, 0x68), "authData"...)
	object = binary.BigEndian.AppendUint16(append(object, 0x59), uint16(len(data)))
	object = append(object, data...)
	return k.answer(map[string]any{
		"clientDataJSON": text(k.clientData("webauthn.create", o.PublicKey.Challenge)), "attestationObject": text(object),
		"transports": []string{"usb", "nfc"},
	})
}

// Get answers navigator.credentials.get with these options.
func (k *Key) Get(options []byte) json.RawMessage {
	k.t.Helper()
	client := k.clientData("webauthn.get", Read(k.t, options).PublicKey.Challenge)
	data := k.data(0)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.private, digest[:])
	if err != nil {
		k.t.Fatal(err)
	}
	return k.answer(map[string]any{
		"clientDataJSON": text(client), "authenticatorData": text(data), "signature": text(signature),
		"userHandle": text(k.UserHandle),
	})
}

// Clone is another key with the same secrets, which counts for itself.
func (k *Key) Clone() *Key { return new(*k) }

// public is the public key in COSE: {1: 2, 3: -7, -1: 1, -2: x, -3: y}.
func (k *Key) public() []byte {
	point, err := k.private.PublicKey.Bytes() // 4, x, y
	if err != nil {
		k.t.Fatal(err)
	}
	out := append([]byte{0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32}, point[1:33]...)
	return append(append(out, 0x22, 0x58, 32), point[33:]...)
}

// data is the authenticator data with these flags and those of the key.
func (k *Key) data(flags byte) []byte {
	if !k.Mute {
		k.Count++
	}
	for flag, is := range map[byte]bool{0x01: !k.Absent, 0x04: !k.Unverified, 0x18: k.Synced} {
		if is {
			flags |= flag
		}
	}
	hash := sha256.Sum256([]byte(k.RPID))
	return binary.BigEndian.AppendUint32(append(hash[:], flags), k.Count)
}

func (k *Key) clientData(kind, challenge string) []byte {
	out, err := json.Marshal(map[string]any{
		"type": kind, "challenge": challenge, "origin": k.Origin, "crossOrigin": false,
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

func (k *Key) answer(response map[string]any) json.RawMessage {
	out, err := json.Marshal(map[string]any{
		"id": text(k.ID), "rawId": text(k.ID), "type": "public-key", "response": response,
		"authenticatorAttachment": "cross-platform", "clientExtensionResults": map[string]any{},
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

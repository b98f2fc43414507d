package ntlm

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // NTLM is made of it
	"crypto/rand"
	"crypto/rc4" //nolint:gosec // the same
	"encoding/binary"
	"errors"
	"hash"
	"strings"
	"time"
	"unicode/utf16"

	"golang.org/x/crypto/md4" //nolint:gosec,staticcheck // the same
)

// Login answers a challenge, which is somewhere in what a server sent, for a user with a password (NTLM version 2), or
// for nobody when both are empty. key is the key of the session that begins; nil for nobody.
func Login(sent []byte, domain, user, password string) (message, key []byte, err error) {
	at := bytes.Index(sent, signature)
	if at < 0 || len(sent) < at+headerLength || binary.LittleEndian.Uint32(sent[at+8:]) != 2 {
		return nil, nil, errors.New("the server sent no challenge of NTLM")
	}
	b := sent[at:]
	flags := binary.LittleEndian.Uint32(b[20:])
	if user == "" && password == "" {
		return authenticate(flags&^keyExchange|anonymous, []byte{0}, nil, nil, "", ""), nil, nil
	}
	mac := func(key []byte, parts ...[]byte) []byte { return sum(hmac.New(md5.New, key), parts...) }
	//nolint:gosec // NTLM is made of it
	secret := mac(sum(md4.New(), wide(password)), wide(strings.ToUpper(user)+domain))
	random := make([]byte, 8+16)
	_, _ = rand.Read(random) // never fails
	now := binary.LittleEndian.AppendUint64(nil, uint64(time.Now().UnixNano()/100+116444736000000000))
	blob := bytes.Join([][]byte{{1, 1, 0, 0, 0, 0, 0, 0}, now, random[:8], {0, 0, 0, 0}, part(b, 40), {0, 0, 0, 0}}, nil)
	proof := mac(secret, b[24:32], blob)
	base := mac(secret, proof)
	if flags&keyExchange == 0 {
		return authenticate(flags, make([]byte, 24), append(proof, blob...), nil, domain, user), base, nil
	}
	key = random[8:]
	cipher, err := rc4.NewCipher(base) //nolint:gosec // as above
	if err != nil {
		return nil, nil, err
	}
	sealed := make([]byte, len(key))
	cipher.XORKeyStream(sealed, key)
	return authenticate(flags, make([]byte, 24), append(proof, blob...), sealed, domain, user), key, nil
}

const (
	anonymous   = 0x00000800
	keyExchange = 0x40000000
)

// authenticate is the third message of NTLM.
func authenticate(flags uint32, lm, nt, key []byte, domain, user string) []byte {
	parts := [][]byte{lm, nt, wide(domain), wide(user), nil, key}
	const fixed = 12 + 6*8 + 4 + 8
	head := append(bytes.Clone(signature), 3, 0, 0, 0)
	var body []byte
	for _, p := range parts {
		head = binary.LittleEndian.AppendUint16(head, uint16(len(p)))
		head = binary.LittleEndian.AppendUint16(head, uint16(len(p)))
		head = binary.LittleEndian.AppendUint32(head, uint32(fixed+len(body)))
		body = append(body, p...)
	}
	head = binary.LittleEndian.AppendUint32(head, flags)
	return append(append(head, 10, 0, 0, 0, 0, 0, 0, 15), body...)
}

func sum(h hash.Hash, parts ...[]byte) []byte {
	for _, p := range parts {
		_, _ = h.Write(p)
	}
	return h.Sum(nil)
}

// wide is a text in UTF-16.
func wide(text string) (b []byte) {
	for _, unit := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return b
}

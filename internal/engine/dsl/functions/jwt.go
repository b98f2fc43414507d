package functions

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// jwtHashes are the hashes by the number in an algorithm's name.
var jwtHashes = map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}

// generateJWT signs claims. Keys are texts for HS algorithms, PEM for others; "none", in any case, has no signature
// and stays in the header as written.
func generateJWT(env *Env, args []any) (any, error) {
	var claims map[string]any
	if err := json.Unmarshal([]byte(String(args[0])), &claims); err != nil {
		return nil, err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return nil, err
	}
	written := String(args[1])
	key := ""
	if len(args) > 2 {
		key = String(args[2])
	}
	if len(args) > 3 {
		until, err := wholeNumber(args[3])
		if err != nil {
			return nil, err
		}
		payload = expiring(payload, env.Host.now(), time.Unix(until, 0))
	}
	name, sign, err := jwtSigner(written)
	if err != nil {
		return nil, err
	}
	header, err := json.Marshal(struct {
		Algorithm string `json:"alg"`
		Type      string `json:"typ"`
	}{name, "JWT"})
	if err != nil {
		return nil, err
	}
	encode := base64.RawURLEncoding.EncodeToString
	token := encode(header) + "." + encode(payload)
	signature, err := sign(key, token)
	if err != nil {
		return nil, err
	}
	return []byte(token + "." + encode(signature)), nil
}

// expiring adds the claims iat and exp.
func expiring(payload []byte, now, until time.Time) []byte {
	if until.Sub(now) <= time.Second {
		return payload
	}
	times := fmt.Sprintf(`"iat":%d,"exp":%d}`, now.Unix(), until.Unix())
	if len(payload) > len("{}") {
		times = "," + times
	}
	return append(payload[:len(payload)-1:len(payload)-1], times...)
}

// jwtSigner returns the algorithm for the header and the function that signs.
func jwtSigner(written string) (name string, sign func(key, token string) ([]byte, error), err error) {
	name = strings.ToUpper(written)
	unsigned := func(string, string) ([]byte, error) { return nil, nil }
	switch {
	case written == "":
		return "NONE", unsigned, nil
	case strings.TrimSpace(name) == "NONE":
		return written, unsigned, nil
	case name == "EDDSA":
		return "EdDSA", func(key, token string) ([]byte, error) {
			k, err := privateKey[ed25519.PrivateKey](key)
			if err != nil {
				return nil, err
			}
			return ed25519.Sign(k, []byte(token)), nil
		}, nil
	case len(name) != 5 || jwtHashes[name[2:]] == 0:
		return "", nil, fmt.Errorf("there is no algorithm %s", Quote(written))
	}
	hash := jwtHashes[name[2:]]
	switch name[:2] {
	case "HS":
		return name, func(key, token string) ([]byte, error) { return mac(hash.New, key, token), nil }, nil
	case "RS", "PS", "ES":
		return name, func(key, token string) ([]byte, error) { return signDigest(name[:2], key, hash, token) }, nil
	}
	return "", nil, fmt.Errorf("there is no algorithm %s", Quote(written))
}

func signDigest(family, key string, hash crypto.Hash, token string) ([]byte, error) {
	h := hash.New()
	h.Write([]byte(token))
	digest := h.Sum(nil)
	if family == "ES" {
		k, err := privateKey[*ecdsa.PrivateKey](key)
		if err != nil {
			return nil, err
		}
		r, s, err := ecdsa.Sign(rand.Reader, k, digest)
		if err != nil {
			return nil, err
		}
		size := (k.Params().BitSize + 7) / 8
		out := make([]byte, 2*size)
		r.FillBytes(out[:size])
		s.FillBytes(out[size:])
		return out, nil
	}
	k, err := privateKey[*rsa.PrivateKey](key)
	if err != nil {
		return nil, err
	}
	if family == "PS" {
		return rsa.SignPSS(rand.Reader, k, hash, digest, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
	}
	return rsa.SignPKCS1v15(rand.Reader, k, hash, digest)
}

// privateKey parses a key of one type from PEM.
func privateKey[K any](text string) (key K, err error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return key, errors.New("the key is not in PEM form")
	}
	var parsed any
	if parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
		if parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
			parsed, err = x509.ParseECPrivateKey(block.Bytes)
		}
	}
	if err != nil {
		return key, err
	}
	key, ok := parsed.(K)
	if !ok {
		return key, errors.New("the key is for another algorithm")
	}
	return key, nil
}

package functions

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

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
	name, method, err := jwtMethod(written)
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
	signature, err := signJWT(method, key, token)
	if err != nil {
		return nil, err
	}
	return []byte(token + "." + encode(signature)), nil
}

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

// jwtMethod returns the algorithm for the header and its method; nil for a token without signature.
func jwtMethod(written string) (name string, method jwt.SigningMethod, err error) {
	name = strings.ToUpper(written)
	switch {
	case written == "":
		return "NONE", nil, nil
	case strings.TrimSpace(name) == "NONE":
		return written, nil, nil
	case name == "EDDSA":
		name = "EdDSA"
	}
	if method = jwt.GetSigningMethod(name); method == nil {
		return "", nil, fmt.Errorf("there is no algorithm %s", Quote(written))
	}
	return name, method, nil
}

func signJWT(method jwt.SigningMethod, key, token string) ([]byte, error) {
	if method == nil {
		return nil, nil
	}
	if strings.HasPrefix(method.Alg(), "HS") {
		return method.Sign(token, []byte(key))
	}
	k, err := privateKey(key)
	if err != nil {
		return nil, err
	}
	return method.Sign(token, k)
}

// privateKey parses a key in PEM form.
func privateKey(text string) (key any, err error) {
	if len(text) > maxShort {
		return nil, ErrTooLarge
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the key is not in PEM form")
	}
	if key, err = x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err = x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return x509.ParseECPrivateKey(block.Bytes)
}

package webtool

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"html"
	"net/url"
	"strings"
	"unicode/utf8"
)

type codecArgs struct {
	Do   string `json:"do"`
	Text string `json:"text"`
	// Of jwt_sign: Text are the claims.
	Algorithm string `json:"algorithm"`
	Key       string `json:"key"`
	KeyID     string `json:"kid"`
}

const (
	maxCodec    = 64 << 10
	codecSchema = `{"type": "object", "required": ["do", "text"], "properties": {
		"do": {"type": "string", "enum": ["base64_encode", "base64_decode",
			"url_encode", "url_decode", "html_encode", "html_decode",
			"hex_encode", "hex_decode", "jwt_decode", "jwt_sign"]},
		"text": {"type": "string", "maxLength": 65536, "description": "of jwt_sign: the claims, an object of JSON"},
		"algorithm": {"type": "string", "enum": ["HS256", "HS384", "HS512", "none"],
			"description": "of jwt_sign; HS256 when absent"},
		"key": {"type": "string", "description": "of jwt_sign, and of jwt_decode to check a signature"},
		"kid": {"type": "string", "description": "of jwt_sign: the key's id in its header"}}}`
)

// codec writes a text in another way, or reads one.
func codec(a codecArgs) (string, error) {
	if len(a.Text) > maxCodec {
		return "", fmt.Errorf("text: at most %d bytes", maxCodec)
	}
	switch a.Do {
	case "base64_encode":
		return base64.StdEncoding.EncodeToString([]byte(a.Text)), nil
	case "base64_decode":
		return shown(fromBase64(a.Text))
	case "url_encode":
		return url.QueryEscape(a.Text), nil
	case "url_decode":
		text, err := url.QueryUnescape(a.Text)
		return shown([]byte(text), err)
	case "html_encode":
		return html.EscapeString(a.Text), nil
	case "html_decode":
		return html.UnescapeString(a.Text), nil
	case "hex_encode":
		return hex.EncodeToString([]byte(a.Text)), nil
	case "hex_decode":
		return shown(hex.DecodeString(strings.TrimPrefix(strings.ReplaceAll(a.Text, " ", ""), "0x")))
	case "jwt_decode":
		return readToken(a)
	case "jwt_sign":
		return signToken(a)
	}
	return "", fmt.Errorf("do: there is no %q", a.Do)
}

// shown is a text as it is, and other bytes in hexadecimal digits.
func shown(raw []byte, err error) (string, error) {
	switch {
	case err != nil:
		return "", fmt.Errorf("text: %w", err)
	case utf8.Valid(raw):
		return string(raw), nil
	}
	return "bytes: " + hex.EncodeToString(raw), nil
}

// fromBase64 reads Base64 of both alphabets, with and without what fills it up.
func fromBase64(text string) ([]byte, error) {
	text = strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	if strings.ContainsAny(text, "-_") {
		return base64.RawURLEncoding.DecodeString(text)
	}
	return base64.RawStdEncoding.DecodeString(text)
}

// readToken is the header and the claims of a token, and whether a key has signed it.
func readToken(a codecArgs) (string, error) {
	parts := strings.Split(strings.TrimSpace(strings.TrimPrefix(a.Text, "Bearer ")), ".")
	if len(parts) != 3 {
		return "", errors.New("text: a token has three parts")
	}
	var lines []string
	var header struct {
		Algorithm string `json:"alg"`
	}
	for i, name := range []string{"header", "claims"} {
		raw, err := fromBase64(parts[i])
		if err != nil {
			return "", fmt.Errorf("text: the %s of the token: %w", name, err)
		}
		if i == 0 {
			_ = json.Unmarshal(raw, &header) // another header is shown all the same
		}
		lines = append(lines, name+": "+string(raw))
	}
	lines = append(lines, fmt.Sprintf("signature: %d characters", len(parts[2])))
	if sum := hashes[header.Algorithm]; a.Key != "" && sum != nil {
		isBy := hmac.Equal([]byte(parts[2]), []byte(signature(sum, a.Key, parts[0]+"."+parts[1])))
		lines = append(lines, fmt.Sprintf("signed with the key: %t", isBy))
	} else if a.Key != "" {
		lines = append(lines, "signed with the key: not known, as it is no algorithm of shared keys")
	}
	return strings.Join(lines, "\n"), nil
}

var hashes = map[string]func() hash.Hash{"HS256": sha256.New, "HS384": sha512.New384, "HS512": sha512.New}

func signature(sum func() hash.Hash, key, text string) string {
	mac := hmac.New(sum, []byte(key))
	_, _ = mac.Write([]byte(text)) // never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// signToken makes a token of claims.
func signToken(a codecArgs) (string, error) {
	var claims map[string]any
	if err := json.Unmarshal([]byte(a.Text), &claims); err != nil {
		return "", fmt.Errorf("text: the claims are no object of JSON: %w", err)
	}
	algorithm := a.Algorithm
	if algorithm == "" {
		algorithm = "HS256"
	}
	fields := map[string]string{"alg": algorithm, "typ": "JWT"}
	if a.KeyID != "" {
		fields["kid"] = a.KeyID
	}
	header, err := json.Marshal(fields)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString([]byte(a.Text))
	sum := hashes[algorithm]
	switch {
	case algorithm == "none":
		return text + ".", nil
	case sum == nil:
		return "", fmt.Errorf("algorithm: there is no %q", algorithm)
	}
	return text + "." + signature(sum, a.Key, text), nil
}

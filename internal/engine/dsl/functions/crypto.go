package functions

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
)

func cryptoFunctions() []Function {
	return []Function{
		function("aes_cbc", 3, 3, aesCBC),
		{Name: "aes_gcm", Min: 2, Max: 2, Impure: true, Run: aesGCM},
		{Name: "rsa_encrypt", Min: 2, Max: 2, Impure: true, Expensive: true, Run: rsaEncrypt},
		slow(Function{Name: "generate_jwt", Min: 2, Max: 4, Impure: true, Expensive: true, Run: generateJWT}),
		atMost(maxShort, Function{Name: "cookie_unsign", Min: 1, Max: -1, Expensive: true, Run: cookieUnsign}),
	}
}

// aesCBC encrypts with PKCS #5 padding, to bytes.
func aesCBC(_ *Env, args []any) (any, error) {
	data, iv := []byte(String(args[0])), []byte(String(args[2]))
	block, err := aes.NewCipher([]byte(String(args[1])))
	if err != nil {
		return nil, err
	}
	if len(iv) != aes.BlockSize {
		return nil, fmt.Errorf("the initial vector has %d bytes, not %d", len(iv), aes.BlockSize)
	}
	missing := aes.BlockSize - len(data)%aes.BlockSize
	for range missing {
		data = append(data, byte(missing))
	}
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(data, data) //nolint:gosec // the template says which vector
	return data, nil
}

// aesGCM encrypts with a random nonce, which is the beginning of the result.
func aesGCM(env *Env, args []any) (any, error) {
	block, err := aes.NewCipher([]byte(String(args[0])))
	if err != nil {
		return nil, err
	}
	sealer, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	nonce := env.Host.bytes(sealer.NonceSize())
	return sealer.Seal(nonce, nonce, []byte(String(args[1])), nil), nil
}

func rsaEncrypt(_ *Env, args []any) (any, error) {
	if Size(args[1]) > maxShort {
		return nil, ErrTooLarge
	}
	block, _ := pem.Decode([]byte(String(args[1])))
	if block == nil {
		return nil, errors.New("the key is not in PEM form")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("the key is not an RSA key")
	}
	// Targets expect this padding, although it is weak.
	b, err := rsa.EncryptPKCS1v15(rand.Reader, key, []byte(String(args[0]))) //nolint:staticcheck // see above
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString(b), nil
}

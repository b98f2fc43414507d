package alert

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// secrets are one secret or a list of them.
type secrets []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *secrets) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*s = secrets{n.Value}
		return nil
	}
	return n.Load((*[]string)(s))
}

const (
	secretPrefix = "whsec_"
	minSecret    = 24 // bytes, as Standard Webhooks has it
	maxSecret    = 64
	maxSecrets   = 3
)

// keyOf is the key that a secret stands for: base64 after its prefix.
func keyOf(secret string) ([]byte, error) {
	digits, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(digits)
	if !ok || err != nil || len(key) < minSecret || len(key) > maxSecret {
		return nil, fmt.Errorf("signing_secret must be %s and the base64 of %d to %d bytes", secretPrefix, minSecret, maxSecret)
	}
	return key, nil
}

func (c Channel) checkSigning() error {
	switch {
	case len(c.Signing) == 0:
		return nil
	case c.Provider != "webhook":
		return errors.New("signing_secret is for a webhook only")
	case len(c.Signing) > maxSecrets:
		return fmt.Errorf("there are at most %d signing_secrets", maxSecrets)
	}
	for _, secret := range c.Signing {
		if _, err := keyOf(secret); err != nil {
			return err
		}
	}
	return nil
}

// signer signs a webhook as the Standard Webhooks specification says: with the id of the message, which stays when it
// is sent again, the time of the attempt, and a signature by each secret, so that secrets can be exchanged one after
// the other. nil without secrets.
func (c Channel) signer(id string, at time.Time) func(body []byte, h http.Header) {
	if len(c.Signing) == 0 {
		return nil
	}
	return func(body []byte, h http.Header) {
		seconds := strconv.FormatInt(at.Unix(), 10)
		var signatures []string
		for _, secret := range c.Signing {
			key, err := keyOf(secret)
			if err != nil {
				continue // Parse has refused it
			}
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(id + "." + seconds + "."))
			mac.Write(body)
			signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		}
		h.Set("Webhook-Id", id)
		h.Set("Webhook-Timestamp", seconds)
		h.Set("Webhook-Signature", strings.Join(signatures, " "))
	}
}

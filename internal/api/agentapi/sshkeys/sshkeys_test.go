package sshkeys

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/sshkey"
)

// TestNoAnswerHasAPrivatePart: what an answer is made of has no field for it.
func TestNoAnswerHasAPrivatePart(t *testing.T) {
	text, err := json.Marshal(sshkey.Key{Name: "n", PublicKey: "ssh-ed25519 AAAA", Fingerprint: "SHA256:x"})
	if err != nil || strings.Contains(string(text), "private") || strings.Contains(string(text), `"password":`) {
		t.Errorf("%s, %v", text, err)
	}
	for reference, name := range Words().Names {
		if !strings.HasPrefix(name, "SSH") {
			t.Errorf("%v is named %s", reference, name)
		}
	}
}

package ntlm_test

import (
	"encoding/hex"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/ntlm"
)

// challenge is one of Samba's, for the computer LAB in the domain WORK.
var challenge = "xxNTLMSSP\x00\x02\x00\x00\x00\x06\x00\x06\x00\x38\x00\x00\x00\x15\x82\x8a\x62" + "12345678" + "\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x20\x00\x20\x00\x3e\x00\x00\x00" + "\x06\x01\x00\x00\x00\x00\x00\x0f" + "L\x00A\x00B\x00" +
	"\x01\x00\x06\x00L\x00A\x00B\x00" + "\x02\x00\x02\x00W\x00" + "\x07\x00\x08\x00\x01\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00"

func TestParse(t *testing.T) {
	c := ntlm.Parse([]byte(challenge))
	if c == nil || c.Target != "LAB" || c.Computer != "LAB" || c.Domain != "W" || c.Version != "6.1.0" || c.Time != 1 {
		t.Fatalf("%+v", c)
	}
	for n := range challenge {
		ntlm.Parse([]byte(challenge[:n])) // each is too short somewhere
	}
	if ntlm.Parse(ntlm.Negotiate()) != nil {
		t.Error("what asks for a challenge is none")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(challenge))
	bare, _ := hex.DecodeString("4e544c4d5353500002000000ffffffffffffffff")
	f.Add(bare)
	f.Fuzz(func(_ *testing.T, b []byte) { ntlm.Parse(b) })
}

// The key of a session is wrapped, if the server wants one; nobody has none.
func TestLogin(t *testing.T) {
	for user, wants := range map[string]bool{"ada": true, "": false} {
		message, key, err := ntlm.Login([]byte(challenge), "", user, user)
		if err != nil || (len(key) == 16) != wants || string(message[:8]) != "NTLMSSP\x00" || message[8] != 3 {
			t.Errorf("%q: %x %x %v", user, message, key, err)
		}
	}
	for n := range challenge[:40] {
		if _, _, err := ntlm.Login([]byte(challenge[:n]), "", "ada", "x"); err == nil {
			t.Errorf("%d bytes are a challenge", n)
		}
	}
}

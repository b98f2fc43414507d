package alert

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// The example of the Standard Webhooks specification.
func TestSignerOfTheSpecification(t *testing.T) {
	c := Channel{Provider: "webhook", settings: settings{Signing: secrets{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}}
	h := http.Header{}
	c.signer("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0))([]byte(`{"test": 2432232314}`), h)
	if got := h.Get("Webhook-Signature"); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Error(got)
	}
}

// A webhook is signed by each secret over what is sent; when it is sent again, it has the same id.
func TestSignedWebhook(t *testing.T) {
	first, second := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", 24))),
		base64.StdEncoding.EncodeToString([]byte(strings.Repeat("b", 64)))
	var seen []http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Header)
		at, err := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
		if err != nil || time.Since(time.Unix(at, 0)).Abs() > time.Minute {
			t.Errorf("timestamp: %v", r.Header)
		}
		signatures := strings.Fields(r.Header.Get("Webhook-Signature"))
		for i, secret := range []string{first, second} {
			key, _ := base64.StdEncoding.DecodeString(secret)
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(r.Header.Get("Webhook-Id") + "." + r.Header.Get("Webhook-Timestamp") + "." + string(body)))
			if len(signatures) != 2 || signatures[i] != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
				t.Errorf("signature %d of %q: %q", i, body, signatures)
			}
		}
	}))
	defer server.Close()
	text := "webhook: {url: '" + server.URL + "', signing_secrets: [whsec_" + first + ", whsec_" + second + "]}"
	config, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	sender := NewSender(&netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	for range 2 {
		if err := sender.Send(t.Context(), config.Channels[0], Alert{ID: "n-1", Kind: Finished, Message: "é"}); err != nil {
			t.Error(err)
		}
	}
	if len(seen) != 2 || seen[0].Get("Webhook-Id") != "n-1" || seen[1].Get("Webhook-Id") != "n-1" {
		t.Errorf("%v", seen)
	}
	if ok, said := sender.Verify(t.Context(), []byte(text)); !ok || len(seen) != 3 || seen[2].Get("Webhook-Id") == "" {
		t.Error(said, seen)
	}
}

func TestSigningSecretsAreChecked(t *testing.T) {
	good := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24))
	for text, want := range map[string]string{
		"webhook: {url: 'http://x', signing_secret: " + good + "}":                            "",
		"webhook: {url: 'http://x', webhook_signing_secret: [" + good + "]}":                  "",
		"webhook: {url: 'http://x', signing_secret: secret}":                                  "whsec_",
		"webhook: {url: 'http://x', signing_secret: whsec_YWJj}":                              "24 to 64 bytes",
		"webhook: {url: 'http://x', signing_secrets: [" + strings.Repeat(good+", ", 4) + "]}": "at most 3",
		"webhook: {url: 'http://x', signing_secrets: {a: b}}":                                 "not of its type",
		"slack: {webhook_url: 'http://x', signing_secret: " + good + "}":                      "webhook only",
	} {
		if _, err := Parse([]byte(text)); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

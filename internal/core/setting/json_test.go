package setting

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TestConfigurationsInJSON: what is sent in JSON is the same configuration as its YAML.
func TestConfigurationsInJSON(t *testing.T) {
	const sent = `{"slack": [{"id": "ops", "enabled": true, "rate": 1.5, "n": 10, "none": null, "odd": "yes: <\u00fc>\t\ud83d\ude00"}], "a": {}}`
	text, err := FromJSON("\t" + sent)
	if err != nil || !strings.Contains(text, "slack:\n") {
		t.Fatalf("%s, %v", text, err)
	}
	const want = `{"a":{},"slack":[{"enabled":true,"id":"ops","n":10,"none":null,"odd":"yes: <ü>\t😀","rate":1.5}]}`
	for _, yaml := range []string{text, base64.StdEncoding.EncodeToString([]byte(text))} {
		if again, err := ToJSON(yaml); err != nil || again != want {
			t.Errorf("%s, %v", again, err)
		}
	}
	for _, wrong := range []string{"", "a: b", `{"a":`, `{} {}`, strings.Repeat("[", 100)} {
		if _, err := FromJSON(wrong); errs.From(err) == nil || errs.From(err).Param != "config" {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if _, err := ToJSON("a: .inf"); errs.From(err) == nil || errs.From(err).Param != "config_json" {
		t.Errorf("infinity: %v", err)
	}
}

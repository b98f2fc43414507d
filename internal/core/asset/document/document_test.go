package document

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/asset"
)

func TestListsAreNeverNull(t *testing.T) {
	text, err := json.Marshal(Of(asset.Asset{}, true))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"labels", "cname", "ip", "technologies", "source"} {
		if !strings.Contains(string(text), `"`+field+`":[]`) {
			t.Errorf("%s is not an empty list in %s", field, text)
		}
	}
}

func TestTypeAndName(t *testing.T) {
	host, port, web := asset.Asset{}, asset.Asset{}, asset.Asset{}
	host.Host, port.Host, web.Host = "a.example.com", "2001:db8::1", "a.example.com"
	port.Port, web.Port, web.URL = 22, 443, "https://a.example.com"
	for want, a := range map[string]asset.Asset{"host a.example.com": host, "port [2001:db8::1]:22": port,
		"http a.example.com:443": web} {
		if c := Of(a, false); c.Type+" "+c.Name != want {
			t.Errorf("%s %s, want %s", c.Type, c.Name, want)
		}
	}
}

func TestListsLeaveOutTheBody(t *testing.T) {
	var a asset.Asset
	a.Body = "<html>"
	if Of(a, false).Body != "" || Of(a, true).Body != a.Body {
		t.Error("the body is in the wrong document")
	}
	if _, ok := Of(a, false).ExtendedMetadata["headers"]; ok {
		t.Error("headers are in a list")
	}
}

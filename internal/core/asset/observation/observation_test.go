package observation

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/discover"
)

func TestBound(t *testing.T) {
	headers := map[string]string{}
	for i := range 2 * maxDetails {
		headers[strings.Repeat("x", i+1)] = strings.Repeat("ü", maxText)
	}
	a := Bound(discover.Asset{Host: "WWW.example.com.", Port: 80, Body: strings.Repeat("ü", maxBody), Headers: headers,
		Title: "\x00", Screenshot: []byte("x")})
	if a.Host != "www.example.com" || a.Protocol != "tcp" || len(a.Body) != maxBody || len(a.Headers) != maxDetails ||
		len(a.Headers["x"]) != maxText ||
		a.Title != "\uFFFD" || a.Screenshot != nil {
		t.Errorf("%+v", a)
	}
}

func TestChanges(t *testing.T) {
	before := discover.Asset{Host: "a", Title: "A", IP: []string{"2", "1"}, Body: "x", TLS: &discover.TLS{Serial: "1"}}
	after := discover.Asset{Host: "a", StatusCode: 200, IP: []string{"1", "2"}, Body: "y", TLS: &discover.TLS{Serial: "2"}}
	got, err := Changes(before, after)
	var text []string
	for _, f := range got {
		text = append(text, f.Name+" "+string(f.From)+" "+string(f.To))
	}
	if want := `status_code  200, title "A" , tls_serial_number "1" "2"`; err != nil || strings.Join(text, ", ") != want {
		t.Errorf("%s, %v, want %s", strings.Join(text, ", "), err, want)
	}
}

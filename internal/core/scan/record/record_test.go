package record

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/importer"
	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// What other tools say has an identity that stays when versions, tags and lines change, and no other.
func TestIdentities(t *testing.T) {
	pkg := func(version, image, line string) importer.Record {
		return importer.Record{Tool: "trivy", Check: "CVE-2024-1000", Place: kit.Place{Package: kit.Package{
			PURL: "pkg:deb/debian/openssl@" + version + "?distro=12", Name: "openssl", Version: version, Image: image}}, Reference: line}
	}
	code := func(line int, snippet string) importer.Record {
		return importer.Record{Tool: "semgrep", Check: "sqli", Place: kit.Place{File: "src/a.py", StartLine: line, Snippet: snippet}}
	}
	web := func(tool, url, parameter, in string) importer.Record {
		return importer.Record{Tool: tool, Check: "x", Place: kit.Place{URL: url, Host: "shop.example", Port: 443,
			Parameter: kit.Parameter{Name: parameter, In: in}}}
	}
	port := func(protocol string) importer.Record {
		return importer.Record{Tool: "nmap", Check: "open", Place: kit.Place{Host: "h", Port: 53, Protocol: protocol}}
	}
	for name, test := range map[string]struct {
		a, b importer.Record
		same bool
	}{
		"a version and a tag":     {pkg("1.0", "shop:1", ""), pkg("1.1", "shop:2", ""), true},
		"an image":                {pkg("1.0", "shop:1", ""), pkg("1.0", "registry.example:5000/other@sha256:00", ""), false},
		"a line":                  {code(3, "query( x )"), code(30, "query(x)"), true},
		"other code":              {code(3, "query(x)"), code(3, "query(y)"), false},
		"values of a query":       {web("zap", "https://shop.example/a?q=1", "q", "query"), web("zap", "https://shop.example/a?q=2", "q", "query"), true},
		"another parameter":       {web("zap", "https://shop.example/a", "q", "query"), web("zap", "https://shop.example/a", "r", "query"), false},
		"a form and a cookie":     {web("zap", "https://shop.example/a", "q", "form"), web("zap", "https://shop.example/a", "q", "cookie"), false},
		"a form and a body":       {web("zap", "https://shop.example/a", "q", "form"), web("zap", "https://shop.example/a", "q", "json"), true},
		"checks of two tools":     {web("zap", "https://shop.example/a", "", ""), web("burp", "https://shop.example/a", "", ""), false},
		"a port of two protocols": {port("tcp"), port("udp"), false},
	} {
		a, b := Sighting(test.a), Sighting(test.b)
		if same := a.Parts.Hash() == b.Parts.Hash(); same != test.same {
			t.Errorf("%s: same %t\n%+v\n%+v", name, same, a.Parts, b.Parts)
		}
	}
}

// nuclei's own reports have the identity that our scans give the same template.
func TestNucleiIsAtHome(t *testing.T) {
	s := Sighting(importer.Record{Tool: "nuclei", Check: "git-config", Matcher: "m", Place: kit.Place{URL: "https://shop.example/.git/config",
		Host: "shop.example", Port: 443}})
	if s.Event.TemplateID != "git-config" || s.Parts.Hash() != identity.Of(s.Event, "").Hash() {
		t.Errorf("%+v", s)
	}
}

package identity

import "testing"

// The page of an input that is a segment of the path is in the hash, its payload is not; earlier releases left both out.
func TestPagesOfSegments(t *testing.T) {
	segment := func(url string) Parts {
		p := with(at("webtest-sql-injection", url, ""), "path", "2", "cwe-89")
		p.Matcher = "segment 2 of the path"
		return p
	}
	one, again, other := segment("http://h/item/1'--?a=1"), segment("http://h/item/2%27"), segment("http://h/user/1'--?a=1")
	if one.Hash() != again.Hash() || one.Hash() == other.Hash() {
		t.Errorf("%s, %s and %s", one.Hash(), again.Hash(), other.Hash())
	}
	if one.Older() == "" || one.Older() == one.Hash() || one.Older() != other.Older() {
		t.Errorf("before: %s and %s", one.Older(), other.Older())
	}
	if p := with(at("path-sqli", "http://h/item/2'", ""), "path", "2"); p.page() != "" { // the segment is its own name
		t.Errorf("a fuzzing rule: %s", p.page())
	}
	detailed := segment("http://h/item/1")
	detailed.Detail = "d"
	if detailed.Older() != one.Hash() {
		t.Error("a detail hides a page")
	}
}

func TestOfSite(t *testing.T) {
	zap := at("zap:10055", "http://h/a", "")
	zap.Parameter = "Content-Security-Policy"
	wapiti := Parts{Check: "wapiti:Content Security Policy Configuration"}
	lacks := wapiti
	lacks.Detail = "csp"
	header := Parts{Check: "http-missing-security-headers", Matcher: "X-Frame-Options"}
	for want, p := range map[string]Parts{
		"zap:10055 content-security-policy": zap, "no content-security-policy": lacks, "no x-frame-options": header,
		"cookie without httponly sid": {Check: "zap:10010", Parameter: "sid"},
	} {
		if got := p.ofSite(); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
	for _, p := range []Parts{wapiti, {Check: "zap:10010"}, {Check: "zap:40012", Parameter: "q"}} {
		if got := p.ofSite(); got != "" {
			t.Errorf("%+v: %q", p, got)
		}
	}
}

package digest_test

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/digest"
)

// TestAuthorization answers the challenges of RFC 7616, section 3.9.1.
func TestAuthorization(t *testing.T) {
	const nonce = `nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
	for algorithm, response := range map[string]string{
		"MD5":     "8ca523f5e9506fed4657c9700eebdbec",
		"SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
	} {
		c := &digest.Credentials{
			Username: "Mufasa", Password: "Circle of Life",
			Nonce: func() string { return "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ" },
		}
		challenge := `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=` + algorithm + ", " + nonce
		if !c.Learn("http://h", []string{"Basic realm=x", challenge}, false) {
			t.Fatalf("%s: the challenge is not answered", algorithm)
		}
		if c.Learn("http://h", []string{challenge}, true) {
			t.Errorf("%s: a wrong password is sent again", algorithm)
		}
		if !c.Learn("http://h", []string{challenge + ", stale=TRUE"}, true) {
			t.Errorf("%s: a stale answer is not sent again", algorithm)
		}
		got := c.Authorization("http://h", "GET", "/dir/index.html")
		if !strings.Contains(got, `response="`+response+`"`) || !strings.Contains(got, "nc=00000001") {
			t.Errorf("%s: %s", algorithm, got)
		}
		if other := c.Authorization("http://other", "GET", "/"); other != "" {
			t.Errorf("%s: another origin gets %s", algorithm, other)
		}
	}
}

func TestUnusableChallenges(t *testing.T) {
	for _, header := range []string{
		"", "Basic realm=x", "Digest realm=x", "Digest nonce=1, algorithm=SHA-512-256", `Digest nonce="1", qop="auth-int"`,
	} {
		if c := new(digest.Credentials); c.Learn("http://h", []string{header}, false) {
			t.Errorf("%q is answered", header)
		}
	}
	if got := (*digest.Credentials)(nil).Authorization("http://h", "GET", "/"); got != "" {
		t.Errorf("without credentials: %s", got)
	}
}

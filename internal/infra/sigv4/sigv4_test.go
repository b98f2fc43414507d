package sigv4

import (
	"strings"
	"testing"
	"time"
)

// The published examples of Signature Version 4: credentials, time, requests and signatures of its test suite.
func TestSign(t *testing.T) {
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	keys := Keys{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", Region: "us-east-1",
		Service: "service"}
	form := [][2]string{{"Content-Type", "application/x-www-form-urlencoded"}}
	for name, c := range map[string]struct {
		req  Request
		want string
	}{
		"get-vanilla": {Request{Method: "GET"},
			"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		"get-vanilla-query-order": {Request{Method: "GET", Query: "Param2=value2&Param1=value1"},
			"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		"post-vanilla": {Request{Method: "POST"},
			"5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		"post-x-www-form-urlencoded": {Request{Method: "POST", Headers: form, Body: []byte("Param1=value1")},
			"ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	} {
		c.req.Host, c.req.Path = "example.amazonaws.com", "/"
		added := keys.Sign(c.req, at)
		if last := added[len(added)-1]; last[0] != "Authorization" || !strings.HasSuffix(last[1], "Signature="+c.want) {
			t.Errorf("%s: %s", name, last)
		}
	}
	for service, want := range map[string]string{"s3": "host;x-amz-content-sha256;x-amz-date;x-amz-security-token",
		"": "host;x-amz-date;x-amz-security-token"} {
		added := Keys{ID: "i", Secret: "s", Token: "t",
			Service: service}.Sign(Request{Method: "GET", Host: "h", Path: "/a%20b"}, at)
		if got := added[len(added)-1][1]; !strings.Contains(got, "SignedHeaders="+want+",") {
			t.Errorf("%q: %s", service, got)
		}
	}
}

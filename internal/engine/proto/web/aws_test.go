package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/infra/sigv4"
)

// The published examples of Signature Version 4: credentials, time, requests and
// signatures of its test suite.
func TestAWSSignature(t *testing.T) {
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	keys := sigv4.Keys{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", Region: "us-east-1",
		Service: "service"}
	for name, c := range map[string]struct {
		req    web.Request
		signed string
		want   string
	}{
		"get-vanilla": {web.Request{}, "host;x-amz-date",
			"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		"get-vanilla-query-order": {web.Request{Target: "/?Param2=value2&Param1=value1"}, "host;x-amz-date",
			"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		"get-relative": {web.Request{Target: "/example/.."}, "host;x-amz-date",
			"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		"post-vanilla": {web.Request{Method: "POST"}, "host;x-amz-date",
			"5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		"post-x-www-form-urlencoded": {web.Request{Method: "POST",
			Headers: []web.Header{{"Content-Type", "application/x-www-form-urlencoded"}}, Body: []byte("Param1=value1")},
			"content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	} {
		c.req.Address, _ = rawurl.Parse("https://example.amazonaws.com/")
		web.SignAWS(&c.req, keys, at)
		web.SignAWS(&c.req, keys, at) // a second time replaces the first
		last := c.req.Headers[len(c.req.Headers)-1]
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" + c.signed +
			", Signature=" + c.want
		if last.Name != "Authorization" || last.Value != want {
			t.Errorf("%s\n got %s\nwant %s", name, last.Value, want)
		}
	}
	session := web.Request{Address: rawurl.URL{Scheme: "https", Host: "sts.amazonaws.com"}}
	web.SignAWS(&session, sigv4.Keys{ID: "i", Secret: "s", Token: "t"}, at)
	if got := session.Headers[len(session.Headers)-1].Value; !strings.Contains(got, "/us-east-2/sts/") ||
		!strings.Contains(got, "x-amz-security-token") {
		t.Error(got)
	}
}

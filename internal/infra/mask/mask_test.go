package mask

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const canary = "Zk9qL2VwY2FuYXJ5"

var marks = regexp.MustCompile(`\[masked:(\d+):[0-9a-f]{6}\]`)

// TestPlaces: in each text the canary goes and the rest stays.
func TestPlaces(t *testing.T) {
	for _, text := range []string{
		"GET / HTTP/1.1\r\nAuthorization: Bearer " + canary + "\r\nHost: a",
		"GET / HTTP/1.1\r\nauthorization: " + canary + "\r\n",
		"Proxy-Authorization: Basic " + canary,
		"GET / HTTP/1.1\r\nCookie: a=1; sid=" + canary + "; theme=dark\r\n",
		"HTTP/1.1 200 OK\r\nSet-Cookie: PHPSESSID=" + canary + "; Path=/; HttpOnly\r\n",
		"X-CSRF-Token: " + canary + "\r\n", "X-Api-Key: " + canary, "x-amz-security-token: " + canary + "\r\nA: b",
		"https://example.com/a?access_token=" + canary + "&b=1", "/login?user=a&password=" + canary,
		"https://user:" + canary + "@example.com/", `{"user":"a","password":"` + canary + `","b":1}`,
		`{"api_key": "` + canary + `"}`, `{\"secret\":\"` + canary + `\",\"b\":1}`, "DB_PASSWORD=" + canary + "\nDB_HOST=x",
		`APP_SECRET="` + canary + `"`, "password: " + canary + "\nuser: x", `password = '` + canary + `';`,
		`<input type="hidden" name="csrf_token" value="` + canary + `">`,
		`<input value="` + canary + `" name="authenticity_token"/>`, `<meta name="csrf-token" content="` + canary + `">`,
		"<password>" + canary + "</password>", "<wsse:Password>" + canary + "</wsse:Password>",
		`curl -H 'Authorization: Bearer ` + canary + `' -H 'Accept: */*' https://a/`,
		`curl -H 'Cookie: s=` + canary + `' https://a/`, `curl -b "sid=` + canary + `" https://a/`,
		"-----BEGIN RSA PRIVATE KEY-----\n" + canary + "\n" + canary + "\n-----END RSA PRIVATE KEY-----",
		"aws AKIAIOSFODNN7EXAMPLE" + strings.Repeat(" ", 0) + " x", "a eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl b",
		"t=ghp_" + strings.Repeat("aB3", 12), "token=svc_sk_" + strings.Repeat("aB3", 12),
	} {
		got := New(nil).Text(text)
		for _, gone := range []string{canary, "AKIAIOSFODNN7EXAMPLE", "eyJzdWIiOiIxMjM0In0", "aB3aB3"} {
			if strings.Contains(got, gone) {
				t.Errorf("%q is still in %q", gone, got)
			}
		}
		if !marks.MatchString(got) {
			t.Errorf("no mark in %q", got)
		}
		for _, stays := range []string{"GET / HTTP/1.1", "Bearer ", "Host: a", "theme=", "Path=/; HttpOnly", "&b=1", "user=a",
			"DB_HOST=x", `"b":1`, `\"b\":1`, "@example.com/", "Accept: */*", "-----END RSA"} {
			if strings.Contains(text, stays) && !strings.Contains(got, stays) {
				t.Errorf("%q is no longer in %q", stays, got)
			}
		}
		if again := New(nil).Text(got); again != got {
			t.Errorf("masked twice: %q, then %q", got, again)
		}
	}
}

// TestRestStays: what proves something and is no secret is not masked.
func TestRestStays(t *testing.T) {
	for _, text := range []string{
		"", "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:", "GET /tokens HTTP/1.1\r\nAccept: */*\r\n\r\n",
		"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n", "<label>Password:</label><input type=\"password\">",
		`{"token_type":"bearer","expires_in":3600,"password_policy":"long"}`, "[core]\n\trepositoryformatversion = 0\n",
		"Access-Control-Allow-Headers: Authorization, Cookie\r\n", "uid=0(root) gid=0(root)", `<a href="/reset-password">x</a>`,
		"http://example.com:8080/a:b@c", "PASSWORD required", "the value of token = getToken()", "ask-user-for-something-long-enough",
	} {
		if got := New(nil).Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestSpellingsOfASession: a session that a request sent is hidden in the answer in every spelling.
func TestSpellingsOfASession(t *testing.T) {
	session := "s%3Aab/" + canary + "+=x"
	m := New(nil, "team "+canary+" secret")
	m.Learn("GET / HTTP/1.1\r\nCookie: connect.sid=" + session + "\r\n\r\n")
	for _, text := range []string{
		"you are " + session, "<a href=/?x=" + url.QueryEscape(session) + ">",
		base64.StdEncoding.EncodeToString([]byte("session:" + session + ";")),
		base64.URLEncoding.EncodeToString([]byte(session)), base64.StdEncoding.EncodeToString([]byte("ab" + session)),
		"team " + canary + " secret", url.QueryEscape("team " + canary + " secret"),
	} {
		if got := m.Text(text); !marks.MatchString(got) || strings.Contains(got, canary) {
			t.Errorf("%q became %q", text, got)
		}
	}
	m.Forget()
	if got := m.Text("you are " + session); !strings.Contains(got, session) {
		t.Errorf("it remembers: %q", got)
	}
	m.Learn("Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("admin:"+canary)))
	if got := m.Text("the password is " + canary); strings.Contains(got, canary) {
		t.Errorf("the password of Basic: %q", got)
	}
}

func TestMarksTellLengthAndEquality(t *testing.T) {
	m := New(nil)
	got := marks.FindAllString(m.Text("password=abcdefgh&token=abcdefgh&secret=abcdefgi"), -1)
	if len(got) != 3 || got[0] != got[1] || got[1] == got[2] || !strings.HasPrefix(got[0], "[masked:8:") {
		t.Errorf("%q", got)
	}
	if other := New([]byte("k")).Text("password=abcdefgh"); other == "password="+got[0] {
		t.Errorf("two keys have the same tag: %q", other)
	}
	if text := "password=abcdefgh"; None().Text(text) != text || !None().Off() {
		t.Error("None masks")
	}
}

// TestManyKnownValues: each of many is hidden, the longest first, also where they overlap.
func TestManyKnownValues(t *testing.T) {
	var values []string
	for i := range 1000 {
		values = append(values, "value-"+strings.Repeat("x", i%7)+strconv.Itoa(i))
	}
	m := New(nil, append(values, "abc", "abcd", "abcdefgh")...)
	for _, value := range values {
		if got := m.Text("<" + value + "> " + url.QueryEscape(value+"=")); strings.Contains(got, value) {
			t.Errorf("%q became %q", value, got)
		}
	}
	if got := m.Text("abcdefghi abcde abc"); len(marks.FindAllString(got, -1)) != 2 || !strings.HasSuffix(got, "]e abc") {
		t.Error(got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("Cookie: a=b; c=\"d\"\r\npassword='x\\'y'", "secret")
	f.Add("-----BEGIN PRIVATE KEY-----", "https://a:b@c")
	f.Add(`<input name="token" value=`, "name=")
	f.Fuzz(func(t *testing.T, text, more string) {
		m := New(nil, more)
		m.Learn(more)
		m.Text(text)
		m.Text(more + text)
		New(nil).Text(text + "=" + more)
	})
}

func BenchmarkText(b *testing.B) {
	page := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: nginx\r\n\r\n" +
		strings.Repeat(`<div class="row"><a href="/items?id=12&sort=name">An item: its name</a> and more text here</div>`+"\n", 20)
	m := New(nil)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		m.Text(page)
	}
}

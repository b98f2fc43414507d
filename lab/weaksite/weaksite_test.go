package weaksite

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, h http.Handler, path, origin string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	res := w.Result()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// proofs says, for each kind of weakness, what shows that it is really there.
var proofs = map[Weakness]func(*http.Response, string) bool{
	{"/.git/HEAD", VCS}: func(_ *http.Response, b string) bool {
		return strings.HasPrefix(b,
			"ref: refs/heads/")
	},
	{"/.git/config", VCS}: func(_ *http.Response, b string) bool { return strings.HasPrefix(b, "[core]") },
	{"/.env", Config}: func(_ *http.Response, b string) bool {
		return strings.Contains(b,
			"\nDB_PASSWORD=demo-not-a-real-")
	},
	{"/files/", Listing}: func(_ *http.Response, b string) bool {
		return strings.Contains(b,
			"<h1>Index of /files/</h1>")
	},
	{"/server-status", StatusPage}: func(_ *http.Response, b string) bool {
		return strings.Contains(b,
			"<h1>Apache Server Status for")
	},
	{"/phpmyadmin/", Panel}: func(_ *http.Response, b string) bool {
		return strings.Contains(b,
			`name="pma_username"`)
	},
	{"/backup.zip", Backup}: func(_ *http.Response, b string) bool {
		z, err := zip.NewReader(bytes.NewReader([]byte(b)), int64(len(b)))
		return err == nil && len(z.File) == 2
	},
	{"/", Cookies}: func(r *http.Response, _ string) bool {
		c := r.Cookies()
		return len(c) == 1 && !c[0].HttpOnly && !c[0].Secure && c[0].SameSite == 0
	},
	{"/", Headers}: func(r *http.Response, _ string) bool {
		for _, name := range []string{"Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options",
			"Referrer-Policy", "Strict-Transport-Security"} {
			if r.Header.Get(name) != "" {
				return false
			}
		}
		return true
	},
	{"/", CORS}: func(r *http.Response, _ string) bool {
		return r.Header.Get("Access-Control-Allow-Origin") == "https://evil.example" &&
			r.Header.Get("Access-Control-Allow-Credentials") == "true"
	},
	{"/", Version}: func(r *http.Response, _ string) bool {
		return regexp.MustCompile(`^Apache/\d+\.\d+\.\d+`).MatchString(r.Header.Get("Server"))
	},
}

func TestEveryWeaknessIsThere(t *testing.T) {
	site := New(1)
	if len(proofs) != len(Weaknesses()) {
		t.Errorf("%d weaknesses, %d proofs", len(Weaknesses()), len(proofs))
	}
	for _, weak := range Weaknesses() {
		res, body := get(t, site, weak.Path, "https://evil.example")
		if proof := proofs[weak]; res.StatusCode != http.StatusOK || proof == nil || !proof(res, body) {
			t.Errorf("%v does not show: %d", weak, res.StatusCode)
		}
	}
}

func TestEverythingElseIsHonest(t *testing.T) {
	site := New(1)
	for path, want := range map[string]int{
		"/admin": 403, "/admin/": 404, "/nothing": 404, "/.git/": 404, "/.git/index": 404, "/.svn/entries": 404,
		"/backup.tar.gz": 404, "/files": 307,
		"/phpmyadmin/x": 404, "/.env.local": 404, "/files/none": 404, "/products.html": 200, "/contact.html": 200,
		"/robots.txt": 200, "/articles/securing-your-server.html": 200,
	} {
		if res, _ := get(t, site, path, ""); res.StatusCode != want {
			t.Errorf("%s answers %d, want %d", path, res.StatusCode, want)
		}
	}
	if res, _ := get(t, site, "/", ""); res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("an answer to no origin allows an origin")
	}
}

func TestLinksLead(t *testing.T) {
	site := New(1)
	_, home := get(t, site, "/", "")
	links := regexp.MustCompile(`href="(/[^"]*)"`).FindAllStringSubmatch(home, -1)
	if len(links) < 5 {
		t.Fatalf("the home page has %d links", len(links))
	}
	for _, link := range links {
		if res, _ := get(t, site, link[1], ""); res.StatusCode != http.StatusOK {
			t.Errorf("%s answers %d", link[1], res.StatusCode)
		}
	}
}

func TestSeed(t *testing.T) {
	for _, path := range []string{"/.env", "/backup.zip"} {
		_, one := get(t, New(1), path, "")
		_, same := get(t, New(1), path, "")
		_, other := get(t, New(2), path, "")
		if one != same || one == other {
			t.Errorf("%s: equal seeds agree: %v, different seeds differ: %v", path, one == same, one != other)
		}
	}
}

func TestWall(t *testing.T) {
	_, first := get(t, Wall(), "/", "")
	for _, path := range []string{"/.git/HEAD", "/backup.zip", "/server-status", "/any/thing?x=1"} {
		if res, body := get(t, Wall(), path, ""); res.StatusCode != http.StatusOK || body != first {
			t.Errorf("%s differs from the rest: %d", path, res.StatusCode)
		}
	}
}

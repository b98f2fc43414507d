package lab

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/projectdiscovery/nuclei/v3/pkg/operators/common/dsl"
)

func TestFaviconHasTheHash(t *testing.T) {
	for _, hash := range []string{"116323821", "-1", "0", "-335242539", "4294967295"} {
		body, ok := favicon(hash)
		if !ok {
			t.Fatalf("no body for %s", hash)
		}
		encoded := base64.StdEncoding.EncodeToString(body) + "\n"
		got, err := dsl.HelperFunctions["mmh3"](encoded)
		if want := map[string]string{"4294967295": "-1"}[hash]; err != nil || fmt.Sprint(got) != hash &&
			fmt.Sprint(got) != want {
			t.Errorf("the hash of %x is %v, want %s (%v)", body, got, hash, err)
		}
	}
}

func TestMatchingTextsMatch(t *testing.T) {
	patterns := []string{`abc`, `(?i)<title>([^<]+)</title>`, `^[0-9]{3}-[a-f]+$`, `a{2,4}b*c+d?`, `(foo|bar)baz\d+`,
		`\bword\b`, `[^a-z]x`, `xoxb-[0-9A-Za-z\-]{52}`, `root:.*:0:0:`}
	for _, p := range patterns {
		for variant := range 3 {
			text, ok := matching(p, variant, 0, "")
			if !ok || !regexp.MustCompile(p).MatchString(text) {
				t.Errorf("%q gives %q", p, text)
			}
		}
	}
	if text, ok := matching(`version ([0-9.]+)`, 0, 1, "4.2.0"); !ok || text != "version 4.2.0" {
		t.Errorf("a wanted group gives %q", text)
	}
}

func TestExpressionsAreSolved(t *testing.T) {
	for source, holds := range map[string]func(Answer) bool{
		`status_code == 404 && contains(body, "x y")`: func(a Answer) bool {
			return a.Status == 404 &&
				a.contains("x y")
		},
		`!contains(body, "bad") && len(body) > 20`: func(a Answer) bool {
			return !a.contains("bad") &&
				len(a.body()) > 20
		},
		`contains(tolower(header), "x-powered-by: php")`: func(a Answer) bool { return len(a.Headers) == 1 },
		`"https://a/" == location || status_code == 999`: func(a Answer) bool {
			return len(a.Headers) == 1 &&
				a.Headers[0].Value == "https://a/"
		},
		`(duration >= 2) == true && regex("^a+b$", body)`: func(a Answer) bool {
			return a.Delay > 0 &&
				*a.Exact == "ab"
		},
		`contains_all(body, "one", "two") && 200 == status_code`: func(a Answer) bool {
			return a.contains("one") &&
				a.contains("two")
		},
	} {
		b := &Block{Matchers: []Matcher{{Type: "dsl", DSL: list{source}}}}
		answers, _, ok := solve(&Template{Blocks: []Block{*b}}, b, 1, 0, 0)
		if !ok || !holds(answers[0]) {
			t.Errorf("%s: %v, %+v", source, ok, answers)
		}
	}
}

const steps = `id: steps
info: {name: x, author: x, severity: info}
http:
  - raw:
      - |
        GET /login HTTP/1.1
        Host: {{Hostname}}
      - |
        POST /login?t={{token}} HTTP/1.1
        Host: {{Hostname}}

        name={{randstr}}
    matchers:
      - type: dsl
        dsl: ['status_code_1 == 200 && status_code_2 == 302 && contains(body_2, "{{randstr}}")']
    extractors:
      - type: regex
        name: token
        group: 1
        internal: true
        regex: ['token=([a-f]{4})']
`

// A site answers each request with its own answer, and repeats values of earlier requests.
func TestSiteAnswersSteps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "steps.yaml")
	if err := os.WriteFile(path, []byte(steps), 0o600); err != nil {
		t.Fatal(err)
	}
	template, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go NewSite(template, Positive).Serve(listener)
	conn, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	ask := func(request string) (int, string) {
		fmt.Fprint(conn, request)
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	status, body := ask("GET /login HTTP/1.1\r\nHost: x\r\n\r\n")
	token := regexp.MustCompile(`token=([a-f]{4})`).FindString(body)
	if status != 200 || token == "" {
		t.Fatalf("the first step is answered %d %q", status, body)
	}
	status, body = ask("POST /login?t=abcd HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nname=1234")
	if status != 302 || !strings.Contains(body, "1234") {
		t.Fatalf("the second step is answered %d %q", status, body)
	}
	if status, _ = ask("GET /elsewhere HTTP/1.1\r\nHost: x\r\n\r\n"); status != 404 {
		t.Fatalf("an unknown request is answered %d", status)
	}
}

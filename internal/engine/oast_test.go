package engine_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/oast"
)

// TestOAST runs every case of testdata/oast: templates with {{interactsh-url}} against a site that follows what it is
// told, and a real out-of-band server. "by address" in the comment of the archive is a server without a domain, "no
// server" a scan without one, "path: /PATH" and "target: HOST" another target.
func TestOAST(t *testing.T) {
	eachCase(t, "testdata/oast/*.txtar", func(t *testing.T, file string, archive *txtar.Archive) {
		t.Parallel()
		got := map[string][]string{}
		oastCase(t, archive, got)
		checkCase(t, file, archive, got)
	})
}

func oastCase(t *testing.T, archive *txtar.Archive, got map[string][]string) {
	comment := string(archive.Comment)
	l := newOASTLab(t, !strings.Contains(comment, "by address"))
	scan := engine.Scan{Targets: []string{l.site.URL}, Vars: map[string]string{"TCP": l.tcp}}
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".yaml") {
			p, err := compile(f.Name, f.Data)
			if err != nil {
				t.Fatal(err)
			}
			scan.Programs = append(scan.Programs, p)
		}
	}
	for line := range strings.Lines(comment) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "path: "); ok {
			scan.Targets = []string{l.site.URL + path}
		}
		if target, ok := strings.CutPrefix(strings.TrimSpace(line), "target: "); ok {
			scan.Targets = []string{target}
		}
	}
	cfg := engine.Config{Timeout: time.Minute, Resolvers: []string{l.dns}}
	if !strings.Contains(comment, "no server") {
		s := oob.NewSession(l.client, oob.Config{Poll: 20 * time.Millisecond, Cooldown: time.Second})
		cfg.Names = s.Name
		scan.Expect = func(p *engine.Pending) {
			raw, err := json.Marshal(p)
			if err != nil {
				t.Error(err)
			}
			if p.Size() < 1000 || len(raw) == 0 {
				t.Errorf("%d bytes: %s", p.Size(), raw)
			}
			s.Expect(p.IDs, p.Size(), p.Found)
		}
		scan.Settle = func(ctx context.Context) {
			if err := s.Settle(ctx); err != nil {
				t.Error(err)
			}
		}
	}
	e := engine.New(cfg)
	defer e.Close()
	scan.OnEvent = func(ev engine.Event) { got["events"] = append(got["events"], l.steady(t, ev)) }
	report, err := e.Run(t.Context(), scan)
	if err != nil {
		t.Fatal(err)
	}
	for cell := range report.Cells() {
		got["cells"] = append(got["cells"], strings.TrimSpace(fmt.Sprintf("%s %s %s", cell.Template, cell.State, cell.Reason)))
	}
	slices.Sort(got["events"])
}

// oastLab is a site that follows what it is told, and the out-of-band server that it meets then.
type oastLab struct {
	server         *oast.Server
	client         *oast.Client
	site           *httptest.Server
	http, dns, tcp string // addresses of listeners: two of the out-of-band server, and a line-based service
	domain         string

	mu   sync.Mutex
	told []string // names, by first appearance
}

func newOASTLab(t *testing.T, domain bool) *oastLab {
	t.Helper()
	l := &oastLab{}
	config := oast.Config{}
	if domain {
		config.Domain, l.domain = "oast.test", "oast.test"
	}
	var err error
	if l.server, err = oast.NewServer(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.server.Close)
	listen := func(where string) string {
		at, err := l.server.Listen(where)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	l.http = listen("http://127.0.0.1:0")
	l.dns = listen("dns://127.0.0.1:0")
	at := "http://" + l.http
	if domain {
		at = "http://oast.test"
	}
	if l.client, err = oast.NewClient(t.Context(), l.resolving(), at, ""); err != nil {
		t.Fatal(err)
	}
	l.site = httptest.NewServer(l)
	t.Cleanup(l.site.Close)
	l.tcp = labTCP(t, l)
	return l
}

// resolving is a client for which every name is the out-of-band server.
func (l *oastLab) resolving() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, l.http)
		},
	}}
}

// fetch is what a blind weakness does with a URL.
func (l *oastLab) fetch(to string) {
	if !strings.Contains(to, "://") {
		to = "http://" + to
	}
	if resp, err := l.resolving().Get(to); err == nil {
		resp.Body.Close()
	}
}

// resolve is a blind lookup of a name.
func (l *oastLab) resolve(name string) {
	m := new(dns.Msg)
	m.SetQuestion(dns.Fqdn(name), dns.TypeA)
	_, _, _ = new(dns.Client).Exchange(m, l.dns)
}

// ServeHTTP follows what it is told:
//
//	/fetch?url=    fetches, and answers "accepted" with the header X-Step: one
//	/lookup?name=  looks the name up
//	/ping?host=    runs "ping $host" in a shell that knows $(fetch URL) alone
//	/late?url=     keeps the URL, which /run fetches
//	/drop?url=     fetches and closes the connection without an answer
//	/both?url=     looks up the name in the URL twice, and fetches it twice
//
// and the header X-Api, the cookie "from" and the body are fetched when they are URLs.
func (l *oastLab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to := r.FormValue("url")
	switch r.URL.Path {
	case "/fetch":
		l.fetch(to)
		w.Header().Set("X-Step", "one")
		fmt.Fprint(w, "accepted")
	case "/lookup":
		l.resolve(r.FormValue("name"))
	case "/ping":
		if m := regexp.MustCompile(`\$\(fetch ([^)]+)\)`).FindStringSubmatch(r.FormValue("host")); m != nil {
			l.fetch(m[1])
		}
		fmt.Fprint(w, "1 packet sent")
	case "/late":
		l.mu.Lock()
		l.told = append(l.told, to)
		l.mu.Unlock()
	case "/run":
		l.mu.Lock()
		all := slices.Clone(l.told)
		l.mu.Unlock()
		for _, one := range all {
			l.fetch(one)
		}
		fmt.Fprint(w, "ran")
	case "/drop":
		l.fetch(to)
		panic(http.ErrAbortHandler)
	case "/both":
		name, _, _ := strings.Cut(strings.TrimPrefix(to, "http://"), "/")
		l.resolve(name)
		l.resolve(name)
		l.fetch(to)
		l.fetch(to)
	case "/body":
		body, _ := io.ReadAll(r.Body)
		text := string(body)
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
			text = string(plain)
		}
		l.fetch(text)
	}
	if to := r.Header.Get("X-Api"); to != "" {
		l.fetch(to)
	}
	if c, err := r.Cookie("from"); err == nil {
		l.fetch(c.Value)
	}
}

// labTCP is a service whose line "GET URL" fetches.
func labTCP(t *testing.T, l *oastLab) string {
	return listen(t, nil, func(conn net.Conn) {
		line := make([]byte, 1000)
		n, _ := conn.Read(line)
		l.fetch(strings.TrimSpace(strings.TrimPrefix(string(bytes.TrimSpace(line[:n])), "GET ")))
		fmt.Fprint(conn, "OK\r\n")
	})
}

var names = regexp.MustCompile(`v[0-9a-z]{32}`)

// steady is an event as JSON without what differs from run to run; the interaction is its protocol and the first line.
func (l *oastLab) steady(t *testing.T, ev engine.Event) string {
	if ev.Interaction != nil {
		one := ev.Interaction
		if one.Timestamp.IsZero() || one.RemoteAddress != "127.0.0.1" || one.RawResponse == "" ||
			!strings.Contains(strings.ToLower(one.RawRequest), one.UniqueID) || !strings.Contains(one.FullID, one.UniqueID) {
			t.Errorf("the interaction is not complete: %+v", one)
		}
		if !strings.Contains(strings.ToLower(ev.Request), one.UniqueID) && !strings.Contains(ev.TemplateID, "encoded") &&
			!strings.Contains(ev.TemplateID, "two-requests") {
			t.Errorf("the event has not the request that was sent: %s", ev.Request)
		}
	}
	text := strings.NewReplacer(l.site.Listener.Addr().String(), "SITE", l.tcp, "TCP", l.http, "OAST").Replace(summary(ev))
	return names.ReplaceAllString(text, "NAME")
}

// summary is what an event says.
func summary(ev engine.Event) string {
	protocol := "without"
	if ev.Interaction != nil {
		protocol = ev.Interaction.Protocol
	}
	text := fmt.Sprintf("%s %s at %s by %s", ev.TemplateID, ev.Type, ev.MatchedAt, protocol)
	if ev.MatcherName != "" {
		text += " matcher " + ev.MatcherName
	}
	if len(ev.ExtractedResults) > 0 {
		text += fmt.Sprintf(" extracted %q", ev.ExtractedResults)
	}
	if len(ev.Meta) > 0 {
		text += fmt.Sprintf(" payload %v", ev.Meta)
	}
	if ev.FuzzingParameter != "" {
		text += " in " + ev.FuzzingParameter
	}
	if ev.Error != "" {
		text += " error"
	}
	return text
}

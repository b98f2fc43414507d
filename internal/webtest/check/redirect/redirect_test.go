package redirect

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

func goes(to func(v string) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Location"] = []string{to(r.FormValue("next"))}
		w.WriteHeader(http.StatusFound)
	})
}

func page(format string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, format, r.FormValue("next"))
	})
}

func TestOpenRedirect(t *testing.T) {
	for name, c := range map[string]struct {
		app  http.Handler
		want string
	}{
		"anywhere":       {goes(func(v string) string { return v }), "https://{h}/"},
		"without scheme": {goes(func(v string) string { return "http://" + v }), "//{h}/"},
		"after a prefix": {goes(func(v string) string { return "https://" + strings.TrimLeft(v, "/:htps") }), "https://{h}/"},
		"only paths": {goes(func(v string) string {
			if strings.HasPrefix(v, "/") {
				return v
			}
			return "/"
		}), "//{h}/"},
		"no double slash": {goes(func(v string) string {
			if strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "//") {
				return v
			}
			return "/"
		}), `/\{h}/`},
		"no double slash, elsewhere a page": {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if v := r.FormValue("next"); strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "//") {
				w.Header()["Location"] = []string{v}
				w.WriteHeader(http.StatusFound)
			}
		}), `/\{h}/`},
		"header Refresh": {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Refresh", "0; url="+r.FormValue("next"))
		}), "https://{h}/"},
		"names the own host": {goes(func(v string) string {
			if strings.Contains(v, "127.0.0.1") {
				return v
			}
			return "/"
		}), "https://{own}@{h}/"},
		"meta":         {page(`<meta http-equiv="refresh" content="0; url=%s">`), "https://{h}/"},
		"script":       {page(`<script>location.href = "%s";</script>`), "https://{h}/"},
		"in the query": {goes(func(v string) string { return "/login?next=" + url.QueryEscape(v) }), ""},
		"in a path":    {goes(func(v string) string { return "/go/" + v }), ""},
		"other host":   {goes(func(v string) string { return "https://login.example.com/?to=" + v }), ""},
		"parsed": {goes(func(v string) string {
			u, _ := url.Parse(v)
			if u == nil {
				return "/"
			}
			return "/" + strings.TrimLeft(u.Path, `/\`)
		}), ""},
		"link":             {page(`<a href="%s">on</a>`), ""},
		"text of a script": {page(`<script>var a = "location = '%s'";</script>`), ""},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			lab := kittest.New(t, c.app)
			target := lab.Target(t, http.MethodGet, "/?next=/home", "")
			if method == http.MethodPost {
				target = lab.Target(t, method, "/", "next=%2Fhome")
			}
			found := lab.Run(t, Checks()[0], target)
			if c.want == "" {
				if len(found) > 0 {
					t.Errorf("%s: reports %s", name, kittest.Titles(found))
				}
				continue
			}
			if len(found) != 1 || found[0].Variant != c.want {
				t.Errorf("%s: found %s, want %s", name, kittest.Titles(found), c.want)
				continue
			}
			runner := proof.Runner{Send: lab.World.Client.Send}
			if out, err := runner.Run(t.Context(), found[0].Proof); err != nil || !out.Holds {
				t.Errorf("%s: the proof does not hold: %s, %v", name, out.Failed, err)
			}
		}
	}
}

// A filter that looks at the end of a host's name alone lets others through whose name ends alike.
func TestRedirectToANameThatEndsAlike(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		ends  string
		want  int
	}{
		"domain": {"http://www.shop.example/", "shop.example", 1}, "host": {"https://shop.example/on", "shop.example", 1},
		"with the dot": {"https://www.shop.example/", ".shop.example", 0}, "address": {"http://127.0.0.1/", "127.0.0.1", 0},
	} {
		lab := kittest.New(t, goes(func(v string) string {
			if u, err := url.Parse(v); err == nil && strings.HasSuffix(u.Host, c.ends) {
				return v
			}
			return "/"
		}))
		found := lab.Run(t, Checks()[0], lab.Target(t, http.MethodGet, "/?next="+url.QueryEscape(c.value), ""))
		if len(found) != c.want {
			t.Errorf("%s: %d found, want %d: %s", name, len(found), c.want, kittest.Titles(found))
			continue
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// A browser sends the address of a page as Referer, and nothing else that an attacker chooses.
func TestRedirectToTheReferer(t *testing.T) {
	for name, c := range map[string]struct {
		leads func(referer string) bool
		want  int
	}{
		"anywhere":              {func(string) bool { return true }, 1},
		"pages of all sites":    {func(v string) bool { return strings.HasPrefix(v, "http") }, 1},
		"what names no host":    {func(v string) bool { u, err := url.Parse(v); return err == nil && u.Host == "" }, 0},
		"what names its own":    {func(v string) bool { return strings.Contains(v, "127.0.0.1") }, 1}, // in the query of a page
		"what begins with path": {func(v string) bool { return strings.HasPrefix(v, "/") }, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			to := "/"
			if v := r.Header.Get("Referer"); c.leads(v) {
				to = v
			}
			w.Header()["Location"] = []string{to}
			w.WriteHeader(http.StatusFound)
		}))
		target := lab.Target(t, http.MethodGet, "/per-page", "")
		target.Places = []message.Place{{Component: message.Header, Name: "Referer", Value: target.Request.URL.String()}}
		if found := lab.Run(t, Checks()[0], target); len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}

func TestCleanPlacesCostNothing(t *testing.T) {
	lab := kittest.New(t, page("<p>hello %s"))
	target := lab.Target(t, http.MethodGet, "/?q=2", "")
	lab.Run(t, Checks()[0], target)
	lab.Run(t, headerInjection(), target)
	if sent := lab.Sent.Load(); sent != 5 {
		t.Errorf("%d requests, want those of the reaction", sent)
	}
}

func TestHostOf(t *testing.T) {
	base := &url.URL{Scheme: "http", Host: "app.test:8080"}
	for address, want := range map[string]string{
		"/a": "app.test", "https://x.org/a": "x.org", "//x.org": "x.org", `/\x.org`: "x.org", `\\x.org/`: "x.org",
		" \t//x.org": "x.org", "///x.org": "x.org", "https:x.org": "x.org", "http:x.org": "app.test",
		"https://app.test@x.org/": "x.org", "https://x.org?app.test": "x.org", "https://app.test/?x.org": "app.test",
		"ht\ntps://x.org": "x.org", "javascript:x": "app.test", "https://X.ORG:81/": "x.org",
	} {
		if got := hostOf(address, base); got != want {
			t.Errorf("%q leads to %q, want %q", address, got, want)
		}
	}
}

// raw answers with header lines as they are put together, which net/http would refuse.
func raw(line func(v string) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, buffer, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		fmt.Fprintf(buffer, "HTTP/1.1 200 OK\r\nConnection: close\r\n%s\r\nContent-Length: 2\r\n\r\nok", line(r.FormValue("next")))
		_ = buffer.Flush()
	})
}

func TestHeaderInjection(t *testing.T) {
	for name, c := range map[string]struct {
		app  http.Handler
		want int
	}{
		"weak":    {raw(func(v string) string { return "X-Lang: " + v }), 1},
		"escaped": {raw(func(v string) string { return "X-Lang: " + url.QueryEscape(v) }), 0},
		"removed": {raw(func(v string) string { return "X-Lang: " + strings.NewReplacer("\r", "", "\n", "").Replace(v) }), 0},
	} {
		lab := kittest.New(t, c.app)
		found := lab.Run(t, headerInjection(), lab.Target(t, http.MethodGet, "/?next=en", ""))
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			runner := proof.Runner{Send: lab.World.Client.Send}
			if out, err := runner.Run(t.Context(), f.Proof); err != nil || !out.Holds {
				t.Errorf("%s: the proof does not hold: %s, %v", name, out.Failed, err)
			}
		}
	}
}

func TestHostHeader(t *testing.T) {
	for want, format := range map[int]string{1: `<a href="https://%s/reset">reset</a>`, 0: `<p>you came by %s</p>`} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, format, r.Header.Get("X-Forwarded-Host"))
		}))
		if found := lab.Run(t, hostHeader(), lab.Target(t, http.MethodGet, "/", "")); len(found) != want {
			t.Errorf("%s: found %d, want %d", format, len(found), want)
		}
	}
}

// A page that links to the host of a header is found: of one that proxies send, and of Host itself, which matters
// where passwords are reset by mail.
func TestHostItself(t *testing.T) {
	for name, c := range map[string]struct {
		host  func(r *http.Request) string
		pages []string
		want  []kit.Severity
	}{
		"proxy":      {func(r *http.Request) string { return cmp.Or(r.Header.Get("X-Forwarded-Host"), "shop.example") }, nil, []kit.Severity{kit.Medium}},
		"host":       {func(r *http.Request) string { return r.Host }, nil, []kit.Severity{kit.Info}},
		"reset":      {func(r *http.Request) string { return r.Host }, []string{"/account/forgot-password"}, []kit.Severity{kit.Low}},
		"configured": {func(*http.Request) string { return "shop.example" }, []string{"/forgot"}, nil},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<input value="http://%s/join">`, c.host(r))
		}))
		lab.World.Pages = func() (all []*message.Request) {
			for _, path := range c.pages {
				r, err := message.New(http.MethodGet, lab.URL+path)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			return all
		}
		var got []kit.Severity
		for _, f := range lab.Run(t, hostHeader(), lab.Target(t, http.MethodGet, "/invite", "")) {
			got = append(got, f.Severity)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

package token

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

func TestTokens(t *testing.T) {
	verify := func(key string, lax func(p *parts) bool) func(string) bool {
		return func(text string) bool {
			p := parse(text)
			if p == nil {
				return false
			}
			alg, _ := p.header["alg"].(string)
			return lax(p) || alg == "HS256" && string(sign(alg, []byte(key), p.head+"."+p.claims)) == string(p.signature)
		}
	}
	never := func(*parts) bool { return false }
	for name, c := range map[string]struct {
		key  string
		lax  func(p *parts) bool
		want string
	}{
		"good":      {"8f3b2c1d9e7a6540", never, ""},
		"weak key":  {"secret", never, "weak-key"},
		"unchecked": {"8f3b2c1d9e7a6540", func(*parts) bool { return true }, "unchecked"},
		"none": {"8f3b2c1d9e7a6540", func(p *parts) bool {
			alg, _ := p.header["alg"].(string)
			return strings.EqualFold(alg, "none")
		}, "none"},
		"empty": {"8f3b2c1d9e7a6540", func(p *parts) bool { return len(p.signature) == 0 }, "none"},
	} {
		good := verify(c.key, c.lax)
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !good(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
				http.Error(w, `{"error":"who are you?"}`, http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, `{"balance":12}`)
		}))
		target := lab.Target(t, http.MethodGet, "/me", "")
		target.User = client.NewUser("bob")
		at, _ := url.Parse(lab.URL)
		target.User.SetHeader(at.Host, "Authorization", "Bearer "+token("HS256", c.key, `{"sub":"bob"}`))
		target.Response.Status = http.StatusOK
		found := lab.Run(t, kittest.Named(t, Checks(), "jwt"), target)
		switch {
		case c.want == "" && len(found) > 0:
			t.Errorf("%s: reports %s", name, kittest.Titles(found))
		case c.want != "" && (len(found) != 1 || found[0].Variant != c.want):
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		case c.want != "":
			lab.Holds(t, found[0])
		}
		if sent := lab.Sent.Load(); sent > 16 {
			t.Errorf("%s: %d requests", name, sent)
		}
	}
}

// A token in a cookie that a logout has taken away meanwhile is tested as the user had it before: it outlives the logout.
func TestTokenAfterLogout(t *testing.T) {
	for key, want := range map[string]int{"secret": 1, "8f3b2c1d9e7a6540": 0} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			k, err := r.Cookie("at")
			if err != nil {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			p := parse(k.Value)
			if p == nil || string(sign("HS256", []byte(key), p.head+"."+p.claims)) != string(p.signature) {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, "Welcome back, bob. You have three letters.")
		}))
		target := lab.Target(t, http.MethodGet, "/me", "")
		target.User = client.NewUser("bob")
		at, _ := url.Parse(lab.URL)
		cookie := &http.Cookie{Name: "at", Value: token("HS256", key, `{"sub":"bob"}`)}
		target.User.SetCookies(at, []*http.Cookie{cookie})
		lab.Run(t, kittest.Named(t, Checks(), "public-signing-key"), target)
		cookie.MaxAge = -1
		target.User.SetCookies(at, []*http.Cookie{cookie})
		target.Response.Status = http.StatusOK
		if found := lab.Run(t, kittest.Named(t, Checks(), "jwt"), target); len(found) != want {
			t.Errorf("%s: found %s", key, kittest.Titles(found))
		}
	}
}

// Tokens of a host are tested at one page, unless what was found there was dropped as the session was over.
func TestTokensOfHostOnce(t *testing.T) {
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if parse(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) == nil {
			http.Error(w, "who are you?", http.StatusUnauthorized)
		}
	}))
	at, _ := url.Parse(lab.URL)
	run := func(path string) int {
		target := lab.Target(t, http.MethodGet, path, "")
		target.User = client.NewUser("bob")
		target.User.SetHeader(at.Host, "Authorization", "Bearer "+token("HS256", "8f3b2c1d9e7a6540", `{"sub":"bob"}`))
		target.Response.Status = http.StatusOK
		return len(lab.Run(t, kittest.Named(t, Checks(), "jwt"), target))
	}
	for _, c := range []struct {
		name, path string
		before     func()
		want       int
	}{
		{"the first page", "/me", func() {}, 1},
		{"another page", "/orders", func() {}, 0},
		{"after it was dropped", "/me", lab.World.Forget, 1},
		{"another, after it was settled", "/orders", func() { lab.World.Settle(); lab.World.Forget() }, 0},
	} {
		c.before()
		if found := run(c.path); found != c.want {
			t.Errorf("%s: %d found, want %d", c.name, found, c.want)
		}
	}
}

// A public key is looked for at the usual addresses, and where the map names one; signed with it as if it were a secret,
// a token is accepted by who believes its alg.
func TestPublicKeys(t *testing.T) {
	pair, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&pair.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	p := &parts{header: map[string]any{"alg": "RS256"}}
	for at, want := range map[string]int{"/public.pem": 2, "/about/signing-key": 2, "/elsewhere": 0} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != at {
				http.NotFound(w, r)
				return
			}
			fmt.Fprintf(w, "Our key:\n%sKeep it.", text)
		}))
		target := lab.Target(t, http.MethodGet, "/me", "")
		lab.World.Pages = func() []*message.Request {
			key, err := message.New(http.MethodGet, lab.URL+"/about/signing-key")
			if err != nil {
				t.Fatal(err)
			}
			return []*message.Request{key}
		}
		keys := (&bearer{World: lab.World, Target: target}).publicKeys(t.Context(), p)
		if len(keys) != want || want > 0 && string(keys[0]) != string(text) {
			t.Errorf("%s: %q", at, keys)
		}
	}
}

func token(alg, key, claims string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"`+alg+`","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(claims))
	return text + "." + base64.RawURLEncoding.EncodeToString(sign(alg, []byte(key), text))
}

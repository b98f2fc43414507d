// Package token finds tokens that anybody can write, or use: JSON Web Tokens whose signature is not looked at or has a
// well-known key, cookies that are signed with a key from an example, and WebSockets that answer pages of other sites
// as the user.
//
// A forged token must open what the user's own opens and a broken one must not; keys are tried here, not at the target.
package token

import (
	"context"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"hash"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/weakkey"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{tokens(), signed(), hijacking()} }

var tokenText = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`)

// tokens is the check for JSON Web Tokens whose signature says nothing. The control is the same token with a broken
// signature, which must be refused. Three requests to a page that takes no token; nine for a host whose tokens are
// good.
func tokens() kit.Check {
	c := kit.Check{ID: "jwt", Class: "jwt", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		carried := credentialsOf(w, t)
		token := tokenIn(carried)
		if token == "" || t.Response == nil || t.Response.Status >= 400 || t.Request.Method != http.MethodGet {
			return nil
		}
		if w.Done("jwt " + t.Request.URL.Host) {
			return nil
		}
		o := &bearer{World: w, Target: t, token: token, carried: carried}
		good, err := o.send(ctx, token)
		if err != nil || good.Status >= 400 {
			return err
		}
		again, err := o.send(ctx, token)
		if err != nil {
			return err
		}
		o.good, o.noise = diff.New(good), diff.Learn(diff.New(good), diff.New(again))
		without, err := o.send(ctx, "")
		if err != nil || o.accepted(without) {
			return err // it needs no token
		}
		if !w.Once("jwt " + t.Request.URL.Host) {
			return nil // by another target meanwhile
		}
		return o.forge(ctx, &c)
	}
	return c
}

// bearer is a request with a token.
type bearer struct {
	*kit.World
	*kit.Target

	token   string
	carried http.Header // what the user sends with it
	good    *diff.Page
	noise   diff.Noise
}

// credentialsOf is what a target's user sends besides the request: header lines, and a line of cookies. Where a logout
// that other tests run into has just taken the token away, it is what the user had before anything was tested: many
// tokens outlive a logout.
func credentialsOf(w *kit.World, t *kit.Target) http.Header {
	now := carriedBy(t)
	if tokenIn(now) != "" || !kit.Known(t.User) {
		return now
	}
	if known, ok := w.Memo.Load(carriedKey(t)); ok {
		if before, isHeader := known.(http.Header); isHeader {
			return before
		}
	}
	return now
}

func carriedKey(t *kit.Target) string { return "carried " + t.Request.URL.Host + " " + t.User.Name }

func carriedBy(t *kit.Target) http.Header {
	header := http.Header{}
	for _, name := range []string{"Cookie", "Authorization"} {
		if lines := t.Request.Header[name]; len(lines) > 0 {
			header[name] = slices.Clone(lines)
		}
	}
	if t.User == nil {
		return header
	}
	for name, lines := range t.User.Headers(t.Request.URL) {
		header[name] = slices.Clone(lines)
	}
	var pairs []string
	for _, k := range t.User.Cookies(t.Request.URL) {
		pairs = append(pairs, k.Name+"="+k.Value)
	}
	if len(pairs) > 0 {
		header.Set("Cookie", strings.Join(pairs, "; "))
	}
	return header
}

// tokenIn is the token in header lines; "" for none.
func tokenIn(header http.Header) string {
	for _, lines := range header {
		for _, text := range lines {
			if found := tokenText.FindString(text); found != "" && parse(found) != nil {
				return found
			}
		}
	}
	return ""
}

// request is the request as nobody with all that the user sends, and another token in place of theirs.
func (o *bearer) request(token string) *message.Request {
	r := o.Request.Clone()
	for name, lines := range o.carried {
		r.Header[name] = slices.Clone(lines)
	}
	for name, lines := range r.Header {
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], o.token, token)
		}
		if token == "" && name == "Authorization" {
			delete(r.Header, name)
		}
	}
	return r
}

func (o *bearer) send(ctx context.Context, token string) (*message.Response, error) {
	r := o.request(token)
	answer, err := o.Client.Send(ctx, r, client.Options{})
	return kit.Broken(ctx, r, answer, err)
}

func (o *bearer) accepted(r *message.Response) bool {
	return diff.Same(o.good, diff.New(r), o.noise)
}

// parts are a token: header and claims as texts, and the signature.
type parts struct {
	header    map[string]any
	head      string // encoded
	claims    string // encoded
	signature []byte
}

func parse(token string) *parts {
	fields := strings.Split(token, ".")
	if len(fields) != 3 {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(fields[0])
	if err != nil {
		return nil
	}
	p := &parts{head: fields[0], claims: fields[1]}
	if json.Unmarshal(raw, &p.header) != nil || p.header["alg"] == nil {
		return nil
	}
	if p.signature, err = base64.RawURLEncoding.DecodeString(fields[2]); err != nil {
		return nil
	}
	return p
}

// forgery is a token that we have written, and how.
type forgedToken struct{ name, token, about string }

// forge tries tokens that must not be accepted.
func (o *bearer) forge(ctx context.Context, c *kit.Check) error {
	p := parse(o.token)
	broken := append([]byte{}, p.signature...)
	for i := range broken {
		broken[i] ^= byte(0x5a + i)
	}
	if len(broken) == 0 {
		broken = []byte("not a signature at all")
	}
	control := p.head + "." + p.claims + "." + base64.RawURLEncoding.EncodeToString(broken)
	refused, err := o.send(ctx, control)
	if err != nil {
		return err
	}
	if o.accepted(refused) {
		return o.found(ctx, c, forgedToken{"unchecked", control, "a token with another signature"}, nil)
	}
	all := []forgedToken{}
	for _, name := range []string{"none", "None", "NONE"} {
		all = append(all, forgedToken{"none", p.with(map[string]any{"alg": name}, nil),
			"a token without a signature, alg " + name})
	}
	all = append(all, forgedToken{"empty", p.head + "." + p.claims + ".", "a token with an empty signature"})
	if key, ok := p.weakKey(); ok {
		all = append(all, forgedToken{"weak-key", p.with(map[string]any{}, []byte(key)),
			"a token that we have signed with the key " + hideKey(key)})
	}
	for _, key := range o.publicKeys(ctx, p) {
		all = append(all, forgedToken{"confusion", p.with(map[string]any{"alg": "HS256"}, key),
			"a token that we have signed with the public key as if it were a secret"})
	}
	if _, ok := p.header["kid"]; ok {
		header := map[string]any{"alg": "HS256", "kid": "../../../../../../../../dev/null"}
		all = append(all, forgedToken{"kid", p.with(header, []byte{}),
			"a token whose key is the empty file that its kid names"})
	}
	for _, one := range all {
		answer, err := o.send(ctx, one.token)
		if err != nil {
			return err
		}
		if o.accepted(answer) {
			return o.found(ctx, c, one, refused)
		}
	}
	return nil
}

// found confirms and reports a token that was accepted.
func (o *bearer) found(ctx context.Context, c *kit.Check, one forgedToken, control *message.Response) error {
	answer, err := o.send(ctx, one.token)
	if err != nil || !o.accepted(answer) {
		return err
	}
	without, err := o.send(ctx, "")
	if err != nil || o.accepted(without) {
		return err
	}
	f := kit.Finding{Request: answer.Request, Payload: one.name, Variant: one.name, Detail: one.about,
		Evidence: []kit.Evidence{
			{Request: answer.Request, Response: answer, Note: one.about + " is accepted, twice"},
			{Request: without.Request, Response: without, Note: "without a token the answer is another"},
		}}
	steps := []proof.Step{
		{ID: "good", Send: o.request(o.token)},
		{ID: "forged", Send: answer.Request, Expect: []proof.Expect{{What: proof.Same, Of: "good"}}},
		{ID: "without", Send: without.Request, Expect: []proof.Expect{{What: proof.Same, Of: "good", Not: true}}},
	}
	if control != nil {
		f.Evidence = append(f.Evidence, kit.Evidence{Request: control.Request, Response: control,
			Note: "with a wrong signature, too"})
	}
	f.Proof = &proof.Program{About: "A token that we have written is accepted.", Steps: steps}
	o.Found(c, f)
	return nil
}

// with is the token with changes of its header, signed with a key (HMAC); nil leaves the signature out.
func (p *parts) with(changes map[string]any, key []byte) string {
	header := map[string]any{}
	maps.Copy(header, p.header)
	maps.Copy(header, changes)
	raw, err := json.Marshal(header)
	if err != nil {
		return ""
	}
	text := base64.RawURLEncoding.EncodeToString(raw) + "." + p.claims
	if key == nil {
		return text + "."
	}
	alg, _ := header["alg"].(string)
	return text + "." + base64.RawURLEncoding.EncodeToString(sign(alg, key, text))
}

func sign(alg string, key []byte, text string) []byte {
	var of func() hash.Hash
	switch alg {
	case "HS384":
		of = sha512.New384
	case "HS512":
		of = sha512.New
	default:
		of = sha256.New
	}
	mac := hmac.New(of, key)
	_, _ = mac.Write([]byte(text))
	return mac.Sum(nil)
}

// weakKey is the key of a token if it is one of the well-known; tried here, and not at the target.
func (p *parts) weakKey() (string, bool) {
	alg, _ := p.header["alg"].(string)
	if !strings.HasPrefix(alg, "HS") {
		return "", false
	}
	for key := range weakkey.Keys() {
		if hmac.Equal(sign(alg, []byte(key), p.head+"."+p.claims), p.signature) {
			return key, true
		}
	}
	return "", false
}

func hideKey(key string) string { return key[:min(len(key), 2)] + "…" }

// keyPaths are where applications show the public keys of their tokens.
var keyPaths = []string{"/.well-known/jwks.json", "/jwks.json", "/public.pem", "/public.key", "/publickey.pem",
	"/key.pub"}

var (
	keyName = regexp.MustCompile(`(?i)jwk|\.pem$|\.pub$|public|\bkey`)
	pemText = regexp.MustCompile(`-----BEGIN (?:RSA )?PUBLIC KEY-----[\sA-Za-z0-9+/=]+-----END (?:RSA )?PUBLIC KEY-----\n?`)
)

const maxKeyPages = 12

// publicKeys are the public keys that the host shows, as they would be used as a secret by mistake: at the usual
// addresses, and where the map has an address that speaks of one.
func (o *bearer) publicKeys(ctx context.Context, p *parts) (keys [][]byte) {
	alg, _ := p.header["alg"].(string)
	if !strings.HasPrefix(alg, "RS") && !strings.HasPrefix(alg, "PS") {
		return nil
	}
	paths := slices.Clone(keyPaths)
	if o.Pages != nil {
		for _, r := range o.Pages() {
			at := r.URL.Path
			if r.Method == http.MethodGet && r.URL.Host == o.Request.URL.Host && keyName.MatchString(at) &&
				!slices.Contains(paths, at) {
				paths = append(paths, at)
			}
		}
	}
	for _, path := range paths[:min(len(paths), maxKeyPages)] {
		r := message.From(http.MethodGet, &url.URL{Scheme: o.Request.URL.Scheme, Host: o.Request.URL.Host, Path: "/"})
		r.URL.Path = path
		answer, err := o.Client.Send(ctx, r, client.Options{})
		if err != nil || answer.Status != http.StatusOK {
			continue
		}
		keys = append(keys, ofSet(answer.Body)...)
		for _, text := range pemText.FindAll(answer.Body, 2) {
			keys = append(keys, text, []byte(strings.TrimSpace(string(text))))
		}
		if len(keys) > 0 {
			return keys
		}
	}
	return nil
}

// ofSet are the keys of a set of JSON Web Keys, in the form of PEM.
func ofSet(text []byte) (keys [][]byte) {
	var set struct{ Keys []struct{ Kty, N, E string } }
	if json.Unmarshal(text, &set) != nil {
		return nil
	}
	for _, k := range set.Keys[:min(len(set.Keys), 2)] {
		n, err1 := base64.RawURLEncoding.DecodeString(k.N)
		e, err2 := base64.RawURLEncoding.DecodeString(k.E)
		if k.Kty != "RSA" || err1 != nil || err2 != nil || len(n) == 0 || len(e) > 4 {
			continue
		}
		public := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			continue
		}
		text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		keys = append(keys, text, []byte(strings.TrimSpace(string(text))))
	}
	return keys
}

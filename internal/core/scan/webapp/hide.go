package webapp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// minSecret is how long a secret is at least that is looked for everywhere in texts: shorter ones are in every text,
// and are looked for where a value stands alone.
const minSecret = 4

// Secrets are the credentials, without those that are too short to be looked for in texts.
func (o Options) Secrets() (all []string) {
	for _, s := range o.named() {
		if len(s.value) >= minSecret {
			all = append(all, s.value)
		}
	}
	return all
}

// Hider puts names in place of secrets.
type Hider struct {
	long  *strings.Replacer
	short []shortSecret
}

// shortSecret is one that is hidden where it is the whole value of a field: of a form, of a query or of JSON, also of
// JSON in JSON.
type shortSecret struct {
	pattern *regexp.Regexp
	name    string
}

// Replace is a text without the secrets.
func (h Hider) Replace(text string) string {
	text = h.long.Replace(text)
	for _, s := range h.short {
		text = s.pattern.ReplaceAllString(text, "${1}"+s.name+"${2}")
	}
	return text
}

// Replacers put names in place of the secrets of a text, in any spelling of requests, and the secrets back.
func (o Options) Replacers() (hide Hider, fill *strings.Replacer) {
	type pair struct{ name, value string }
	var pairs, short []pair
	for _, s := range o.named() {
		quoted, err := json.Marshal(s.value)
		if err != nil {
			quoted = []byte(`""`) // a string has no such error
		}
		seen := map[string]bool{}
		for _, spelling := range []pair{
			{"", s.value}, {":query", url.QueryEscape(s.value)}, {":path", url.PathEscape(s.value)},
			{":json", string(quoted[1 : len(quoted)-1])},
		} {
			if seen[spelling.value] {
				continue
			}
			seen[spelling.value] = true
			one := pair{"{{" + s.name + spelling.name + "}}", spelling.value}
			if len(s.value) < minSecret {
				short = append(short, one)
			} else {
				pairs = append(pairs, one)
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(len(b.value), len(a.value)) })
	var hidden, filled []string
	for _, p := range pairs {
		hidden, filled = append(hidden, p.value, p.name), append(filled, p.name, p.value)
	}
	hide.long = strings.NewReplacer(hidden...)
	for _, p := range short {
		filled = append(filled, p.name, p.value)
		hide.short = append(hide.short, shortSecret{name: p.name, pattern: regexp.MustCompile(
			`(=|:\s*\\*")` + regexp.QuoteMeta(p.value) + `($|[&"\\\s;<])`)})
	}
	return hide, strings.NewReplacer(filled...)
}

type secret struct{ name, value string }

func (o Options) named() (all []secret) {
	add := func(name, value string) {
		if value != "" {
			all = append(all, secret{field + "." + name, value})
		}
	}
	for i, u := range o.Users {
		of := fmt.Sprintf("users[%d].", i)
		add(of+"password", u.Password)
		add(of+"totp", u.TOTP)
		add(of+"cookie", u.Cookie)
		add(of+"authorization", u.Authorization)
	}
	if o.OAuth != nil {
		add("oauth.client_secret", o.OAuth.ClientSecret)
	}
	return all
}

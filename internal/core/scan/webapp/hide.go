package webapp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// minSecret is how long a secret is at least that is looked for in texts: shorter ones are in every text.
const minSecret = 4

// Secrets are the credentials, without those that are too short to be looked for in texts.
func (o Options) Secrets() (all []string) {
	for _, s := range o.named() {
		all = append(all, s.value)
	}
	return all
}

// Replacers put names in place of the secrets of a text, in any spelling of requests, and the secrets back.
func (o Options) Replacers() (hide, fill *strings.Replacer) {
	type pair struct{ name, value string }
	var pairs []pair
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
			if !seen[spelling.value] {
				seen[spelling.value] = true
				pairs = append(pairs, pair{"{{" + s.name + spelling.name + "}}", spelling.value})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(len(b.value), len(a.value)) })
	var hidden, filled []string
	for _, p := range pairs {
		hidden, filled = append(hidden, p.value, p.name), append(filled, p.name, p.value)
	}
	return strings.NewReplacer(hidden...), strings.NewReplacer(filled...)
}

type secret struct{ name, value string }

func (o Options) named() (all []secret) {
	add := func(name, value string) {
		if len(value) >= minSecret {
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

package spelling

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestSpellings(t *testing.T) {
	const value = `p@ss/word+1"`
	all := Of(value)
	for _, text := range []string{
		"https://example.com/?a=" + url.QueryEscape(value), `{"a":"p@ss/word+1\""}`, "p@ss/word+1&#34;",
		"AA" + base64.StdEncoding.EncodeToString([]byte("user:"+value+"x")),
		base64.URLEncoding.EncodeToString([]byte("u:" + value)), "70407373",
	} {
		if !slices.ContainsFunc(all, func(form string) bool {
			return strings.Contains(text, form) || strings.HasPrefix(form, text)
		}) {
			t.Errorf("%q is not found among %q", text, all)
		}
	}
	for _, form := range Of("ab") {
		if len(form) < Least {
			t.Errorf("%q is too short", form)
		}
	}
}

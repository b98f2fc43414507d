package templates

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestFieldsOfATemplateArePicked(t *testing.T) {
	for text, want := range map[string]struct {
		fields []string
		raw    bool
	}{"": {nil, true}, "id, name": {[]string{"id", "name"}, false}, "raw,raw": {[]string{"raw", "raw"}, true}} {
		if fields, raw, err := pick[TemplateData](text); err != nil || raw != want.raw || !slices.Equal(fields, want.fields) {
			t.Errorf("%q: %q %v %v", text, fields, raw, err)
		}
	}
	if _, _, err := pick[TemplateData]("ttl"); errs.From(err) == nil || errs.From(err).Param != "fields" {
		t.Errorf("a field that only shared templates have: %v", err)
	}
	got, err := json.Marshal(wire.Picked[FoundTemplate]{Value: FoundTemplate{TemplateData: TemplateData{ID: "x"}},
		Fields: []string{"id", "highlight", "is_new", "id"}})
	if err != nil || string(got) != `{"id":"x","is_new":false}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestTextIsForThoseWhoPreferIt(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "text/plain": true, "Text/Plain; q=1, application/json": true, "application/json, text/plain": false,
		"*/*": false,
	} {
		if wantsText(accept) != want {
			t.Errorf("%q: %v", accept, !want)
		}
	}
}

func TestSourcesOnGitHub(t *testing.T) {
	for source, want := range map[string]bool{
		"https://github.com/a/b": true, "https://raw.github.com/a": true, "https://notgithub.com/": false,
		"https://github.com.example.com/": false, "": false,
	} {
		if fromGitHub(source) != want {
			t.Errorf("%s: %v", source, !want)
		}
	}
}

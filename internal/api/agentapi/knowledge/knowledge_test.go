package knowledge

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestSources(t *testing.T) {
	got, err := Request{Content: "a", URLs: []string{"https://b.example.com"}, GitURL: "https://c.example.com", Ref: "main", Shared: true}.sources()
	if err != nil || len(got) != 3 || got[1].URL != "https://b.example.com" || got[2].Ref != "main" || !got[0].Shared {
		t.Errorf("%+v %v", got, err)
	}
	for param, r := range map[string]Request{"content": {}, "ref": {Content: "a", Ref: "main"}, "name": {Name: "n", Content: "a", GitURL: "https://c.example.com"}} {
		if _, err := r.sources(); err == nil || errs.From(err).Param != param {
			t.Errorf("%s: %v", param, err)
		}
	}
}

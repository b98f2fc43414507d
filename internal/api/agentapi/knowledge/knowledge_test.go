package knowledge

import (
	"reflect"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/knowledge"
)

// Each field of a request reaches the service.
func TestSources(t *testing.T) {
	got := Request{Name: "n", Content: "c", URLs: []string{"u"}, FileKeys: []string{"k"}, GitURL: "g", Ref: "r", Shared: true}.sources()
	want := knowledge.New{Name: "n", Content: "c", URLs: []string{"u"}, FileKeys: []string{"k"}, GitURL: "g", Ref: "r", Shared: true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

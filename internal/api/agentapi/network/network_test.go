package network

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/network"
)

// TestNoAnswerHasWhatIsSealed: what an answer is made of has no field for what is stored of an event, and each parameter
// of a list reaches the filter.
func TestNoAnswerHasWhatIsSealed(t *testing.T) {
	text, err := json.Marshal(network.Detail{Event: network.Event{ID: "e"}})
	if err != nil || strings.Contains(string(text), "sealed") || strings.Contains(string(text), "hidden") {
		t.Errorf("%s, %v", text, err)
	}
	for reference, name := range Words().Names {
		if !strings.HasPrefix(name, "Network") {
			t.Errorf("%v is named %s", reference, name)
		}
	}
	if query, filter := reflect.TypeFor[Query](), reflect.TypeFor[network.Filter](); query.NumField() != filter.NumField() {
		t.Errorf("%d parameters, %d in the filter", query.NumField(), filter.NumField())
	}
}

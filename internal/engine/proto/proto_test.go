package proto_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
)

func TestNames(t *testing.T) {
	got := proto.Names(dsl.Parse("{{a}}-{{b}}"), dsl.Parse("{{b}} {{to_upper(c)}}"), dsl.Parse("d"))
	if !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%q", got)
	}
}

func TestAt(t *testing.T) {
	for address, want := range map[string][2]string{
		"a.test:1": {"a.test", "1"}, "[2001:db8::1]:1": {"2001:db8::1", "1"}, "none": {"", ""},
	} {
		var r proto.Reply
		if r.At(address); r.MatchedAt != address || [2]string{r.Host, r.Port} != want {
			t.Errorf("%s: %+v", address, r)
		}
	}
}

func TestEnd(t *testing.T) {
	for kind, err := range map[proto.Kind]error{
		proto.KindInapplicable: proto.Inapplicable("%d", 1), proto.KindUnusable: proto.Unusable("%d", 1),
		proto.KindRefused: proto.Refused(),
	} {
		if e, ok := errors.AsType[*proto.End](err); !ok || e.Kind != kind {
			t.Errorf("%v", err)
		}
	}
}

package main

import (
	"testing"

	"github.com/vedette-sec/vedette/oracle/event"
)

func set(events ...event.Event) event.Set { return event.SetOf(events) }

func TestCauseTellsDisagreements(t *testing.T) {
	one := event.Event{Template: "t", Matcher: "m", At: "http://h/4711", Extracted: []string{"b", "a", "a"}}
	same, place, value, more := one, one, one, one
	same.Extracted = []string{"a", "b"}
	place.At = "http://h/0815"
	value.Extracted = []string{"c"}
	more.Matcher = "n"
	for name, c := range map[string]struct {
		text         string
		theirs, ours event.Set
		want         string
	}{
		"order and repetition do not count": {"", set(one), set(same), ""},
		"nothing at all":                    {"", set(), set(), ""},
		"nothing of ours":                   {"", set(one), set(), "vedette finds nothing"},
		"another place":                     {"", set(one), set(place), "other matched-at"},
		"a place by chance":                 {"randstr http h", set(one), set(place), ""},
		"another value":                     {"", set(one), set(value), "other extracted results"},
		"one more":                          {"", set(one), set(one, more), "vedette finds more"},
	} {
		if got := cause(c.text, c.theirs, c.ours, ""); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

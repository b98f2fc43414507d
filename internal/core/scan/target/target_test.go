package target

import (
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
)

func TestCheck(t *testing.T) {
	for text, good := range map[string]bool{
		"https://www.example.com/": true, "www.example.com:8443": true, "192.0.2.0/24": true, "10.0.0.0/15": false, "": false,
		"https://": false, "192.0.2.1/32": true,
	} {
		if err := Check([]string{text}); (err == nil) != good || Takes(text) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := Check([]string{"10.0.0.0/16", "10.1.0.0/16"}); err == nil {
		t.Error("131,072 addresses are taken")
	}
}

func TestExpand(t *testing.T) {
	not, err := hostpattern.Parse([]string{"192.0.2.2"})
	if err != nil {
		t.Fatal(err)
	}
	got := Expand([]string{"192.0.2.0/30", "192.0.2.1", " a.example.com "}, not)
	if want := []string{"192.0.2.0", "192.0.2.1", "192.0.2.3", "a.example.com"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestAllInternal(t *testing.T) {
	for text, want := range map[string]bool{"10.0.0.1": true, "192.168.0.0/24": true, "localhost": true, "a.example.com": false, "8.8.8.8": false} {
		if AllInternal([]string{text}) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

package permute

import (
	"slices"
	"testing"
)

func TestNamesNearThoseThatWereFound(t *testing.T) {
	found := []string{"web-01.eu.example.com", "api.example.com", "other.example.org"}
	words := Words(found, "example.com")
	if !slices.Contains(words, "web") || !slices.Contains(words, "api") || slices.Contains(words, "01") {
		t.Errorf("words %q", words)
	}
	got := slices.Collect(Permutations(found, "example.com", words))
	for _, want := range []string{"web-02.eu.example.com", "web.01.eu.example.com", "01-web.eu.example.com",
		"api1.example.com", "web-api.example.com"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %d names", want, len(got))
		}
	}
	if i := slices.IndexFunc(got, func(name string) bool { return name == "other.example.org" }); i >= 0 {
		t.Error("a name outside of the domain")
	}
}

func TestCandidatesOfADomain(t *testing.T) {
	var got []string
	for name := range Candidates("example.com", []string{"mine"}) {
		got = append(got, name)
	}
	for _, want := range []string{"www.example.com", "mine.example.com"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %d names", want, len(got))
		}
	}
}

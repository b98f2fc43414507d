package port_test

import (
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/discover/probe/port"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestParse(t *testing.T) {
	for spec, n := range map[string]int{
		"80": 1, "80,443,8000-8100": 103, "top-100": 100, "top-1000": 1000, "full": 65535, "1-65535": 65535,
		"TOP-100, 31337": 101, "top-100,top-1000": 1000, "80,80,80-80": 1, " 22 , 23 ": 2, "65535": 1,
	} {
		got, err := port.Parse(spec)
		if err != nil || len(got) != n {
			t.Errorf("%q: %d ports, want %d: %v", spec, len(got), n, err)
		}
	}
	for _, spec := range []string{"", ",", "80,", "0", "65536", "80-70", "-80", "80-", "a", "top-10", "1-2-3", "+80",
		"80 443", "８０", "0-10"} {
		if got, err := port.Parse(spec); err == nil || errs.From(err).Param != "ports" {
			t.Errorf("%q: %v, %v", spec, got, err)
		}
	}
	got, _ := port.Parse("5-7,443,80,22")
	if want := []uint16{80, 443, 22, 7, 6, 5}; !slices.Equal(got, want) {
		t.Errorf("order %v, want the likeliest first: %v", got, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"80,443", "top-100,1-5", "full", "1-", "99999", "0x50"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		got, err := port.Parse(spec)
		if err != nil {
			return
		}
		seen := map[uint16]bool{}
		for _, p := range got {
			if p == 0 || seen[p] {
				t.Fatalf("%q gives port %d, twice or none", spec, p)
			}
			seen[p] = true
		}
	})
}

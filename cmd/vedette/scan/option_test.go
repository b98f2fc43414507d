package scan

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

// Every flag of nuclei is known by both of its names: it works, or it says why not.
func TestNucleiFlags(t *testing.T) {
	text, err := os.ReadFile("testdata/nuclei-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	flags := New().Flags()
	all := strings.Fields(string(text))
	if len(all) < 190 {
		t.Fatalf("%d flags only", len(all))
	}
	for _, names := range all {
		long, short, _ := strings.Cut(names, ",")
		flag := flags.Lookup(long)
		if flag == nil {
			t.Errorf("--%s is unknown", long)
			continue
		}
		if got := cli.ShortName(flag); got != short {
			t.Errorf("--%s is -%s for short, not -%s", long, got, short)
		}
	}
}

// No two flags share a name, and each that is shown has a help text.
func TestScanFlagNames(t *testing.T) {
	f := newScanFlags()
	seen := map[string]bool{}
	for _, g := range f.groups() {
		for _, o := range g.options {
			for name := range strings.SplitSeq(o.names, ",") {
				if seen[name] {
					t.Errorf("two flags are called %s", name)
				}
				seen[name] = true
			}
			if o.help == "" {
				t.Errorf("%s says nothing", o.names)
			}
		}
	}
	for _, group := range slices.Concat(unsupportedFlags, ignoredFlags) {
		for names := range strings.FieldsSeq(group.names) {
			for name := range strings.SplitSeq(strings.TrimSuffix(names, "="), ",") {
				if seen[name] {
					t.Errorf("two flags are called %s", name)
				}
				seen[name] = true
			}
		}
	}
}

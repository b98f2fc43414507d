package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestScanArgs(t *testing.T) {
	for line, want := range map[string]string{
		"scan -u x -etags a,b -tc e":               "scan --target x --exclude-tags a,b --template-condition e",
		"scan -tags=a --etags=b -s=high":           "scan --tags=a --exclude-tags=b --severity=high",
		"scan -silent -target x -j":                "scan --silent --target x --jsonl",
		"scan -irr=false -nc":                      "scan --include-rr=false --no-color",
		"scan -H -tags -V -u=b -u c":               "scan --header -tags --var -u=b --target c", // values stay as they are
		"scan -tc -1<2 -silent":                    "scan --template-condition -1<2 --silent",
		"scan -nonsense --other -z":                "scan --nonsense --other -z",
		"scan -l - -u -":                           "scan --list - --target -",
		"scan -silent -- -tags":                    "scan --silent -- -tags",
		"scan -help":                               "scan --help",
		"scan -sresp -mhe 30 -duc -u x":            "scan --store-resp --max-host-error 30 --disable-update-check --target x",
		"scan -u":                                  "scan --target",
		"templates list -o json":                   "templates list -o json",
		"serve -listen x":                          "serve -listen x",
		"nonsense -u x":                            "nonsense -u x",
		"scan -rl 5 --rl 6 -rate-limit 7 --rl=8 -": "scan --rate-limit 5 --rate-limit 6 --rate-limit 7 --rate-limit=8 -",
	} {
		args := strings.Fields(line)
		before := slices.Clone(args)
		if got := strings.Join(scanArgs(newRoot(), args), " "); got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
		if !slices.Equal(args, before) {
			t.Errorf("%s: the arguments were changed", line)
		}
	}
}

// Every flag of nuclei is known by both of its names: it works, or it says why not.
func TestNucleiFlags(t *testing.T) {
	text, err := os.ReadFile("testdata/nuclei-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	scan, _, err := newRoot().Find([]string{"scan"})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(text))
	if len(all) < 190 {
		t.Fatalf("%d flags only", len(all))
	}
	for _, names := range all {
		long, short, _ := strings.Cut(names, ",")
		flag := scan.Flags().Lookup(long)
		if flag == nil {
			t.Errorf("--%s is unknown", long)
			continue
		}
		got := ""
		if list := flag.Annotations[shortName]; len(list) > 0 {
			got = list[0]
		}
		if got != short {
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
	for _, group := range slices.Concat(absentFlags, idleFlags) {
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

// What a run says, and its exit code.
func command(t *testing.T, args ...string) (code int, out, talk string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// An absent flag is told of by its long name, with what to do instead, wherever it
// stands and however it is written.
func TestAbsentFlag(t *testing.T) {
	for _, args := range [][]string{
		{"scan", "-uncover"}, {"scan", "-uc"}, {"scan", "--uc", "-u", "x"}, {"scan", "-u", "x", "-uncover=true"}, {"scan", "-uc", "word"},
	} {
		code, out, talk := command(t, args...)
		if code != exitUsage || out != "" || !strings.HasPrefix(talk, "vedette: vedette scan has no --uncover: give targets yourself\n") {
			t.Errorf("%q: %d %q %q", args, code, out, talk)
		}
	}
}

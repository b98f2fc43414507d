package builtin

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/net/idna"
	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/agent"
)

var update = flag.Bool("update", false, "rewrite the wanted plans in testdata")

// TestPlan runs every case of testdata: an instruction, and the plan it must give.
func TestPlan(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) < 60 {
		t.Fatalf("found %d cases, want 60 or more (%v)", len(cases), err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil || len(archive.Files) == 0 {
				t.Fatalf("%v, %d files", err, len(archive.Files))
			}
			instruction := strings.TrimSuffix(string(archive.Files[0].Data), "\n")
			var got bytes.Buffer
			enc := json.NewEncoder(&got)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(Plan(instruction)); err != nil {
				t.Fatal(err)
			}
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: "plan.json", Data: got.Bytes()})
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(archive.Files) < 2 || string(archive.Files[1].Data) != got.String() {
				t.Errorf("the plan is not the wanted one (run with -update and read the diff):\n%s", got.String())
			}
		})
	}
}

// hold checks what every plan of every instruction must hold.
func hold(t interface{ Fatalf(string, ...any) }, instruction string) {
	plan := Plan(instruction)
	one, err := json.Marshal(plan)
	if err != nil {
		t.Fatalf("the plan of %q has no JSON form: %v", instruction, err)
	}
	if two, _ := json.Marshal(Plan(instruction)); !bytes.Equal(one, two) {
		t.Fatalf("two plans of %q differ:\n%s\n%s", instruction, one, two)
	}
	if len(plan.Targets) == 0 && len(plan.NotUnderstood) == 0 {
		t.Fatalf("%q gives no target and no word about it", instruction)
	}
	for _, target := range plan.Targets {
		if !strings.Contains(instruction, target.Raw) || target.Raw == "" {
			t.Fatalf("target %+v is not in the instruction %q", target, instruction)
		}
		if !derived(target) {
			t.Fatalf("target %+v does not follow from its text", target)
		}
		for _, x := range plan.Excluded {
			if overlap(target, x) {
				t.Fatalf("target %+v is excluded by %+v in %q", target, x, instruction)
			}
		}
	}
	for _, note := range slices.Concat(plan.NotUnderstood, plan.NotDone, plan.Understood) {
		if strings.ContainsFunc(note, func(r rune) bool { return r < ' ' }) || len(note) > 16<<10 {
			t.Fatalf("note %q is not fit to be shown", note)
		}
	}
}

// derived reports whether a target follows from the text it was read from.
func derived(t agent.Target) bool {
	raw := strings.ToLower(t.Raw)
	if t.Prefix != "" || netip.Addr.IsValid(addr(t.Host)) {
		host := addr(t.Host)
		if t.Prefix != "" {
			host = netip.MustParsePrefix(t.Prefix).Addr()
		}
		if p, err := netip.ParsePrefix(t.Raw); err == nil {
			return p.Contains(host)
		}
		if list, ok := readRange(t.Raw); ok {
			return slices.ContainsFunc(list, func(x agent.Target) bool {
				return x.Host == host.String() || x.Prefix != "" && netip.MustParsePrefix(x.Prefix).Contains(host)
			})
		}
		return strings.Contains(raw, t.Host) || strings.Contains(raw, ":")
	}
	if strings.Contains(raw, t.Host) {
		return true
	}
	for _, part := range strings.FieldsFunc(raw, func(r rune) bool { return strings.ContainsRune(":/?#", r) }) {
		if ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(part, ".")); err == nil && ascii == t.Host {
			return true
		}
	}
	return false
}

func addr(s string) netip.Addr { a, _ := netip.ParseAddr(s); return a }

// overlap reports, by arithmetic of its own, whether an exclusion without port and path
// and a target share an address or a name.
func overlap(t, x agent.Target) bool {
	if x.Port != 0 || x.Path != "" {
		return false
	}
	network := func(y agent.Target) (netip.Prefix, bool) {
		if y.Prefix != "" {
			return netip.MustParsePrefix(y.Prefix), true
		}
		a := addr(y.Host)
		return netip.PrefixFrom(a, a.BitLen()), a.IsValid()
	}
	a, ok1 := network(t)
	b, ok2 := network(x)
	if ok1 && ok2 {
		return a.Overlaps(b)
	}
	return t.Host == x.Host || strings.HasPrefix(x.Host, "*.") && strings.HasSuffix("."+t.Host, x.Host[1:])
}

func TestAnyInstruction(t *testing.T) {
	words := []string{"scan", "but not", "except", "http://a.example/", "https://b.example:8443/x?y=1", "10.0.0.0/29",
		"10.0.0.5", "10.0.0.1-10.0.0.9",
		"admin.example.com", "*.example.com", "and", ",", ".", "\n", "\n\n", "- ", "out of scope:", "is off limits",
		"do not touch", "only critical", "ports 80, 443",
		"CVE-2021-44228", "no TLS", "headers", "(", ")", "“", "[x](http://c.example)", "2001:db8::/120", "[2001:db8::1]:80",
		"from", "within 5 minutes", "exa\u200bmple.com", "\xff", "\x00", "/admin"}
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(words), rapid.String()), 0, 14).Draw(t, "pieces")
		hold(t, strings.Join(pieces, rapid.SampledFrom([]string{" ", ""}).Draw(t, "glue")))
	})
}

// TestExcludedStaysOut says the same exclusion in many ways: none may let it through.
func TestExcludedStaysOut(t *testing.T) {
	for _, form := range []string{
		"scan %T but not %X", "scan %T except %X", "scan %T, excluding %X and check headers", "do not touch %X. scan %T",
		"scan everything in %T but %X",
		"scan %T\nOut of scope: %X", "scan %T\n\nExclude:\n- www.example.org\n- %X\n", "%X is off limits, scan %T",
		"scan %T and leave %X alone", "skip %X; scan %T",
		"scan %T (not %X)", "%T is in scope, %X is out of scope", "please never scan or probe %X, test %T",
		"scan %T without touching %X", "scan %T, %X must not be scanned",
		"scan %T other than %X", "scan %T. Stay away from %X!", "scan %T minus %X", "test %T; avoid %X", "exclude %X from %T",
		"scan %T and %X (do not scan)",
		"scan %T - except for the host %X", "SCAN %T BUT DO NOT TOUCH %X", "scan %T, don’t test %X",
		"scan %T don't under any circumstances test %X",
		"{\"targets\": [\"%T\"], \"exclude\": [\"%X\"]}", "scan %T. We are not allowed to test %X.",
		"scan %T with the exception of %X", "scan %T, but keep your hands off %X",
		"scan %T\nexcluded hosts:\n  * %X", "scan %T as long as you do not access %X", "scan %T. It is forbidden to scan %X.",
		"scan %T; %X should be skipped", "scan %T apart from %X",
	} {
		for _, pair := range [][2]string{{"10.0.0.0/24", "10.0.0.5"}, {"example.com", "admin.example.com"},
			{"https://www.example.com/", "http://pay.example.com:8080"}, {"2001:db8::/120", "2001:db8::7"}} {
			instruction := strings.NewReplacer("%T", pair[0], "%X", pair[1]).Replace(form)
			plan := Plan(instruction)
			x, _ := read(pair[1])
			for _, target := range plan.Targets {
				if overlap(target, agent.Target{Host: x.targets[0].Host}) {
					t.Errorf("%q: target %v", instruction, target)
				}
			}
			if len(plan.Excluded) == 0 {
				t.Errorf("%q: nothing is excluded", instruction)
			}
		}
	}
}

// TestLongInstructions holds the time that hostile instructions take to a bound.
func TestLongInstructions(t *testing.T) {
	for _, unit := range []string{"a/", "http://a,", "[", "10.0.0.1, not 10.0.0.2 ", "exclude 10.0.0.1 - ", "\n",
		"port 1-65535 ", "1 ", "high and ", "not more than "} {
		start := time.Now()
		Plan(strings.Repeat(unit, MaxInstruction/len(unit)))
		if took := time.Since(start); took > time.Minute { // a quarter of a second on a machine that is idle
			t.Errorf("%q repeated takes %v", unit, took)
		}
	}
}

// TestUnreadExclusionsTestNothing holds the planner to testing nothing when it could not
// read all of what limits the scope.
func TestUnreadExclusionsTestNothing(t *testing.T) {
	for name, instruction := range map[string]string{
		"cut off":             "scan 10.0.0.0/24" + strings.Repeat(" ", MaxInstruction) + "but not 10.0.0.5",
		"piece too long":      "scan 10.0.0.0/24 but not 10.0.0.5/" + strings.Repeat("x", maxPiece),
		"unreadable":          "scan 10.0.0.0/24 but not http://10.0.0.%5/",
		"too many exclusions": "scan 10.0.0.0/24, skip port 22 and ports 1-900, ports 1000-1900 and ports 2000-2900",
	} {
		plan := Plan(instruction)
		if len(plan.Targets) != 0 || len(plan.NotUnderstood) < 2 && name != "cut off" {
			t.Errorf("%s: targets %v, %q", name, plan.Targets, plan.NotUnderstood)
		}
	}
}

func FuzzPlan(f *testing.F) {
	cases, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range cases {
		if archive, err := txtar.ParseFile(name); err == nil {
			f.Add(string(archive.Files[0].Data))
		}
	}
	f.Fuzz(func(t *testing.T, instruction string) { hold(t, instruction) })
}

func BenchmarkPlan(b *testing.B) {
	for b.Loop() {
		Plan("Check https://shop.example.com and 10.0.0.0/24 (but not 10.0.0.7) for exposed panels, .git folders and CVE-2021-44228; only high or worse, at most 10 requests per second.")
	}
}

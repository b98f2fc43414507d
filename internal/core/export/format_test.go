package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// hostile are texts that would break out of a format that is not careful.
var hostile = []string{
	"=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1+1", "=cmd|' /C calc'!A0", "a,b", `say "x"`,
	"two\nlines", "two\r\nlines", "a\rb",
	"nul\x00byte", "esc\x1b[31m", "\u202egnp.exe", "\ufeff=1", "\u2028=1",
	"\u200b=1", "\u00ad\u2060+1", "\u3164@x", "\U000e0041=1", "\ufe0f-1", "'quoted'", "a;=1", `\`, `"`, `]}],"runs":[]`, "</script>", "ünï 目录 😀", "\xff\xfe", "%3cjs", strings.Repeat("long ", 20_000), //nolint:gosmopolitan // scripts are tested
}

func hostileEvents() (out []engine.Event) {
	for i, text := range hostile {
		out = append(out, engine.Event{
			TemplateID: "t" + text[:min(len(text), 50)], Host: "h.example.com",
			MatchedAt: "https://h.example.com/" + text[:min(len(text), 3000)], Type: "http", MatcherStatus: true,
			MatcherName: text, ExtractedResults: []string{text, text},
			Request: text, Response: text, CurlCommand: text, Port: "443", Path: "/" + string(rune('a'+i)),
			Info: syntax.Info{Name: text, Severity: "low", Description: text, Remediation: text, Impact: text,
				Reference: []string{text, "https://example.com/" + text[:min(len(text), 100)]}, Tags: []string{text}},
		})
	}
	return out
}

func TestJSONIsTheFindings(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		if got := r.file(t, Request{Format: JSON}); string(got) != "[\n]\n" {
			t.Errorf("no findings are %q", got)
		}
		r.add(t, "s", events(0, 1500)...)
		r.add(t, "s", hostileEvents()...)
		var all []struct {
			ID    string `json:"vuln_id"`
			Event struct {
				Response string
				Info     struct{ Name string }
			}
		}
		if err := json.Unmarshal(r.file(t, Request{Format: JSON}), &all); err != nil || len(all) != 1500+len(hostile) {
			t.Fatalf("%d findings, %v", len(all), err)
		}
		for i, text := range hostile { // the newest are first
			want := string([]rune(text)) // a byte that is not UTF-8 becomes U+FFFD
			if got := all[len(hostile)-1-i].Event; got.Info.Name != want || got.Response != want {
				t.Errorf("%q came out as %q and %q", want, got.Info.Name, got.Response)
			}
		}
	})
}

func TestCSVIsForSpreadsheets(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s", hostileEvents()...)
		file := r.file(t, Request{Format: CSV})
		records, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		if err != nil || len(records) != len(hostile)+1 {
			t.Fatalf("%d records, %v", len(records), err)
		}
		for _, record := range records[1:] {
			for i, text := range record {
				first := strings.TrimLeft(text, " \u00a0\u3000\u200b\u2060\u00ad\u034f\ufe0f\u3164\u2800\U000e0041\ufffd")
				if text != "" && strings.ContainsAny(text[:1], "=+-@\t\r\n") || first != "" &&
					strings.ContainsRune("=+-@＝＋－＠", []rune(first)[0]) {
					t.Errorf("%s is a formula: %.50q", records[0][i], text)
				}
				if strings.ContainsFunc(text, func(c rune) bool {
					return unicode.IsControl(c) && c != '\n' && c != '\t' || unicode.Is(unicode.Bidi_Control, c)
				}) {
					t.Errorf("%s has controls: %.50q", records[0][i], text)
				}
				if len(text) > maxCell+10 {
					t.Errorf("%s has %d bytes", records[0][i], len(text))
				}
			}
		}
		if i := slices.Index(records[0], "name"); records[len(hostile)][i] != "'=1+1" {
			t.Errorf("the first is named %q", records[len(hostile)][i])
		}
		if rest := strings.ReplaceAll(string(file), "\r\n", ""); strings.Contains(rest, "\r") ||
			!strings.HasSuffix(string(file), "\r\n") {
			t.Error("lines do not end as RFC 4180 says")
		}
	})
}

// TestSpreadsheetReadsCSV opens the file in a spreadsheet and looks at what it has read.
func TestSpreadsheetReadsCSV(t *testing.T) {
	office, err := exec.LookPath("soffice")
	if err != nil {
		t.Skip("LibreOffice (libreoffice-calc-nogui) is not here")
	}
	r := setUp(t, dbtest.Open(t, "sqlite"))
	r.add(t, "s", hostileEvents()...)
	r.add(t, "s", sample()...)
	dir := t.TempDir()
	file := r.file(t, Request{Format: CSV})
	if err := os.WriteFile(filepath.Join(dir, "findings.csv"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	// As a person would: read with formulas evaluated, and written again as they are shown.
	convert := exec.CommandContext(t.Context(), office, "-env:UserInstallation=file://"+dir+"/profile", "--headless",
		"--infilter=CSV:44,34,76,1,,0,false,true,false,false,false,-1",
		"--convert-to", `csv:Text - txt - csv (StarCalc):44,34,76,1,,0,true,true,false,false,false,1`, "--outdir", dir+"/out",
		dir+"/findings.csv")
	if said, err := convert.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	files, err := filepath.Glob(dir + "/out/*.csv")
	if err != nil || len(files) != 1 {
		t.Fatalf("%d sheets, %v", len(files), err)
	}
	again, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	wrote, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	read, err := csv.NewReader(bytes.NewReader(again)).ReadAll()
	if err != nil || len(read) != len(wrote) {
		t.Fatalf("%d records of %d, %v", len(read), len(wrote), err)
	}
	text := []string{"name", "description", "matcher_name", "matched_at", "template_id"}
	for n, record := range wrote[1:] {
		for i, name := range wrote[0] {
			if slices.Contains(text, name) && strings.TrimSpace(read[n+1][i]) != strings.TrimSpace(record[i]) {
				t.Errorf("%s: %.60q is read as %.60q", name, record[i], read[n+1][i])
			}
		}
	}
}

// TestSARIFIsValid holds logs against the schema of the format.
func TestSARIFIsValid(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		check := func(want int) *sarif.Run {
			t.Helper()
			file := r.file(t, Request{Format: SARIF})
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Fatalf("with %d findings: %.2000v", want, err)
			}
			log, err := sarif.FromBytes(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(log.Runs) != 1 || log.Runs[0].Results == nil || len(log.Runs[0].Results) != want {
				t.Fatalf("%d results, want %d", len(log.Runs[0].Results), want)
			}
			return log.Runs[0]
		}
		check(0)
		r.add(t, "s", hostileEvents()...)
		r.add(t, "s", sample()...)
		found, _, err := r.from.Findings.FindAll(r.alice, finding.Filter{Search: "git configuration"}, nil,
			page.Window{Limit: 10})
		if err != nil || len(found) != 1 {
			t.Fatal(len(found), err)
		}
		if _, err := r.from.Findings.SetStatus(r.alice, finding.Filter{IDs: []string{found[0].ID}},
			finding.FalsePositive); err != nil {
			t.Fatal(err)
		}
		run := check(len(hostile) + len(sample()))
		rules := map[string]*sarif.ReportingDescriptor{}
		for _, rule := range run.Tool.Driver.Rules {
			rules[*rule.ID] = rule
		}
		suppressed := 0
		for _, result := range run.Results {
			if rules[*result.RuleID] == nil {
				t.Errorf("there is no rule %q", *result.RuleID)
			}
			suppressed += len(result.Suppressions)
		}
		apache := rules["CVE-2021-41773"]
		if suppressed != 1 || apache == nil || apache.Properties.Properties["security-severity"] != "9.8" ||
			apache.DefaultConfiguration.Level != "error" {
			t.Errorf("%d suppressions, the rule is %+v", suppressed, apache)
		}
	})
}

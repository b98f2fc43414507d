package vex

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/finding"
)

// schemaOf compiles a schema with those that it refers to.
func schemaOf(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for id, file := range map[string]string{
		"http://cyclonedx.org/schema/bom-1.6.schema.json":                  "bom-1.6.schema.json",
		"http://cyclonedx.org/schema/spdx.schema.json":                     "spdx.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json":                 "jsf-0.82.schema.json",
		"https://docs.oasis-open.org/csaf/csaf/v2.0/csaf_json_schema.json": "csaf_json_schema.json",
		"https://www.first.org/cvss/cvss-v2.0.json":                        "cvss-v2.0.json",
		"https://www.first.org/cvss/cvss-v3.0.json":                        "cvss-v3.0.json",
		"https://www.first.org/cvss/cvss-v3.1.json":                        "cvss-v3.1.json",
	} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(id, doc); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, file []byte) map[string]any {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(file))
	if err == nil && s != nil {
		err = s.Validate(doc)
	}
	if err != nil {
		t.Fatalf("%.3000v\n%.3000s", err, file)
	}
	var out map[string]any
	if err := json.Unmarshal(file, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

var at = time.Date(2026, 11, 25, 16, 0, 0, 0, time.UTC)

var about = Document{Title: "Findings of a <test>", Author: "blue", ID: "3e671687-395b-41f5-a30f-a58921a69b79", At: at, Version: "1.2.3"}

// sample has a finding of each status, of a CVE and of a template, some at one product, and texts that mean harm.
func sample() (out []fact.Finding) {
	for i, status := range finding.Statuses {
		for _, severity := range finding.Severities {
			f := fact.Finding{ID: "f" + string(rune('a'+i)) + severity, Hash: strings.Repeat("a", 32), Name: "Weakness", Severity: severity, Status: status,
				TemplateID: "template-" + string(rune('a'+i)), Host: severity + ".example.com", Port: 443,
				Place: "https://" + severity + ".example.com/x", CWEs: []int{79}, CreatedAt: at, UpdatedAt: at,
				References: []string{"https://example.com/a", "not a url", "javascript:alert(1)"}}
			f.CVSS = fact.CVSS{Score: 9.8, Vector: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", Version: "3.1"}
			if i%2 == 0 {
				f.CVEs = []string{"CVE-2021-4422" + string(rune('0'+i))}
			}
			out = append(out, f)
		}
	}
	for _, text := range []string{"", "</x>\"\\", "\u202e\x00", strings.Repeat("long ", 500), "a b/ü?#%"} {
		out = append(out, fact.Finding{ID: "h" + text, Name: text, Severity: "low", Status: finding.Open, TemplateID: text, Host: text,
			Place: text, Description: text, Remediation: text, Impact: text, References: []string{text}, CreatedAt: at, UpdatedAt: at})
	}
	return out
}

func cycloneDX(all []fact.Finding) []byte {
	c := CycloneDX{Document: about}
	out := c.Head()
	for i := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = c.Append(out, &all[i])
	}
	return append(out, c.Tail()...)
}

// list is a list within a document.
func list(v any, path ...string) []any {
	for _, key := range path {
		v, _ = v.(map[string]any)[key]
	}
	out, _ := v.([]any)
	return out
}

func text(v any, key string) string {
	s, _ := v.(map[string]any)[key].(string)
	return s
}

func TestCycloneDX(t *testing.T) {
	schema := schemaOf(t, "http://cyclonedx.org/schema/bom-1.6.schema.json")
	valid(t, schema, cycloneDX(nil))
	doc := valid(t, schema, cycloneDX(sample()))
	refs := map[string]bool{}
	for _, c := range list(doc, "components") {
		if ref := text(c, "bom-ref"); refs[ref] {
			t.Errorf("%s is there twice", ref)
		} else {
			refs[ref] = true
		}
	}
	said := map[string]string{}
	for _, v := range list(doc, "vulnerabilities") {
		for _, a := range list(v, "affects") {
			if !refs[text(a, "ref")] {
				t.Errorf("%v refers to nothing", a)
			}
		}
		status := ""
		for _, p := range list(v, "properties") {
			if text(p, "name") == "vedette:vuln_status" {
				status = text(p, "value")
			}
		}
		said[status] = text(v.(map[string]any)["analysis"], "state")
	}
	for status, want := range map[string]string{"open": "in_triage", "triaged": "exploitable", "fix_in_progress": "exploitable",
		"accepted_risk": "exploitable", "fixed": "resolved", "false_positive": "false_positive", "duplicate": "in_triage"} {
		if said[status] != want {
			t.Errorf("%s is %s, want %s", status, said[status], want)
		}
	}
}

// TestCycloneDXIsBounded: after many products the others are one, and references still resolve.
func TestCycloneDXIsBounded(t *testing.T) {
	c := CycloneDX{Document: about}
	c.Head()
	for n := range maxProducts {
		c.products["x"+string(rune(n))+"y"] = ""
		if len(c.products) >= maxProducts-2 {
			break
		}
	}
	for len(c.products) < maxProducts {
		c.products["p"+strings.Repeat("x", len(c.products)%7)+time.Duration(len(c.products)).String()] = ""
	}
	f := sample()[0]
	if line := string(c.Append(nil, &f)); !strings.Contains(line, others) || c.products[others] == "" {
		t.Errorf("%.300s", line)
	}
}

func collected(all []fact.Finding) *Collected {
	c := new(Collected)
	for i := range all {
		c.Add(&all[i])
	}
	return c
}

func write(t *testing.T, to func(io.Writer, Document) error) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := to(&out, about); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestCSAF(t *testing.T) {
	schema := schemaOf(t, "https://docs.oasis-open.org/csaf/csaf/v2.0/csaf_json_schema.json")
	if doc := valid(t, schema, write(t, new(Collected).CSAF)); text(doc["document"], "category") != "csaf_base" {
		t.Error("a VEX without findings is none")
	}
	doc := valid(t, schema, write(t, collected(sample()).CSAF))
	products := map[string]bool{}
	for _, p := range list(doc, "product_tree", "full_product_names") {
		if id := text(p, "product_id"); products[id] {
			t.Errorf("%s is there twice (6.1.2)", id)
		} else {
			products[id] = true
		}
	}
	seen := map[string]bool{}
	for _, v := range list(doc, "vulnerabilities") {
		checkVulnerability(t, v.(map[string]any), products)
		id := text(v, "cve")
		if id == "" {
			id = text(list(v, "ids")[0], "text")
		}
		if seen[id] {
			t.Errorf("%s is in two items (6.1.23)", id)
		}
		seen[id] = true
	}
	if len(seen) < 8 {
		t.Errorf("%d vulnerabilities", len(seen))
	}
}

// checkVulnerability holds an item against what the standard asks beyond the schema.
func checkVulnerability(t *testing.T, v map[string]any, products map[string]bool) {
	t.Helper()
	if len(list(v, "notes")) == 0 { // 6.1.27.5
		t.Errorf("no notes: %v", v)
	}
	status, _ := v["product_status"].(map[string]any)
	at := map[string]string{}
	for said, ids := range status {
		if !slices.Contains(worst, said) {
			t.Errorf("%s is no status of VEX (6.1.27.7)", said)
		}
		for _, id := range ids.([]any) {
			if !products[id.(string)] {
				t.Errorf("%s is not defined (6.1.1)", id)
			}
			if at[id.(string)] != "" {
				t.Errorf("%s is %s and %s (6.1.6)", id, at[id.(string)], said)
			}
			at[id.(string)] = said
		}
	}
	covered := func(key string) map[string]bool {
		out := map[string]bool{}
		for _, one := range list(v, key) {
			for _, id := range list(one, "product_ids") {
				out[id.(string)] = true
			}
		}
		return out
	}
	impact, action := covered("threats"), covered("remediations")
	for id, said := range at {
		if said == "known_not_affected" && !impact[id] {
			t.Errorf("%s is not affected, and nothing says why (6.1.27.9)", id)
		}
		if said == "known_affected" && !action[id] {
			t.Errorf("%s is affected, and nothing says what to do (6.1.27.10)", id)
		}
	}
}

func TestOpenVEX(t *testing.T) {
	if doc := valid(t, nil, write(t, new(Collected).OpenVEX)); list(doc, "statements") == nil {
		t.Error("no list of statements")
	}
	doc := valid(t, nil, write(t, collected(sample()).OpenVEX))
	for _, key := range []string{"@context", "@id", "author", "timestamp"} {
		if text(doc, key) == "" {
			t.Errorf("%s is missing", key)
		}
	}
	seen := map[string]bool{}
	for _, s := range list(doc, "statements") {
		status := text(s, "status")
		product := text(list(s, "products")[0], "@id")
		pair := text(s.(map[string]any)["vulnerability"], "name") + " " + product
		switch {
		case seen[pair]:
			t.Errorf("two statements about %s", pair)
		case !slices.Contains([]string{"affected", "not_affected", "fixed", "under_investigation"}, status):
			t.Errorf("the status %q", status)
		case status == "affected" && text(s, "action_statement") == "", status == "not_affected" && text(s, "impact_statement") == "":
			t.Errorf("%s without a reason: %v", status, s)
		case !strings.HasPrefix(product, "urn:vedette:product:") || strings.ContainsAny(product, " <>\"\\"):
			t.Errorf("%q is no IRI", product)
		}
		seen[pair] = true
	}
	if len(seen) < 40 {
		t.Errorf("%d statements", len(seen))
	}
}

// TestTheWorstCounts: of several findings of one vulnerability at one product the worst status is said.
func TestTheWorstCounts(t *testing.T) {
	all := sample()
	a, b, c := all[0], all[0], all[0]
	a.Status, b.Status, c.Status = finding.Fixed, finding.Triaged, finding.FalsePositive
	for _, order := range [][]fact.Finding{{a, b, c}, {c, b, a}, {b, c, a}} {
		doc := valid(t, nil, write(t, collected(order).OpenVEX))
		if s := list(doc, "statements"); len(s) != 1 || text(s[0], "status") != "affected" {
			t.Errorf("%v", s)
		}
	}
}

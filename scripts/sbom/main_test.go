package main

import (
	"bytes"
	"encoding/json"
	"runtime/debug"
	"testing"
)

func TestSBOM(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Path: "example.com/main"}, Deps: []*debug.Module{
		{Path: "example.com/a", Version: "v1.2.3+incompatible", Sum: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
		{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0"}},
	}}
	var out bytes.Buffer
	if err := write(&out, info); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		BOMFormat  string `json:"bomFormat"`
		Components []struct {
			PURL   string `json:"purl"`
			Hashes []struct{ Content string }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	want := []string{"pkg:golang/std@1.26.0", "pkg:golang/example.com/a@v1.2.3%2Bincompatible",
		"pkg:golang/example.com/c@v2.0.0"}
	if doc.BOMFormat != "CycloneDX" || len(doc.Components) != len(want) {
		t.Fatalf("%s", out.Bytes())
	}
	for i, c := range doc.Components {
		if c.PURL != want[i] || (i == 1) != (len(c.Hashes) == 1) {
			t.Errorf("%+v, want %s", c, want[i])
		}
	}
}

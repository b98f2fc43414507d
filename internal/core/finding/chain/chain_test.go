package chain

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/oast"
	"pgregory.net/rapid"
)

// seen is a sighting with something in each field.
func seen() Seen {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	return Seen{
		FindingID: "id", Hash: "hash", Target: "https://shop.example", Proof: &Proof{Digest: "d", Shown: 2, Runs: 3},
		Event: engine.Event{
			TemplateID: "leak", Type: "http", Host: "shop.example", Port: "443", IP: "192.0.2.1", Timestamp: at,
			Request: "GET / HTTP/1.1\r\n\r\n", Response: "HTTP/1.1 200 OK\r\n\r\nx", MatchedAt: "https://shop.example/",
			Path: "/", MatcherName: "m", ExtractorName: "e", ExtractedResults: []string{"a", "b"}, CurlCommand: "curl",
			Error: "no", Fuzzed: true, FuzzingMethod: "GET", FuzzingParameter: "q", FuzzingPosition: "query",
			AnalyzerDetails: "timed", Meta: map[string]string{"b": "2", "a": "1"},
			Interaction: &oast.Interaction{Protocol: "dns", FullID: "x", RawRequest: "q", RawResponse: "a"},
			Info: syntax.Info{Name: "Leak", Severity: "high", Metadata: map[string]any{"tool": "zap"},
				Classification: &syntax.Classification{CVEID: []string{"cve-2024-1"}, CWEID: []string{"cwe-200"}}},
		},
	}
}

// TestFormOfRecords pins what is hashed: evidence of earlier releases verifies by it.
func TestFormOfRecords(t *testing.T) {
	leaf, err := seen().Leaf([]byte("0123456789abcdef0123456789abcdef"))
	if want := "4b82c0e78bef06058731691f40165f7a5c367ab2b27ea7e4e3b9c2fea269a4f5"; err != nil || leaf != want {
		facts, _, fields, _ := seen().Record(nil)
		t.Errorf("%s, want %s\n%s\n%+v", leaf, want, facts, fields)
	}
}

// TestRecordsSurviveStorage: a record that is made of what is stored has the same leaf, whatever bytes were in it.
func TestRecordsSurviveStorage(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\xff\xfe", "a\xffb", "\u2028<&>", "\x00", "", "é"}))
	rapid.Check(t, func(t *rapid.T) {
		s := seen()
		s.Event.Compared = []engine.Compared{{Note: "n"}}
		for _, to := range []*string{
			&s.Event.Compared[0].Request, &s.Event.Compared[0].Response,
			&s.Event.Request, &s.Event.Response, &s.Event.Host, &s.Event.TemplateID, &s.Event.Info.Name, &s.Target,
			&s.Event.ExtractedResults[0], &s.Event.MatcherName, &s.Event.Interaction.RawRequest, &s.Event.Info.Classification.CVEID[0],
		} {
			*to = text.Draw(t, "text")
		}
		s.Event.Timestamp = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		doc, err := json.Marshal(storedAgain{s.Event, s.Target, s.Proof})
		if err != nil {
			t.Fatal(err)
		}
		again, err := SeenAgain("", s.FindingID, s.Hash, "", "", doc)
		if err != nil {
			t.Fatal(err)
		}
		was, err := s.Leaf([]byte("secret"))
		if err != nil {
			t.Fatal(err)
		}
		if is, err := again.Leaf([]byte("secret")); err != nil || is != was {
			a, _, f, _ := s.Record(nil)
			b, _, g, _ := again.Record(nil)
			t.Fatalf("another leaf, %v\n%s\n%s\n%q\n%q", err, a, b, f, g)
		}
	})
}

// TestEachFactCounts: whatever of a record changes, its leaf does.
func TestEachFactCounts(t *testing.T) {
	secret := []byte("s")
	was, err := seen().Leaf(secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Seen){
		"id": func(s *Seen) { s.FindingID = "x" }, "hash": func(s *Seen) { s.Hash = "x" }, "target": func(s *Seen) { s.Target = "x" },
		"digest": func(s *Seen) { s.Proof.Digest = "x" }, "runs": func(s *Seen) { s.Proof.Runs++ },
		"result": func(s *Seen) { s.Result = evidence.Gone }, "request": func(s *Seen) { s.Event.Request += "x" },
		"response": func(s *Seen) { s.Event.Response = "" }, "time": func(s *Seen) { s.Event.Timestamp = time.Time{} },
		"ip": func(s *Seen) { s.Event.IP = "x" }, "order": func(s *Seen) { s.Event.ExtractedResults = []string{"b", "a"} },
		"border": func(s *Seen) { s.Event.ExtractedResults = []string{"ab"} }, "payload": func(s *Seen) { s.Event.Meta["a"] = "3" },
		"severity": func(s *Seen) { s.Event.Info.Severity = "low" }, "cwe": func(s *Seen) { s.Event.Info.Classification.CWEID = nil },
		"interaction": func(s *Seen) { s.Event.Interaction.RawResponse = "x" }, "tool": func(s *Seen) { s.Event.Info.Metadata = nil },
		"parameter": func(s *Seen) { s.Event.FuzzingParameter = "x" }, "kind": func(s *Seen) { s.RunID = "id" },
		"compared": func(s *Seen) { s.Event.Compared = []engine.Compared{{Request: "x"}} },
	} {
		s := seen()
		change(&s)
		if is, err := s.Leaf(secret); err != nil || is == was {
			t.Errorf("%s: the leaf stays, %v", name, err)
		}
	}
}

// TestLeavesArePacked: what is stored of leaves is read back, and what is cut off is an error.
func TestLeavesArePacked(t *testing.T) {
	leaf, err := seen().Leaf(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := pack([]evidence.Leaf{{No: 7, Hash: leaf}, {No: 1 << 40, Hash: leaf}})
	if err != nil || len(packed) != 80 {
		t.Fatal(len(packed), err)
	}
	if _, err := pack([]evidence.Leaf{{No: 7, Hash: "abcd"}}); err == nil {
		t.Error("a hash that is none is packed")
	}
	read := func(packed []byte) (Stored, error) { return Read(row{packed}) }
	if s, err := read(packed); err != nil || len(s.Leaves) != 2 || s.Leaves[1] != (evidence.Leaf{No: 1 << 40, Hash: leaf}) {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := read(packed[:79]); err == nil {
		t.Error("leaves that are cut off are read")
	}
}

// row is a row of Columns.
type row struct{ leaves []byte }

func (r row) Scan(dest ...any) error {
	leaves, _ := dest[4].(*[]byte)
	*leaves = r.leaves
	return nil
}

var _ db.Row = row{}

// BenchmarkSeal makes the leaf of a finding as BenchmarkAdd of core/finding has them.
func BenchmarkSeal(b *testing.B) {
	s := Seen{FindingID: "finding", Hash: "hash", Event: findingtest.Event(1), Target: "t"}
	secret := NewSecret()
	for b.Loop() {
		if _, err := s.Leaf(secret); err != nil {
			b.Fatal(err)
		}
	}
}

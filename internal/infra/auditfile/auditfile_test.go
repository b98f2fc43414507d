package auditfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// chain makes entries, of which some have texts that need care in a file.
func chain(n int) (entries []Entry) {
	prev := ""
	for i := range n {
		e := Entry{TeamID: "blue", Seq: int64(i + 1), ID: fmt.Sprint("id", i),
			CreatedAt: Time(time.Date(2026, 11, 21, 12, 0, i, 0, time.UTC)), Email: "ada@example.com", Action: "create-config",
			Object: []string{"=1+1", "'", "a,\"b\"\n", "<é>"}[i%4], Status: 200 + i, Method: "POST", Path: "/v1/x", IP: "::1", Source: "api"}
		e.Hash = e.Sum(prev)
		prev = e.Hash
		entries = append(entries, e)
	}
	return entries
}

func file(t interface{ Fatal(args ...any) }, format string, entries []Entry) string {
	h := Header{TeamID: "blue", WrittenAt: "now"}
	if n := len(entries); n > 0 {
		h.LastSeq, h.LastHash = entries[n-1].Seq, entries[n-1].Hash
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, format, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestFilesVerify(t *testing.T) {
	for _, format := range []string{JSONL, CSV} {
		for _, n := range []int{0, 1, 9} {
			r, err := Verify(strings.NewReader(file(t, format, chain(n))))
			if err != nil || !r.IsIntact() || r.Entries != n || r.LastSeq != int64(n) {
				t.Errorf("%s of %d: %+v, %v", format, n, r, err)
			}
		}
	}
	if text := file(t, CSV, chain(1)); !strings.Contains(text, ",'=1+1,") {
		t.Error(text)
	}
}

// TestEachChangeIsFound takes a file of a log and changes one thing in it: a field, the order, or what is there.
func TestEachChangeIsFound(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		format := rapid.SampledFrom([]string{JSONL, CSV}).Draw(r, "format")
		entries := chain(rapid.IntRange(2, 12).Draw(r, "entries"))
		header := file(r, format, entries)
		header = header[:strings.Index(header, "\n")+1] // which says where the log ended
		i := rapid.IntRange(0, len(entries)-1).Draw(r, "which")
		e := &entries[i]
		switch what := rapid.IntRange(0, 14).Draw(r, "what"); what {
		case 0:
			if i == len(entries)-1 && format == CSV {
				return // the end of a CSV file is known only by its last hash
			}
			if i == 0 && format == CSV {
				return // and its beginning by its first
			}
			entries = append(entries[:i:i], entries[i+1:]...)
		case 1:
			j := (i + 1) % len(entries)
			entries[i], entries[j] = entries[j], entries[i]
		case 2:
			entries = append(entries[:i+1:i+1], entries[i:]...)
		default:
			fields := []*string{&e.TeamID, &e.ID, &e.CreatedAt, &e.UserID, &e.Email, &e.Action, &e.Object, &e.Method, &e.Path, &e.IP,
				&e.Source, &e.Hash}
			*fields[what-3] += "x"
		}
		text := file(r, format, entries)
		text = header + text[strings.Index(text, "\n")+1:]
		report, err := Verify(strings.NewReader(text))
		if err != nil || report.IsIntact() {
			r.Fatalf("%+v, %v\n%s", report, err, text)
		}
	})
}

func TestChangesOfFiles(t *testing.T) {
	whole := file(t, JSONL, chain(3))
	for name, text := range map[string]string{
		"a further field":  strings.Replace(whole, `"seq":2,`, `"seq":2,"note":"x",`, 1),
		"a field twice":    strings.Replace(whole, `"status":201,`, `"status":500,"status":201,`, 1),
		"a status":         strings.Replace(whole, `"status":201,`, `"status":500,`, 1),
		"no entry":         whole + "x\n",
		"without its end":  whole[:strings.LastIndex(whole[:len(whole)-1], "\n")+1],
		"another header":   strings.Replace(whole, `"last_seq":3`, `"last_seq":2`, 1),
		"another team":     strings.Replace(whole, `"team_id":"blue"`, `"team_id":"red"`, 1),
		"another prev":     strings.Replace(whole, `"prev_hash":""`, `"prev_hash":"0"`, 1),
		"rows of a number": strings.Replace(file(t, CSV, chain(3)), "blue,2,", "blue,two,", 1),
		"a row too short":  file(t, CSV, chain(3)) + "blue,4\n",
	} {
		if r, err := Verify(strings.NewReader(text)); err != nil || r.IsIntact() {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for _, text := range []string{"", "{}\n", "a,b\n1,2\n", "{\n", "\xff"} {
		if r, err := Verify(strings.NewReader(text)); !errors.Is(err, ErrFile) {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	entries := chain(MaxProblems + 50)
	for i := range entries {
		entries[i].Email = "eve@example.com"
	}
	r, err := Verify(strings.NewReader(file(t, JSONL, entries)))
	if err != nil || r.Count != MaxProblems+50 || len(r.Problems) != MaxProblems {
		t.Errorf("%d of %d, %v", len(r.Problems), r.Count, err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(file(f, JSONL, chain(3)))
	f.Add(file(f, CSV, chain(3)))
	f.Fuzz(func(_ *testing.T, text string) { _, _ = Verify(strings.NewReader(text)) })
}

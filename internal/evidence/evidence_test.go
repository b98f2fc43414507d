package evidence

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/mask"
	"pgregory.net/rapid"
)

// signer is a key that is the same in each test.
func signer() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32)) }

// link is an entry with its records.
type link struct {
	entry  []byte
	hash   string
	leaves []Leaf
	facts  [][]byte
	fields [][]Field
	key    []Key
}

// chain makes entries with as many records as it is told.
func chain(t testing.TB, counts ...int) (all []link) {
	t.Helper()
	prev, no := "", int64(0)
	for seq, count := range counts {
		l := link{}
		for i := range count {
			no++
			id := fmt.Sprintf("finding%02d", no)
			facts, err := json.Marshal(Facts{Form: Form, Kind: Sighting, FindingID: id, Hash: "h", Shown: 1, Runs: 1})
			if err != nil {
				t.Fatal(err)
			}
			fields := []Field{
				{"request", "GET /" + id + " HTTP/1.1\r\nHost: shop.example\r\nAuthorization: Bearer abcdefgh-secret-12345\r\nAccept: */*\r\n\r\n"},
				{"response", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + strings.Repeat("the body of it; ", 20+300*i)},
			}
			key := KeyOf([]byte("0123456789abcdef"), Sighting, id)
			l.facts, l.fields, l.key = append(l.facts, facts), append(l.fields, fields), append(l.key, key)
			l.leaves = append(l.leaves, Leaf{no, LeafOf(facts, key, fields)})
		}
		e := Entry{Form: Form, TeamID: "team", Seq: int64(seq + 1), Prev: prev, Kind: Sighting, At: "2026-01-02T03:04:05Z",
			Source: "scan", ID: "s", Run: 1, Engine: "1", Count: count, Root: Root(l.leaves)}
		var err error
		if l.entry, l.hash, err = e.Encode(); err != nil {
			t.Fatal(err)
		}
		prev = l.hash
		all = append(all, l)
	}
	return all
}

// write writes a file of a whole chain.
func write(t testing.TB, all []link, h Header, masker func(string) string) []byte {
	t.Helper()
	var out bytes.Buffer
	h.TeamID = "team"
	w := NewWriter(&out, signer(), h)
	for i, l := range all {
		w.Entry(l.entry, l.leaves)
		for n, leaf := range l.leaves {
			w.Record(Open(leaf.No, l.facts[n], l.key[n], l.fields[n], masker))
		}
		if i == len(all)-1 {
			head := Head{TeamID: "team", Seq: int64(i + 1), Hash: l.hash, At: "2026-01-02T03:04:06Z"}
			head.Sign(signer())
			w.Head(head)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func check(t testing.TB, file []byte, key string) *Report {
	t.Helper()
	r, err := Verify(bytes.NewReader(file), key, Visitor{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWholeFiles: a file verifies with its key, masked or not, and the secret is in it only when it is not masked.
func TestWholeFiles(t *testing.T) {
	all := chain(t, 2, 1)
	m := mask.New([]byte("k"))
	for _, masked := range []bool{false, true} {
		masker := m.Text
		if !masked {
			masker = nil
		}
		file := write(t, all, Header{Scope: Scope{Kind: ScopeTeam}, Masked: masked}, masker)
		r := check(t, file, PublicKey(signer()))
		if !r.IsIntact() || r.Records != 3 || r.Entries != 2 || r.Chains != 1 || !r.Trusted || r.Heads != 1 ||
			(r.Masked == 3) != masked {
			t.Errorf("masked %t: %+v", masked, r)
		}
		if bytes.Contains(file, []byte("abcdefgh-secret")) == masked {
			t.Errorf("masked %t: the secret is wrong", masked)
		}
		if !bytes.Contains(file, []byte("Host: shop.example")) {
			t.Error("what is no secret is hidden")
		}
		if other := check(t, file, strings.Repeat("0", 64)); other.IsIntact() || other.Trusted {
			t.Error("another key is accepted")
		}
		if own := check(t, file, ""); !own.IsIntact() || own.Trusted {
			t.Errorf("without a key: %+v", own)
		}
	}
}

// TestEachByteCounts: a change of any byte is found, in its line.
func TestEachByteCounts(t *testing.T) {
	file := write(t, chain(t, 1, 1), Header{Scope: Scope{Kind: ScopeTeam}, Masked: true}, mask.New([]byte("k")).Text)
	line := 1
	for i := range file {
		for _, flip := range []byte{0x01, 0x20, 0x80} {
			bad := bytes.Clone(file)
			bad[i] ^= flip
			r := check(t, bad, "")
			if r.IsIntact() {
				t.Fatalf("byte %d (%q, line %d) with %#x is not found", i, file[i], line, flip)
			}
			if r.Problems[0].Line != line {
				t.Fatalf("byte %d (%q) of line %d is said to be in line %d: %s", i, file[i], line, r.Problems[0].Line,
					r.Problems[0].What)
			}
		}
		if file[i] == '\n' {
			line++
		}
	}
}

// TestCutFiles: no beginning of a file verifies, and nothing may follow it.
func TestCutFiles(t *testing.T) {
	file := write(t, chain(t, 1), Header{Scope: Scope{Kind: ScopeTeam}}, nil)
	for i := range file {
		if check(t, file[:i], "").IsIntact() {
			t.Fatalf("the first %d of %d bytes verify", i, len(file))
		}
	}
	if check(t, append(bytes.Clone(file), '\n'), "").IsIntact() || check(t, append(bytes.Clone(file), "{}"...), "").IsIntact() {
		t.Error("a line may follow")
	}
}

// TestForgeries: who can sign, and so write a consistent file, is caught where the file differs from the chain.
func TestForgeries(t *testing.T) {
	all := chain(t, 2, 1)
	rewrite := func(change func(l []link)) *Report {
		forged := chain(t, 2, 1)
		change(forged)
		return check(t, write(t, forged, Header{Scope: Scope{Kind: ScopeTeam}}, nil), "")
	}
	for name, change := range map[string]func([]link){
		"a text": func(l []link) { l[0].fields[1][1].Text = "HTTP/1.1 500 No" },
		"facts":  func(l []link) { l[0].facts[1] = bytes.Replace(l[0].facts[1], []byte(`"h"`), []byte(`"i"`), 1) },
		"a record left out": func(l []link) {
			l[0].leaves = l[0].leaves[:1]
		},
		"an entry":           func(l []link) { l[0].entry = bytes.Replace(l[0].entry, []byte(`"s"`), []byte(`"x"`), 1) },
		"an entry left out":  func(l []link) { l[1].entry = bytes.Replace(l[1].entry, []byte(`"seq":2`), []byte(`"seq":3`), 1) },
		"another team":       func(l []link) { l[1].entry = bytes.Replace(l[1].entry, []byte(`"team"`), []byte(`"meat"`), 1) },
		"a field moved":      func(l []link) { f := l[0].fields[0]; f[0], f[1] = f[1], f[0] },
		"a field renamed":    func(l []link) { l[0].fields[0][0].Name = "answer" },
		"a record twice":     func(l []link) { l[0].leaves[1] = l[0].leaves[0] },
		"records exchanged":  func(l []link) { l[0].leaves[0].No, l[0].leaves[1].No = 2, 1 },
		"a record of nobody": func(l []link) { l[1].leaves[0].No = 9 },
	} {
		if rewrite(change).IsIntact() {
			t.Errorf("%s: it is not found", name)
		}
	}
	if r := rewrite(func([]link) {}); !r.IsIntact() {
		t.Errorf("%+v", r.Problems)
	}
	if partial := check(t, write(t, all[1:], Header{Scope: Scope{Kind: "finding", ID: "finding03"}}, nil), ""); partial.IsIntact() {
		t.Error("a head of another entry is accepted")
	}
}

// TestLeaf pins the form: rows of years ago are verified by it.
func TestLeaf(t *testing.T) {
	key := KeyOf([]byte("0123456789abcdef0123456789abcdef"), Sighting, "id")
	got := LeafOf([]byte(`{"form":1}`), key, []Field{{"request", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"}, {"response", strings.Repeat("é", 5000)}})
	if want := "25affd8b8011bd14223429ba3fc92114a4111db0593794f760ac6c9cacd73699"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPiecesAreTheText: whatever is masked, the shown pieces and the marks are the masked text, and the leaf stays.
func TestPiecesAreTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"GET / HTTP/1.1\r\n", "Cookie: session=abcdefabcdef0123456789\r\n", "\r\n",
			"é", "[masked:5:abcdef]", "[masked:", "password=hunter2hunter2&", strings.Repeat("x", 5000), "\n", `{"token": "abcdefabcdef012345"}`,
			"AKIAIOSFODNN7EXAMPLE "}), 0, 12).Draw(t, "parts")
		text := strings.Join(parts, "")
		key := KeyOf([]byte("s"), Sighting, "id")
		fields := []Field{{"f", text}}
		m := mask.New([]byte("k"), "hunter2hunter2")
		want := m.Text(text)
		for _, masker := range []func(string) string{nil, m.Text} {
			r := Open(1, []byte("{}"), key, fields, masker)
			if r.leaf() != LeafOf([]byte("{}"), key, fields) {
				t.Fatal("another leaf")
			}
			got, _ := r.Fields[0].Text()
			if masker == nil && got != text || masker != nil && strings.ReplaceAll(got, "…", "") != want {
				t.Fatalf("%q\n%q", got, want)
			}
			if why := r.malformed(); why != "" {
				t.Fatal(why)
			}
		}
	})
}

// TestNothingToLayBeside: where marks do not say what they stand for, the whole text is hidden.
func TestNothingToLayBeside(t *testing.T) {
	for _, masked := range []string{"other", "", "[masked:2:ab]", "[masked:99:ab]", "[masked:-1:ab]cret", "secret more"} {
		r := Open(1, nil, Key{}, []Field{{"f", "secret"}}, func(string) string { return masked })
		if p := r.Fields[0].Pieces[0]; p.Text != "" || p.Hash == "" || strings.Contains(p.Masked, "secret") && masked != "secret more" {
			t.Errorf("%q: %+v", masked, p)
		}
	}
}

// TestSaltsDiffer: the salt of a piece that is shown is of no use for one that is masked, also of equal texts and names.
func TestSaltsDiffer(t *testing.T) {
	text := strings.Repeat("a line of more than 32 bytes, again and again\n", 300)
	r := Open(1, []byte("{}"), KeyOf([]byte("s"), Sighting, "id"), []Field{{"f", text}, {"f", text}}, nil)
	seen := map[string]bool{}
	for _, f := range r.Fields {
		for _, p := range f.Pieces {
			if seen[p.Salt] {
				t.Fatal("a salt is there twice")
			}
			seen[p.Salt] = true
		}
	}
	if len(seen) < 600 {
		t.Errorf("%d pieces", len(seen))
	}
}

func TestCompare(t *testing.T) {
	was := Answer{"HTTP/1.1 200 OK\r\n\r\n", []string{"a", "b"}}
	for want, all := range map[Result][]Answer{
		Same:    {{"HTTP/2 200\r\nDate: x\r\n\r\nother", []string{"b", "a"}}},
		Changed: {{"HTTP/1.1 404 Not Found\r\n\r\n", []string{"a", "b"}}, {"HTTP/1.1 200 OK\r\n\r\n", []string{"a"}}},
	} {
		for _, is := range all {
			if got := Compare(was, is); got != want {
				t.Errorf("%+v: %s, want %s", is, got, want)
			}
		}
	}
}

// TestInterval compares with values of R's binom.confint(method = "wilson").
func TestInterval(t *testing.T) {
	for r, want := range map[Runs][2]float64{
		{0, 0}: {0, 1}, {1, 1}: {0.2065493, 1}, {2, 3}: {0.2076596, 0.9385081}, {5, 5}: {0.5655175, 1}, {0, 10}: {0, 0.2775328},
		{8, 10}: {0.4901625, 0.9433178},
	} {
		low, high := r.Interval()
		if math.Abs(low-want[0]) > 1e-6 || math.Abs(high-want[1]) > 1e-6 {
			t.Errorf("%+v: %f to %f, want %v", r, low, high, want)
		}
	}
}

func TestTime(t *testing.T) {
	if Time(time.Time{}) != "" || Time(time.Unix(0, 5000)) != "1970-01-01T00:00:00.000005Z" {
		t.Error(Time(time.Unix(0, 5000)))
	}
}

// FuzzVerify: no file makes a verification fail in another way than with problems.
func FuzzVerify(f *testing.F) {
	f.Add(write(f, chain(f, 1, 1), Header{Scope: Scope{Kind: ScopeTeam}}, nil))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := Verify(bytes.NewReader(file), "", Visitor{})
		if err != nil || r == nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkLeaf makes the leaf of a record of some 600 bytes.
func BenchmarkLeaf(b *testing.B) {
	l := chain(b, 1)[0]
	for b.Loop() {
		LeafOf(l.facts[0], l.key[0], l.fields[0])
	}
}

package kit_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/vedette-sec/vedette/internal/importer/kit"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// set has a format for each way of walking a report.
func set() kit.Set {
	add := func(out *kit.Out, title string, line int) error {
		return out.Add(kit.Record{Title: title, Line: line, Severity: kit.Low})
	}
	return kit.Set{
		{Name: "doc", Title: "Doc", Kinds: []string{"JSON"}, Signs: []string{"json:items"}, Class: kit.ClassCode,
			Families: []string{"family"}, Read: func(in *kit.Input, out *kit.Out) error {
				return in.JSON(kit.Routes{"items[]": func(v kit.Value) error { return add(out, v.Text("t"), v.Line) }})
			}},
		{Name: "lines", Title: "Lines", Kinds: []string{"JSONL"}, Signs: []string{"json:t !json:items", "json:[].t"}, Empty: true,
			Class: kit.ClassCode, Read: func(in *kit.Input, out *kit.Out) error {
				return in.Values(func(v kit.Value) error { return add(out, v.Text("t"), v.Line) })
			}},
		{Name: "xml", Title: "XML", Kinds: []string{"XML"}, Signs: []string{"xml:r"}, Class: kit.ClassCode, Twice: true,
			Families: []string{"family"}, Read: func(in *kit.Input, out *kit.Out) error {
				if err := in.XML(kit.Elements{}); err != nil {
					return err
				}
				return in.XML(kit.Elements{"r/i!drop": func(n *kit.Node) error { return add(out, n.Get("t")+n.Get("drop"), n.Line) }})
			}},
		{Name: "table", Title: "Table", Kinds: []string{"CSV"}, Signs: []string{"csv:Title"}, Class: kit.ClassCode,
			Read: func(in *kit.Input, out *kit.Out) error {
				return in.Table([]string{"Title"}, nil, func(r kit.Row) error { return add(out, r.Get("title"), r.Line) })
			}},
	}
}

func read(t testing.TB, report, format string) (titles []string, sum kit.Summary, err error) {
	t.Helper()
	sum, err = set().Read(context.Background(), strings.NewReader(report), kit.Options{Format: format, TempDir: t.TempDir()},
		func(i kit.Item) error {
			if i.Record != nil {
				titles = append(titles, i.Record.Title)
			} else {
				titles = append(titles, "! "+i.Rejected.Reason)
			}
			return nil
		})
	return titles, sum, err
}

func wide(text string, order binary.ByteOrder, mark bool) string {
	var b bytes.Buffer
	units := utf16.Encode([]rune(text))
	if mark {
		units = append([]uint16{0xFEFF}, units...)
	}
	_ = binary.Write(&b, order, units)
	return b.String()
}

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

func zipped(files ...string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, _ := z.Create(files[i])
		_, _ = w.Write([]byte(files[i+1]))
	}
	_ = z.Close()
	return b.String()
}

// TestEncodings reads the same report in each way that tools and people send it.
func TestEncodings(t *testing.T) {
	const doc, xmlDoc, csv = `{"items":[{"t":"ä"},{"t":"b"}]}`, `<?xml version="1.0"?><r><i><t>ä</t><drop>x</drop></i><i><t>b</t></i></r>`,
		"Title,Other\nä,1\nb,2\n"
	for _, text := range []string{doc, xmlDoc, csv, `{"t":"ä"}` + "\n" + `{"t":"b"}`, `[{"t":"ä"},` + "\n" + `{"t":"b"}]`,
		"{\n\"t\": \"ä\"}\n{\"t\":\n\"b\"}"} {
		for name, report := range map[string]string{
			"plain": text, "byte order mark": "\xEF\xBB\xBF" + text, "CRLF": strings.ReplaceAll(text, "\n", "\r\n"),
			"UTF-16LE": wide(text, binary.LittleEndian, true), "UTF-16BE": wide(text, binary.BigEndian, true),
			"UTF-16LE without mark": wide(text, binary.LittleEndian, false), "gzip": packed(text),
			"gzip of UTF-16": packed(wide(text, binary.BigEndian, true)), "zip": zipped("a/report", text),
			"gzip in zip": zipped("report.gz", packed(text), "__MACOSX/x", "y"), "blanks": "\n \n" + text + "\n\n",
		} {
			titles, sum, err := read(t, report, "auto")
			if err != nil || !slices.Equal(titles, []string{"ä", "b"}) || sum.Accepted != 2 {
				t.Errorf("%.30q as %s: %q, %+v, %v", text, name, titles, sum, err)
			}
		}
	}
}

// TestFaults: a report that cannot be read is refused with a code and a text that says where.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ report, format, code, text string }{
		{"", "auto", "format_unknown", "empty"}, {"", "doc", "import_malformed", "empty"}, {"  \n", "xml", "import_malformed", "empty"},
		{"hello", "auto", "format_unknown", "doc, lines, table, xml"}, {"hello", "nope", "invalid_format", "no format"},
		{`{"items":[{"t":"a"}`, "auto", "import_malformed", "too early"}, {`{"items":[{"t":"a"}]]`, "auto", "import_malformed", "line 1"},
		{"{\"items\":\n[{\"t\":\"a\"},\n}", "auto", "import_malformed", "line 3"}, {"<r><i>", "auto", "import_malformed", "EOF"},
		{"<r>\n<i></x></r>", "auto", "import_malformed", "line 2"}, {"no xml", "xml", "import_malformed", "no element"},
		{"not json\n", "lines", "import_malformed", "not JSON"}, {"a,b\n1,2\n", "table", "import_malformed", "Title"},
		{packed("{}")[:8], "doc", "import_malformed", "gzip"}, {packed(strings.Repeat("a", 100))[:20], "doc", "import_malformed", "gzip"},
		{"PK\x03\x04broken", "doc", "import_malformed", "zip"}, {zipped(), "doc", "import_malformed", ""},
		{zipped("dir/", ""), "doc", "import_malformed", "no report"}, {zipped("x", "hello"), "auto", "format_unknown", `"x"`},
		{`{"items":` + strings.Repeat("[", 500), "auto", "import_malformed", "nest"},
		{strings.Repeat("<r>", 500), "auto", "import_malformed", "nest"},
		{"<?xml version=\"1.0\" encoding=\"EBCDIC\"?><r/>", "xml", "import_malformed", "EBCDIC"},
		{packed(strings.Repeat(" ", 70<<20)), "doc", "import_too_large", "times its size"},
	} {
		_, _, err := read(t, c.report, c.format)
		known := errs.From(err)
		if err == nil || known.Code != c.code || !strings.Contains(err.Error(), c.text) || known.Param == "" {
			t.Errorf("%.40q as %s: %v (%s)", c.report, c.format, err, known.Code)
		}
	}
	limited, err := set().Read(context.Background(), strings.NewReader(`{"items":[{"t":"a"}]}`), kit.Options{MaxBytes: 10}, nil)
	if !errs.Is(err, errs.TooLarge) {
		t.Errorf("%+v, %v", limited, err)
	}
}

// TestRejections: an item that is broken does not take others with it.
func TestRejections(t *testing.T) {
	for report, want := range map[string][]string{
		`{"t":"a"}` + "\nbroken\n" + `{"t":` + "\n" + `{"t":"b"}` + "\n": {"a", "! the line is not a JSON object",
			"! the line is not a JSON object", "b"},
		`{"t":"` + "\n" + `{"t":"b"}` + "\n":                    {"! the line is not a JSON object", "b"},
		`{"items":[{"t":"a"},{"t":nope},{"t":"b"}]}`:            {"a", "! it is not valid JSON", "b"},
		`{"items":[{"t":"a"},7,null,{"x":1}]}`:                  {"a", "! it names neither a check nor a title", "! it names neither a check nor a title", "! it names neither a check nor a title"},
		"Title;Other\n\"a\"\"b\";1\n5\" disk;2\n\"x\"y;z\";3\n": {`a"b`, `5" disk`, `x"y;z`},
		"<r><i><t>a&#0;&undefined;</t></i></r>":                 {"a\uFFFD&undefined;"},
	} {
		if titles, _, err := read(t, report, "auto"); err != nil || !slices.Equal(titles, want) {
			t.Errorf("%.60q: %q, %v", report, titles, err)
		}
	}
}

// TestReceiver: the error of the receiver, and the end of the context, end the reading as they are.
func TestReceiver(t *testing.T) {
	mine := errors.New("mine")
	_, err := set().Read(context.Background(), strings.NewReader(`{"items":[{"t":"a"}]}`), kit.Options{},
		func(kit.Item) error { return mine })
	if !errors.Is(err, mine) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err = set().Read(ctx, strings.NewReader(`<r><i><t>a</t></i><i><t>b</t></i></r>`), kit.Options{TempDir: t.TempDir()},
		func(kit.Item) error {
			cancel()
			return nil
		})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	dir := t.TempDir()
	_, _ = set().Read(context.Background(), strings.NewReader(`<r><i>`), kit.Options{TempDir: dir}, nil)
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

// TestFamilies: a name that formats share stands for the one that is recognised, or that is for this kind of file.
func TestFamilies(t *testing.T) {
	for report, format := range map[string]string{`{"items":[]}`: "doc", `<r/>`: "xml", `[]`: "doc", `<other/>`: "xml"} {
		if _, sum, err := read(t, report, "family"); err != nil || sum.Format != format {
			t.Errorf("%s: %+v, %v", report, sum, err)
		}
	}
	two := kit.Set{{Name: "a", Signs: []string{"json:x"}}, {Name: "b", Signs: []string{"json:x"}}, {Name: "c", Signs: []string{"json:x json:y"}}}
	_, err := two.Detect([]byte(`{"x":1}`), "")
	if errs.From(err).Code != "format_ambiguous" || !strings.Contains(err.Error(), "a, b") {
		t.Error(err)
	}
	if f, err := two.Detect([]byte(`{"x":1,"y":2`), ""); err != nil || f.Name != "c" {
		t.Error(f.Name, err)
	}
}

// TestPlaces: what follows from a place is filled in.
func TestPlaces(t *testing.T) {
	for _, c := range []struct{ in, want kit.Place }{
		{kit.Place{URL: "HTTPS://Shop.Example.:8443/a%2Fb?q=1#f"}, kit.Place{URL: "HTTPS://Shop.Example.:8443/a%2Fb?q=1#f", Scheme: "https",
			Host: "shop.example", Port: 8443, Protocol: "tcp", Path: "/a%2Fb"}},
		{kit.Place{URL: "http://[2001:DB8::1]/%zz?x"}, kit.Place{URL: "http://[2001:DB8::1]/%zz?x", Scheme: "http", Host: "2001:db8::1",
			IP: "2001:db8::1", Port: 80, Protocol: "tcp", Path: "/%zz"}},
		{kit.Place{Host: "::ffff:192.0.2.1", Port: 99999, Protocol: "TCP"}, kit.Place{Host: "192.0.2.1", IP: "192.0.2.1", Protocol: "tcp"}},
		{kit.Place{IP: "192.0.2.1", Port: 53, Protocol: "udp"}, kit.Place{Host: "192.0.2.1", IP: "192.0.2.1", Port: 53, Protocol: "udp"}},
		{kit.Place{URL: "not a url"}, kit.Place{URL: "not a url"}},
	} {
		var got kit.Place
		one := kit.Set{{Name: "x", Class: kit.ClassWeb, Read: func(_ *kit.Input, out *kit.Out) error {
			return out.Add(kit.Record{Title: "t", Place: c.in})
		}}}
		_, err := one.Read(context.Background(), strings.NewReader("x"), kit.Options{Format: "x"}, func(i kit.Item) error {
			got = i.Record.Place
			return nil
		})
		if err != nil || got != c.want {
			t.Errorf("%+v:\n got %+v\nwant %+v (%v)", c.in, got, c.want, err)
		}
	}
}

func TestWords(t *testing.T) {
	for vector, want := range map[string]float64{
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H": 9.8, "CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H": 10,
		"AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N": 6.1, "AV:L/AC:H/PR:L/UI:N/S:U/C:L/I:N/A:N": 2.5, "AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:N": 0,
		"CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N": 0, "AV:N": 0, "": 0,
	} {
		if got := kit.BaseScore(vector); got != want {
			t.Errorf("%s: %v, want %v", vector, got, want)
		}
	}
	day := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for _, text := range []string{"2026-03-01T10:00:00Z", "2026-03-01 10:00:00", "1772359200", "1772359200000", "1772359200000000000",
		"Sun Mar  1 10:00:00 2026", "Sun, 1 Mar 2026 10:00:00", "2026-03-01T11:00:00+01:00", "Mar 1, 2026 10:00:00 UTC"} {
		if got := kit.Time(text); !got.Equal(day) {
			t.Errorf("%s is %v", text, got)
		}
	}
	if got := kit.CWEs("CWE-79: x", "cwe_89", "22", "[\"CWE-1\"]", "0", "NVD-CWE-noinfo"); !slices.Equal(got, []int{79, 89, 22, 1}) {
		t.Error(got)
	}
	p := kit.PURL("pkg:npm/%40angular/core@1.2.3?x=y#z")
	if p.Name != "@angular/core" || p.Version != "1.2.3" || p.Ecosystem != "npm" {
		t.Errorf("%+v", p)
	}
}

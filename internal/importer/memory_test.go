package importer_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/importer"
)

// generated is a report that is made while it is read: a beginning, n items, an end.
type generated struct {
	item       func(i int) string
	begin, end string
	n, at      int
	left       string
	state      int
}

func (g *generated) Read(p []byte) (int, error) {
	for g.left == "" {
		switch {
		case g.state == 0:
			g.left, g.state = g.begin, 1
		case g.at < g.n:
			g.left = g.item(g.at)
			g.at++
		case g.state == 1:
			g.left, g.state = g.end, 2
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, g.left)
	g.left = g.left[n:]
	return n, nil
}

var padding = strings.Repeat("HTTP/1.1 200 OK padding ", 80) // about 2 KB

// large are reports of about size bytes, by format.
func large(size int) map[string]*generated {
	n := size / 2200
	return map[string]*generated{
		"nuclei": {n: n, item: func(i int) string {
			return fmt.Sprintf(`{"template-id":"t-%d","info":{"name":"n","severity":"low"},"host":"https://h%d.example.com",`+
				`"matched-at":"https://h%d.example.com/","response":"%s"}`+"\n", i%500, i, i, padding)
		}},
		"nessus-xml": {
			n: n, begin: `<NessusClientData_v2><Report name="r"><ReportHost name="192.0.2.1"><HostProperties/>`,
			item: func(i int) string {
				return fmt.Sprintf(`<ReportItem port="%d" protocol="tcp" severity="2" pluginID="%d" pluginName="p">`+
					`<description>%s</description></ReportItem>`, i%65535, i, padding)
			},
			end: `</ReportHost></Report></NessusClientData_v2>`,
		},
		"sarif": {
			n: n, begin: `{"version":"2.1.0","runs":[{"results":[`,
			item: func(i int) string {
				comma := ","
				if i == 0 {
					comma = ""
				}
				return comma + `{"ruleId":"r` + strconv.Itoa(i%100) + `","message":{"text":"` + padding + `"}}`
			},
			end: `],"tool":{"driver":{"name":"x","rules":[{"id":"r1"}]}}}]}`,
		},
		"zap-xml": {
			n: n, begin: `<OWASPZAPReport version="1"><site name="https://h.example.com"><alerts><alertitem><pluginid>1</pluginid>` +
				`<alert>a</alert><riskcode>1</riskcode><instances>`,
			item: func(i int) string {
				return `<instance><uri>https://h.example.com/` + strconv.Itoa(i) + `</uri><evidence>` + padding + `</evidence></instance>`
			},
			end: `</instances><solution>s</solution></alertitem></alerts></site></OWASPZAPReport>`,
		},
		"openvas-csv": {
			n: n, begin: "IP,Hostname,Port,Port Protocol,CVSS,Severity,QoD,NVT Name,Specific Result,NVT OID\n",
			item: func(i int) string {
				return "192.0.2.1,,443,tcp,5.0,Medium,80,name,\"" + padding + "\"," + strconv.Itoa(i) + "\n"
			},
		},
	}
}

// peak is the most memory that the heap took from the system while do ran, in bytes.
func peak(do func()) uint64 {
	runtime.GC()
	var most atomic.Uint64
	done := make(chan struct{})
	stopped := make(chan struct{})
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
	}
	look := func() {
		metrics.Read(samples)
		now := uint64(0)
		for _, s := range samples {
			now += s.Value.Uint64()
		}
		if now > most.Load() {
			most.Store(now)
		}
	}
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				look()
			}
		}
	}()
	do()
	close(done)
	<-stopped
	return most.Load()
}

// TestMemoryStaysBounded reads large reports of each kind; IMPORT_MB=1024 makes them larger.
func TestMemoryStaysBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads some hundred MB")
	}
	const most = 100 << 20
	for format := range large(0) {
		t.Run(format, func(t *testing.T) {
			size := 16
			if format == "nuclei" || format == "nessus-xml" {
				size = 200
			}
			if mb, err := strconv.Atoi(os.Getenv("IMPORT_MB")); err == nil {
				size = mb
			}
			report := large(size << 20)[format]
			var sum importer.Summary
			var err error
			began := time.Now()
			used := peak(func() {
				sum, err = importer.Read(context.Background(), report, importer.Options{TempDir: t.TempDir()},
					func(importer.Item) error { return nil })
			})
			if err != nil || sum.Format != format || sum.Accepted != report.n || sum.Rejected != 0 {
				t.Errorf("%+v, %v", sum, err)
			}
			t.Logf("%d MB, %d records, %d MB of heap, %v", size, sum.Accepted, used>>20, time.Since(began))
			if used > most {
				t.Errorf("%d MB of heap were in use for a report of %d MB", used>>20, size)
			}
		})
	}
}

// TestLargeItems: an item beyond the bound is rejected with its place, and those beside it are read.
func TestLargeItems(t *testing.T) {
	huge := strings.Repeat("x", 20<<20)
	small := `{"template-id":"t","info":{"name":"n","severity":"low"},"matched-at":"https://a.example.com/"}`
	item := func(text string) string {
		return `<ReportItem port="1" severity="1" pluginID="1" pluginName="p"><description>` + text + `</description></ReportItem>`
	}
	nessus := func(items ...string) string {
		return `<NessusClientData_v2><Report><ReportHost name="h">` + strings.Join(items, "\n") + `</ReportHost></Report></NessusClientData_v2>`
	}
	for name, report := range map[string]string{
		"a line":       small + "\n" + `{"template-id":"` + huge + `","info":{}}` + "\n" + small + "\n",
		"an element":   `[` + small + `,{"template-id":"` + huge + `","info":{}},` + small + `]`,
		"text":         nessus(item("a"), item(huge), item("b")),
		"an attribute": nessus(item("a"), `<ReportItem pluginID="`+huge+`"/>`, item("b")),
		"CDATA":        nessus(item("a"), item("<![CDATA["+huge+"]]>"), item("b")),
		"a row":        "Plugin ID,Host,Risk\n1,h,Low\n2,\"" + huge + "\",Low\n3,h,Low\n",
	} {
		t.Run(name, func(t *testing.T) {
			var lines []int
			sum, err := importer.Read(context.Background(), strings.NewReader(report), importer.Options{TempDir: t.TempDir()},
				func(i importer.Item) error {
					if i.Rejected != nil {
						lines = append(lines, i.Rejected.Line)
					}
					return nil
				})
			if err != nil || sum.Accepted != 2 || sum.Rejected != 1 || len(lines) != 1 || lines[0] == 0 {
				t.Errorf("%+v, lines %v, %v", sum, lines, err)
			}
		})
	}
}

// TestWorkIsLinear counts the bytes that are allocated for a report and for one of four times its size.
func TestWorkIsLinear(t *testing.T) {
	for format := range large(1 << 20) {
		cost := func(size int) uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := importer.Read(context.Background(), large(size)[format], importer.Options{TempDir: t.TempDir()},
				func(importer.Item) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		small, big := cost(2<<20), cost(8<<20)
		if big > 5*small {
			t.Errorf("%s: %d bytes are allocated for 2 MB, %d for 8 MB", format, small, big)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for format := range large(1 << 20) {
		b.Run(format, func(b *testing.B) {
			b.SetBytes(4 << 20)
			b.ReportAllocs()
			for b.Loop() {
				_, err := importer.Read(context.Background(), large(4 << 20)[format], importer.Options{TempDir: b.TempDir()},
					func(importer.Item) error { return nil })
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package fuzz_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// mutation is the first mutation of a plan with an analyzer, for GET http://h/?q=1.
func mutation(t testing.TB, analyzer, payload string, parameters ...syntax.Variable) (*fuzz.Plan, *fuzz.Mutation) {
	t.Helper()
	plan, err := fuzz.Compile("t.yaml", &syntax.HTTP{
		Analyzer: &syntax.Analyzer{Name: analyzer, Parameters: parameters},
		Fuzzing: []syntax.FuzzRule{{Part: "query", Mode: "single", Type: "postfix",
			Fuzz: syntax.Fuzz{Values: []string{payload}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	base := request(t, "GET http://h/?q=1")
	for m := range plan.All(fuzz.Source{Base: base, Payloads: renders()}) {
		return plan, m
	}
	t.Fatal("no mutation")
	return nil, nil
}

func TestTokens(t *testing.T) {
	_, m := mutation(t, "time_delay", "-[SLEEPTIME]-[RANDNUM]-[RANDSTR]-[INFERENCE]",
		syntax.Variable{Name: "sleep_duration", Value: "7"})
	parts := regexp.MustCompile(`^q=1-7-([1-9]\d{3})-[a-zA-Z]{4}-([1-9]\d{3})=([1-9]\d{3})$`).FindStringSubmatch(m.Request.Address.Query)
	if parts == nil || parts[2] != parts[3] {
		t.Error(m.Request.Address.Query)
	}
}

func TestTimeDelay(t *testing.T) {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	for name, c := range map[string]struct {
		first float64
		took  func(n, asked int) float64 // for the nth request, from 0
		sent  string
		want  bool
	}{
		"obeys": {5.1, func(_, asked int) float64 { return float64(asked) + 0.1 }, "5 3 5 3", true},
		"obeys, slow": {9, func(n, asked int) float64 { return float64(asked) + 2 + 0.1*float64(n) }, "5 3 5 3",
			true},
		"was never slow":        {0.2, func(_, asked int) float64 { return float64(asked) }, "", false},
		"was slow once":         {6, func(int, int) float64 { return 0.1 }, "5", false},
		"is always slow":        {6, func(int, int) float64 { return 6 }, "5 3", false},
		"sleeps twice the time": {10, func(_, asked int) float64 { return 2 * float64(asked) }, "5 3", false},
		"slow at random":        {6, func(n, _ int) float64 { return []float64{6, 4, 5, 9}[n] }, "5 3 5 3", false},
	} {
		plan, m := mutation(t, "time_delay", "sleep([SLEEPTIME])")
		var sent []string
		confirmed, details, err := plan.Analyzer().Analyze(t.Context(), m, fuzz.Answer{Took: seconds(c.first)},
			func(_ context.Context, r *web.Request) (fuzz.Answer, error) {
				var asked int
				if _, err := fmt.Sscanf(r.Address.Query, "q=1sleep(%d)", &asked); err != nil {
					return fuzz.Answer{}, err
				}
				sent = append(sent, fmt.Sprint(asked))
				return fuzz.Answer{Took: seconds(c.took(len(sent)-1, asked))}, nil
			})
		if err != nil || confirmed != c.want || strings.Join(sent, " ") != c.sent ||
			confirmed != strings.HasPrefix(details, "[time_delay] 4 requests") {
			t.Errorf("%s: %v %q %v, sent %v", name, confirmed, details, err, sent)
		}
	}
}

func TestTimeDelayEndsWithAnError(t *testing.T) {
	plan, m := mutation(t, "time_delay", "[SLEEPTIME]")
	broken := errors.New("reset")
	confirmed, _, err := plan.Analyzer().Analyze(t.Context(), m, fuzz.Answer{Took: time.Minute},
		func(context.Context, *web.Request) (fuzz.Answer, error) { return fuzz.Answer{}, broken })
	if confirmed || !errors.Is(err, broken) {
		t.Error(confirmed, err)
	}
}

func TestXSSContext(t *testing.T) {
	for page, want := range map[string]string{
		"<p>PAY</p>":                              "HTMLBody",
		"<!-- pay -->":                            "Comment",
		"<a title='PAY'>":                         "HTMLAttribute",
		"<a PAY=1>":                               "HTMLAttribute",
		"<a href=PAY>":                            "HTMLAttributeURL",
		"<img src='javascript:PAY'>":              "HTMLAttributeURL",
		"<a href=' javascript:PAY'>":              "Script",
		`<a onclick="f('PAY')">`:                  "HTMLAttributeEvent",
		"<script>var a = 'PAY'</script>":          "Script",
		"<script type=module>PAY</script>":        "Script",
		"<script type='text/javascript; a=b'>PAY": "Script",
		"<script type=application/json>PAY":       "ScriptData",
		"<style>PAY</style>":                      "Style",
		"<p style='PAY'>":                         "Style",
		"<iframe srcdoc='PAY'>":                   "HTMLBody",
		"<PAY>":                                   "HTMLBody",
		"<p>PAY<a href=PAY><i>PAY</i></a>":        "HTMLBody, HTMLAttributeURL",
		"<script></script>PAY":                    "HTMLBody",
		"<p>nothing":                              "",
		"<p title='PAY' onload=PAY>PAY<!--PAY>":   "HTMLAttribute, HTMLAttributeEvent, HTMLBody, Comment",
	} {
		plan, m := mutation(t, "xss_context", "%50AY")
		confirmed, details, err := plan.Analyzer().Analyze(t.Context(), m, fuzz.Answer{Body: []byte(page)}, nil)
		if want != "" {
			want = "xss-reflected in " + want
		}
		if err != nil || details != want || confirmed != (want != "") {
			t.Errorf("%s: %q, want %q; %v", page, details, want, err)
		}
	}
}

// Whatever stands in a page, a payload that is in it is found somewhere.
func TestXSSContextMissesNothing(t *testing.T) {
	plan, m := mutation(t, "xss_context", `'"><i>`)
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{`'"><i>`, "<a b='", "'>", "<script>", "</script>", "<!--", "-->",
			"x", "<", ">", "<style>", "&", "\x00"})).Draw(t, "pieces")
		page := strings.Join(pieces, "")
		confirmed, _, err := plan.Analyzer().Analyze(context.Background(), m, fuzz.Answer{Body: []byte(page)}, nil)
		if err != nil || confirmed != strings.Contains(page, `'"><i>`) {
			t.Fatalf("%q: %v %v", page, confirmed, err)
		}
	})
}

func TestFrequency(t *testing.T) {
	few := fuzz.Frequency{Limit: 2}
	for i := range 3 {
		if few.Exhausted(fuzz.ParameterKey{}) != (i == 2) {
			t.Errorf("a limit of 2 after %d", i)
		}
		few.Count(fuzz.ParameterKey{}, false)
	}
	var f fuzz.Frequency
	w := fuzz.ParameterKey{Template: "t", Host: "h:80", Position: "header", Parameter: "X"}
	for i := range 10 {
		if f.Exhausted(w) {
			t.Fatalf("spent after %d", i)
		}
		f.Count(w, false)
	}
	if !f.Exhausted(w) || f.Exhausted(fuzz.ParameterKey{Template: "t", Host: "other", Position: "header",
		Parameter: "X"}) {
		t.Error("ten times in vain is enough, there and nowhere else")
	}
	f.Count(w, true)
	if f.Exhausted(w) {
		t.Error("a match makes it interesting again")
	}
	for range 10 {
		f.Count(w, false)
	}
	for i := range 10_000 {
		f.Count(fuzz.ParameterKey{Parameter: fmt.Sprint(i)}, false)
	}
	if f.Exhausted(w) {
		t.Error("the oldest is forgotten when there are too many")
	}
}

// A condition counts only when the answers follow it, whatever numbers are in it.
func TestTrueFalse(t *testing.T) {
	lie, calls := regexp.MustCompile(`\d=0`), 0
	for name, c := range map[string]struct {
		page func(query string) fuzz.Answer
		want bool
	}{
		"follows": {func(q string) fuzz.Answer {
			if lie.MatchString(q) {
				return fuzz.Answer{Status: 404, Body: []byte("nothing")}
			}
			return fuzz.Answer{Status: 200, Body: []byte("tent 189")}
		}, true},
		"follows, and says what it was asked": {func(q string) fuzz.Answer {
			if lie.MatchString(q) {
				return fuzz.Answer{Status: 200, Body: []byte("results for " + q + ": none")}
			}
			return fuzz.Answer{Status: 200, Body: []byte("results for " + q + ": tent")}
		}, true},
		"always the same": {func(string) fuzz.Answer { return fuzz.Answer{Status: 200, Body: []byte("tent")} }, false},
		"only the plain value": {func(q string) fuzz.Answer {
			if q == "q=1" {
				return fuzz.Answer{Status: 200, Body: []byte("tent")}
			}
			return fuzz.Answer{Status: 404}
		}, false},
		"another page each time": {func(string) fuzz.Answer {
			calls++
			return fuzz.Answer{Status: 200, Body: []byte(strings.Repeat("x", calls))}
		}, false},
		"refuses what looks like a lie now and then": {func(q string) fuzz.Answer {
			if calls++; lie.MatchString(q) && calls%2 == 0 {
				return fuzz.Answer{Status: 403}
			}
			return fuzz.Answer{Status: 200}
		}, false},
	} {
		calls = 0
		plan, m := mutation(t, "true_false", " AND [INFERENCE]")
		plain := func(r *web.Request) string {
			q, err := url.QueryUnescape(r.Address.Query)
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		confirmed, details, err := plan.Analyzer().Analyze(t.Context(), m, c.page(plain(&m.Request)),
			func(_ context.Context, r *web.Request) (fuzz.Answer, error) { return c.page(plain(r)), nil })
		if err != nil || confirmed != c.want || confirmed != (details != "") {
			t.Errorf("%s: %v %q %v", name, confirmed, details, err)
		}
	}
}

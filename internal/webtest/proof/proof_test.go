package proof_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// runner answers with a function and needs no network.
func runner(answer func(r *message.Request, as string) (int, string)) *proof.Runner {
	return &proof.Runner{
		Send: func(_ context.Context, r *message.Request, o client.Options) (*message.Response, error) {
			as := ""
			if o.As != nil {
				as = o.As.Name
			}
			status, body := answer(r, as)
			took := 50 * time.Millisecond
			if s, err := strconv.Atoi(r.URL.Query().Get("sleep")); err == nil {
				took += time.Duration(s) * time.Second
			}
			return &message.Response{Status: status, Body: []byte(body), Request: r, Took: took,
				Header: http.Header{"Content-Type": {"text/html"}}}, nil
		},
		Users: func(name string) *client.User {
			if name == "eve" {
				return &client.User{Name: name}
			}
			return nil
		},
	}
}

func request(t *testing.T, address string) *message.Request {
	t.Helper()
	r, err := message.New(http.MethodGet, address)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestComputedOutput(t *testing.T) {
	p := &proof.Program{
		Vars: []proof.Var{{Name: "a", Kind: proof.Number}, {Name: "b", Kind: proof.Number},
			{Name: "p", Kind: proof.Product, Of: []string{"a", "b"}}},
		Steps: []proof.Step{{ID: "computes", Send: request(t, "http://x/?n=VAR_a_VAR*VAR_b_VAR"),
			Expect: []proof.Expect{{What: proof.Contains, Value: "VAR_p_VAR"}}}},
	}
	weak := runner(func(r *message.Request, _ string) (int, string) {
		a, b, _ := strings.Cut(r.URL.Query().Get("n"), "*")
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return 200, fmt.Sprint(x * y)
	})
	if out, err := weak.Run(t.Context(), p); err != nil || !out.Holds {
		t.Errorf("%+v, %v", out, err)
	}
	strong := runner(func(r *message.Request, _ string) (int, string) { return 200, r.URL.RawQuery })
	out, err := strong.Run(t.Context(), p)
	if err != nil || out.Holds || !strings.Contains(out.Failed, "computes") {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestUsersAndExtracts(t *testing.T) {
	p := &proof.Program{Users: []string{"eve"}, Steps: []proof.Step{
		{ID: "list", Send: request(t, "http://x/list"), Extract: []proof.Extract{{Name: "id", Pattern: `id=(\d+)`}}},
		{ID: "read", As: "eve", Send: request(t, "http://x/read?id=VAR_id_VAR"),
			Expect: []proof.Expect{{What: proof.Status, Value: "200"}, {What: proof.Same, Of: "list", Not: true}}},
	}}
	app := runner(func(r *message.Request, as string) (int, string) {
		if r.URL.Path == "/list" {
			return 200, "id=42"
		}
		if as == "eve" && r.URL.Query().Get("id") == "42" {
			return 200, "secret"
		}
		return 403, ""
	})
	if out, err := app.Run(t.Context(), p); err != nil || !out.Holds || len(out.Answers) != 2 {
		t.Errorf("%+v, %v", out, err)
	}
	p.Steps[1].As = "mallory"
	if _, err := app.Run(t.Context(), p); err == nil {
		t.Error("a user who is not there is none")
	}
}

func TestSeries(t *testing.T) {
	step := proof.Step{ID: "sleeps", Expect: []proof.Expect{{What: proof.Delays}}}
	for range 3 {
		for _, s := range []int{0, 1, 2} {
			step.Series = append(step.Series, proof.Delayed{Asked: time.Duration(s) * time.Second,
				Send: request(t, "http://x/?"+url.Values{"sleep": {strconv.Itoa(s)}}.Encode())})
		}
	}
	app := runner(func(*message.Request, string) (int, string) { return 200, "" })
	if out, err := app.Run(t.Context(), &proof.Program{Steps: []proof.Step{step}}); err != nil || !out.Holds {
		t.Errorf("%+v, %v", out, err)
	}
	for i := range step.Series {
		step.Series[i].Send = request(t, "http://x/")
	}
	if out, err := app.Run(t.Context(), &proof.Program{Steps: []proof.Step{step}}); err != nil || out.Holds {
		t.Errorf("without delays: %+v, %v", out, err)
	}
}

func TestCheckRefuses(t *testing.T) {
	ok := request(t, "http://x/")
	for name, p := range map[string]*proof.Program{
		"no steps":           {},
		"no expectation":     {Steps: []proof.Step{{ID: "a", Send: ok}}},
		"a step of nothing":  {Steps: []proof.Step{{ID: "a", Expect: []proof.Expect{{What: proof.Status}}}}},
		"an unknown kind":    {Steps: []proof.Step{{ID: "a", Send: ok, Expect: []proof.Expect{{What: "is nice"}}}}},
		"a step of later":    {Steps: []proof.Step{{ID: "a", Send: ok, Expect: []proof.Expect{{What: proof.Same, Of: "b"}}}}},
		"a step twice":       {Steps: []proof.Step{{ID: "a", Send: ok}, {ID: "a", Send: ok}}},
		"delays of one":      {Steps: []proof.Step{{ID: "a", Send: ok, Expect: []proof.Expect{{What: proof.Delays}}}}},
		"a product of three": {Vars: []proof.Var{{Name: "a", Kind: proof.Product}}, Steps: []proof.Step{{ID: "a", Send: ok}}},
	} {
		if err := p.Check(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A variable in a value that is written in Base64 is filled in as well, in an address and in a body.
func TestVariablesInBase64(t *testing.T) {
	marker := base64.StdEncoding.EncodeToString([]byte("<b>VAR_w_VAR>>??</b>"))
	r := request(t, "http://x/?n="+url.QueryEscape(marker))
	r.Body = []byte(`{"n":"` + marker + `"}`)
	p := &proof.Program{Vars: []proof.Var{{Name: "w", Kind: proof.Word}}, Steps: []proof.Step{{ID: "a", Send: r,
		Expect: []proof.Expect{{What: proof.Contains, Value: "<b>VAR_w_VAR>>??</b> <b>VAR_w_VAR>>??</b>"}}}}}
	weak := runner(func(r *message.Request, _ string) (int, string) {
		var body map[string]string
		_ = json.Unmarshal(r.Body, &body)
		one, err1 := base64.StdEncoding.DecodeString(r.URL.Query().Get("n"))
		two, err2 := base64.StdEncoding.DecodeString(body["n"])
		return 200, fmt.Sprint(string(one), " ", string(two), err1, err2)
	})
	if out, err := weak.Run(t.Context(), p); err != nil || !out.Holds {
		t.Errorf("%+v, %v", out, err)
	}
}

// What changes by itself, such as a token in each page, is no difference between two answers.
func TestSameButForNoise(t *testing.T) {
	n := 0
	serve := runner(func(r *message.Request, _ string) (int, string) {
		n++
		text := "no"
		if r.URL.Query().Get("q") == "yes" {
			text = "yes"
		}
		return 200, fmt.Sprintf("<p>%s</p><input value=token%d><i>%d</i>", text, n*7919, n)
	})
	for want, second := range map[bool]string{true: "yes", false: "no"} {
		p := &proof.Program{Steps: []proof.Step{{ID: "a", Send: request(t, "http://x/?q=yes")},
			{ID: "b", Send: request(t, "http://x/?q="+second), Expect: []proof.Expect{{What: proof.Same, Of: "a"}}}}}
		if out, err := serve.Run(t.Context(), p); err != nil || out.Holds != want {
			t.Errorf("%s: %+v, %v", second, out, err)
		}
	}
}

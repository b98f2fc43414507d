package rest

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

type queryInput struct {
	Words string   `query:"words"`
	List  []string `query:"list"`
	Each  []string `query:"each,explode"`
	N     int      `query:"n"`
	Kind  string   `query:"kind" enum:"a,b"`
}

type queryOutput struct{ Body string }

func TestParametersThatComeSeveralTimes(t *testing.T) {
	s := open(t, Config{}, func(a *API) {
		Register(a, get("/list"), func(_ context.Context, in *queryInput) (*queryOutput, error) {
			return &queryOutput{in.Words + "|" + strings.Join(in.List, " ") + "|" + strings.Join(in.Each, " ")}, nil
		})
	})
	for query, want := range map[string]string{
		"words=a&words=b%2Cc":                       `"a,b,c||"`,
		"list=a,b&n=1&list=c":                       `"|a b c|"`,
		"each=a,b&each=c":                           `"||a,b c"`,
		"words=a&list=b":                            `"a|b|"`,
		"words=a&words=&words=a":                    `"a,,a||"`,
		"unknown=1&unknown=2&words=a":               `"a||"`,
		"kind=a&words=%26&list=%3D&kind_=b&kind_=c": `"&|=|"`,
	} {
		if resp, _, body := s.do(t, http.MethodGet, "/list?"+query, nil); resp.StatusCode != 200 ||
			strings.TrimSpace(body) != want {
			t.Errorf("%s: %d %s, want %s", query, resp.StatusCode, body, want)
		}
	}
	for query, param := range map[string]string{"n=1&n=2": "n", "kind=a&kind=b": "kind", "n=1&words=x&n=1": "n"} {
		if resp, e, body := s.do(t, http.MethodGet, "/list?"+query, nil); resp.StatusCode != 400 || e.Param != param {
			t.Errorf("%s: %d %s, want %s at fault", query, resp.StatusCode, body, param)
		}
	}
}

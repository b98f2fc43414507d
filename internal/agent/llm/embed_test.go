package llm_test

import (
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Vectors come back in the order of the texts, 1 long, with what the model counted.
func TestEmbed(t *testing.T) {
	p := serve(t, refuse(200, `{"data": [{"index": 1, "embedding": [0, 0]}, {"index": 0, "embedding": [3, -4]}],
		"usage": {"prompt_tokens": 5}}`))
	got, err := llm.Embed(t.Context(), llm.Config{Provider: llm.ProviderOpenAI, BaseURL: p.URL + "/v1", Key: secret, HTTP: p.Client()}, "small", "key-1",
		[]string{"one", "two"})
	if err != nil || !slices.Equal(got.Vectors[0], []float32{0.6, -0.8}) || !slices.Equal(got.Vectors[1], []float32{0, 0}) ||
		got.Usage != (llm.Usage{Input: 5}) {
		t.Errorf("%+v %v", got, err)
	}
	if body := p.bodies[0]; p.paths[0] != "/v1/embeddings" || body["model"] != "small" || len(body["input"].([]any)) != 2 ||
		p.heads[0].Get("Authorization") != "Bearer "+secret {
		t.Errorf("%s %v %v", p.paths[0], body, p.heads[0])
	}
}

// Answers that are no vectors of the texts are errors, and without a count the highest one holds.
func TestEmbedMalformed(t *testing.T) {
	one := func(v string) string { return `{"data": [{"index": 0, "embedding": ` + v + `}]}` }
	for name, text := range map[string]string{
		"no JSON": "<html>", "none": `{"data": []}`, "no vector": one(`[]`), "null": one(`null`), "words": one(`["a"]`),
		"beyond float32": one(`[1e39]`), "too long": one(`[` + strings.Repeat("1,", llm.MaxDimensions) + `1]`),
		"two for one":     `{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1]}]}`,
		"another's index": `{"data": [{"index": 1, "embedding": [1]}]}`, "a negative one": `{"data": [{"index": -1, "embedding": [1]}]}`,
	} {
		p := serve(t, refuse(200, text))
		got, err := llm.Embed(t.Context(), llm.Config{Provider: llm.ProviderOpenAI, BaseURL: p.URL, Key: secret, HTTP: p.Client()}, "m", "k", []string{"a"})
		if code(t, err) != llm.CodeAnswer || p.asked() != 1 {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	two := `{"data": [{"index": 0, "embedding": [1]}, %]}`
	for _, index := range []string{ // the same one twice, and two lengths
		`{"index": 0, "embedding": [1]}`, `{"index": 1, "embedding": [1, 2]}`,
	} {
		p := serve(t, refuse(200, strings.Replace(two, "%", index, 1)))
		_, err := llm.Embed(t.Context(), llm.Config{Provider: llm.ProviderOpenAI, BaseURL: p.URL, Key: secret, HTTP: p.Client()}, "m", "k", []string{"a", "b"})
		if code(t, err) != llm.CodeAnswer {
			t.Errorf("%s: %v", index, err)
		}
	}
	for _, count := range []string{"", `, "usage": {"prompt_tokens": -7}`, `, "usage": {"prompt_tokens": 9000000}`} {
		p := serve(t, refuse(200, strings.TrimSuffix(one(`[1]`), "}")+count+"}"))
		got, err := llm.Embed(t.Context(), llm.Config{Provider: llm.ProviderOpenAI, BaseURL: p.URL, Key: secret, HTTP: p.Client()}, "m", "k", []string{"a"})
		if err != nil || got.Usage != llm.EmbedEstimate([]string{"a"}) {
			t.Errorf("%s: %+v %v", count, got.Usage, err)
		}
	}
}

func TestEmbedRefusals(t *testing.T) {
	p := serve(t, refuse(401, `{"error":{"message":"Incorrect API key provided: `+secret+`."}}`))
	c := llm.Config{Provider: llm.ProviderOpenAI, BaseURL: p.URL, Key: secret, HTTP: p.Client()}
	if _, err := llm.Embed(t.Context(), c, "m", "k", []string{"a"}); code(t, err) != llm.CodeKey {
		t.Error(err)
	}
	c.Provider = llm.ProviderAnthropic
	if _, err := llm.Embed(t.Context(), c, "m", "k", []string{"a"}); !errs.Is(err, errs.Invalid) || p.asked() != 1 {
		t.Error(err)
	}
	c.Provider = llm.ProviderOpenAI
	if _, err := llm.Embed(t.Context(), c, "m", "k", make([]string, llm.MaxEmbedded+1)); err == nil || p.asked() != 1 {
		t.Error("too many texts were sent")
	}
}

// FuzzEmbed: whatever a server says, there is a vector for each text, all of one length and 1 or 0 long, or an error.
func FuzzEmbed(f *testing.F) {
	f.Add(`{"data": [{"index": 1, "embedding": [0, 0]}, {"index": 0, "embedding": [3, -4e-30]}]}`)
	f.Add(`{"data": [{"index": 0, "embedding": [3e38, 3e38]}, {"index": 1, "embedding": [1e-45, 0]}], "usage": {"prompt_tokens": 1}}`)
	f.Add(`{"data": [null, {"index": 7}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
		})}
		texts := []string{"a", "b"}
		got, err := llm.Embed(t.Context(), llm.Config{Provider: llm.ProviderOpenAI, BaseURL: "http://provider.example",
			Key: secret, HTTP: client, Retries: -1},
			"m", "k", texts)
		if err != nil {
			if code(t, err) != llm.CodeAnswer {
				t.Error(err)
			}
			return
		}
		if len(got.Vectors) != 2 || len(got.Vectors[0]) != len(got.Vectors[1]) || got.Usage.Input <= 0 ||
			got.Usage.Input > llm.EmbedEstimate(texts).Input {
			t.Errorf("%+v", got)
		}
		for _, v := range got.Vectors {
			var sum float64
			for _, x := range v {
				sum += float64(x) * float64(x)
			}
			if sum != 0 && math.Abs(sum-1) > 1e-3 {
				t.Errorf("%v is %v long", v, sum)
			}
		}
	})
}

package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Bounds of a call of Embed.
const (
	MaxEmbedded   = 64   // texts
	MaxDimensions = 8192 // numbers of a vector

	bytesPerNumber = 32 // of an answer
)

// Embedded is the answer of an embedding model.
type Embedded struct {
	Vectors [][]float32 // in the order of the texts, all of one length; of length 1, or 0 where the model found no meaning
	Usage   Usage       // what the model counted; without a count, one token a byte
}

// Embeds reports whether a provider has OpenAI's /embeddings.
func Embeds(p Provider) bool { return p != ProviderAnthropic }

// Embed has a model make a vector of each of texts, by OpenAI's /embeddings (platform.openai.com/docs/api-reference,
// "Create embeddings"). key makes repeated calls one, where the provider knows Idempotency-Key. Errors are those of
// Complete; Invalid where the provider has no embeddings.
func Embed(ctx context.Context, c Config, model, key string, texts []string) (out Embedded, err error) {
	if c, err = c.resolve(); err != nil {
		return out, err
	}
	if !Embeds(c.Provider) {
		return out, errs.Field("provider", "%s has no embeddings.", c.Provider)
	}
	if len(texts) > MaxEmbedded {
		return out, errs.New(errs.Internal, "too_many_texts", "%d texts are asked about at once.", len(texts))
	}
	c = c.withDefaults("")
	doc, err := json.Marshal(struct {
		Model    string   `json:"model"`
		Input    []string `json:"input"`
		Encoding string   `json:"encoding_format"`
	}{model, texts, "float"})
	if err != nil {
		return out, err
	}
	room := Request{Key: key, MaxTokens: len(texts) * MaxDimensions * bytesPerNumber / bytesPerToken}
	_, err = c.call(ctx, room, func(ctx context.Context, client *http.Client) (Response, error) {
		r, err := c.ask(ctx, http.MethodPost, "embeddings", bytes.NewReader(doc))
		if err != nil {
			return Response{}, err
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(r)
		if err != nil {
			return Response{}, err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return Response{}, err
		}
		out, err = readEmbedded(text, texts)
		return Response{}, err
	})
	return out, err
}

// EmbedEstimate is the most that a call of Embed can count.
func EmbedEstimate(texts []string) Usage {
	n := perCall
	for _, text := range texts {
		n += perItem + len(text)
	}
	return Usage{Input: n}
}

// readEmbedded reads {"data": [{"index", "embedding"}], "usage": {"prompt_tokens"}}.
func readEmbedded(text []byte, texts []string) (out Embedded, err error) {
	var doc struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage struct {
			PromptTokens int `json:"prompt_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(text, &doc) != nil {
		return out, malformed("it is no list of vectors")
	}
	if len(doc.Data) != len(texts) {
		return out, malformed("it has not one vector for each text")
	}
	out.Vectors = make([][]float32, len(texts))
	for _, one := range doc.Data {
		if one.Index < 0 || one.Index >= len(texts) || out.Vectors[one.Index] != nil {
			return out, malformed("it has not one vector for each text")
		}
		if n := len(one.Embedding); n == 0 || n > MaxDimensions || n != len(doc.Data[0].Embedding) {
			return out, malformed("its vectors do not have one length, or more than 8192 numbers")
		}
		normalise(one.Embedding)
		out.Vectors[one.Index] = one.Embedding
	}
	out.Usage = EmbedEstimate(texts)
	if n := doc.Usage.PromptTokens; n > 0 && n < out.Usage.Input {
		out.Usage.Input = n
	}
	return out, nil
}

// normalise makes a vector 1 long, so that the product of two is the cosine of their angle.
func normalise(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	by := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * by)
	}
}
